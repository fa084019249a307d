package verify

import (
	"errors"
	"fmt"

	"gitops-agent/gitsource"
)

// A Reason names why a commit or a range was refused. The vocabulary is closed: errors, metrics, status and the command
// line all use these words, and docs/verify.md has a paragraph on each.
type Reason string

// Reasons that concern the object and its signature.
const (
	ReasonUnsigned           Reason = "unsigned"
	ReasonNotSigstore        Reason = "not-sigstore"
	ReasonMalformed          Reason = "malformed"
	ReasonMalformedSignature Reason = "malformed-signature"
	ReasonTooLarge           Reason = "too-large"
	ReasonContentMismatch    Reason = "content-mismatch"
	ReasonOnlineOnly         Reason = "online-only"
)

// Reasons that concern the proof behind a signature.
const (
	ReasonBadSignature         Reason = "bad-signature"
	ReasonUntrustedLog         Reason = "untrusted-log"
	ReasonBadLogEntry          Reason = "bad-log-entry"
	ReasonNoTrustedTime        Reason = "no-trusted-time"
	ReasonNoTimestamp          Reason = "no-timestamp"
	ReasonExpiredCertificate   Reason = "expired-certificate"
	ReasonUntrustedCertificate Reason = "untrusted-certificate"
	ReasonNoCertificateLog     Reason = "no-certificate-log"
)

// Reasons that concern who signed and what the signer may do.
const (
	ReasonWrongIdentity Reason = "wrong-identity"
	ReasonOutsideWindow Reason = "outside-window"
	ReasonDenied        Reason = "denied"
	ReasonMissingRole   Reason = "missing-role"
	ReasonOutOfScope    Reason = "out-of-scope"
)

// Reasons that concern the place of a commit in its history.
const (
	ReasonWrongTarget       Reason = "wrong-target"
	ReasonNotDescendant     Reason = "not-descendant"
	ReasonMissingAnchor     Reason = "missing-anchor"
	ReasonIncompleteHistory Reason = "incomplete-history"
	ReasonTooManyCommits    Reason = "too-many-commits"
	ReasonTimeWentBack      Reason = "time-went-back"
	ReasonTooOld            Reason = "too-old"
)

type explanation struct {
	reason        Reason
	meaning, hint string
}

func explanations() []explanation {
	return []explanation{
		{ReasonUnsigned, "commit is not signed", "sign it with gitsign: git config gpg.format x509, gpg.x509.program gitsign, commit.gpgsign true, gitsign.rekorMode offline"},
		{ReasonNotSigstore, "signature is not a Sigstore signature", "PGP, SSH and forge-made signatures do not count; sign with gitsign and merge locally with git merge --no-ff -S"},
		{ReasonMalformed, "object is not laid out as git writes it", "make the commit again with git; a duplicated, misplaced or hidden header can make two readers see two commits"},
		{ReasonMalformedSignature, "signature is outside the accepted profile", "sign again with a current gitsign, which writes exactly one signer, one certificate and the known attributes"},
		{ReasonTooLarge, "object is larger than 1 MiB", "keep the commit message and the number of parents small"},
		{ReasonContentMismatch, "signature belongs to other content", "the object was changed after it was signed, or the signature was copied; sign this commit itself"},
		{ReasonOnlineOnly, "signature carries no transparency log entry", "git config gitsign.rekorMode offline, then sign again: git commit --amend --no-edit -S"},
		{ReasonBadSignature, "signature does not fit its certificate", "the signature was altered; sign again"},
		{ReasonUntrustedLog, "log entry is from a log that the trusted root does not trust at that time", "check that the trusted root belongs to the Sigstore that signed, and refresh it"},
		{ReasonBadLogEntry, "log entry does not prove that this signature was logged", "the entry was altered or belongs to another signature; sign again"},
		{ReasonNoTrustedTime, "nobody trusted says when it was signed", "a Rekor v2 entry needs a timestamp: set gitsign.timestampServerURL and sign again"},
		{ReasonNoTimestamp, "timestamp of a trusted authority is required and absent", "set gitsign.timestampServerURL to an authority of the trusted root and sign again"},
		{ReasonExpiredCertificate, "signed outside the validity of its certificate", "certificates live ten minutes; sign again. If this repeats, suspect a stolen key"},
		{ReasonUntrustedCertificate, "certificate is not from an authority that the trusted root trusts at that time", "check that the trusted root belongs to the Sigstore that signed, and refresh it"},
		{ReasonNoCertificateLog, "certificate was not logged by a trusted certificate log", "check the certificate logs in the trusted root, and refresh it"},
		{ReasonWrongIdentity, "signed by somebody who is not among the signers", "if this identity may sign, add it to trust.signers; compare issuer and subject letter by letter"},
		{ReasonOutsideWindow, "signed outside the time in which the signer was trusted", "look at from and until of the signer in trust.signers"},
		{ReasonDenied, "commit, certificate or log entry is on the deny list", "look at trust.deny; a commit that replaces the denied one needs a new history or an anchor above it"},
		{ReasonMissingRole, "signer may not change files", "a signer without the role change signs commits that leave the tree as it was: git commit --allow-empty"},
		{ReasonOutOfScope, "signer may not change these files", "look at paths of the signer in trust.signers, or have another signer make the change"},
		{ReasonWrongTarget, "commit is not made for this target", "end the message of the tip with the trailer Gitops-Target: <cluster>/<branch>, or look at trust.binding"},
		{ReasonNotDescendant, "history was rewritten or rolled back", "the accepted commit must lie on the first-parent path of the tip; gitops-agent allow-rewrite <full sha> accepts a rewrite knowingly"},
		{ReasonMissingAnchor, "anchor is not in the history", "trust.anchor must lie on the first-parent path of the branch; check the remote and the anchor"},
		{ReasonIncompleteHistory, "history is incomplete", "the remote serves a shallow clone or lacks objects; the agent needs the whole branch"},
		{ReasonTooManyCommits, "more than 1,000 commits at once", "review the history and set a new trust.anchor near the tip"},
		{ReasonTimeWentBack, "signed before what was accepted earlier", "sign a new commit on top; the proven time may go back five minutes at most"},
		{ReasonTooOld, "signed before trust.not_before", "sign a new commit on top"},
	}
}

// Reasons returns the whole vocabulary in a fixed order, for metrics that start from zero.
func Reasons() []Reason {
	table := explanations()
	all := make([]Reason, len(table))
	for i, e := range table {
		all[i] = e.reason
	}
	return all
}

// Meaning says in one line what r stands for; it is empty for a word outside the vocabulary.
func (r Reason) Meaning() string { return r.explain().meaning }

// Hint says in one line what somebody can do about r; it is empty for a word outside the vocabulary.
func (r Reason) Hint() string { return r.explain().hint }

func (r Reason) explain() explanation {
	for _, e := range explanations() {
		if e.reason == r {
			return e
		}
	}
	return explanation{}
}

// RejectedError is the refusal of a commit, and with it of every revision that contains it. Whatever is not a
// RejectedError is a failure to read: nothing was decided, and trying again can help.
type RejectedError struct {
	Commit gitsource.ID
	Reason Reason
	Hint   string
	Err    error // what was found; nil where the reason says it all
}

func (e *RejectedError) Error() string {
	text := fmt.Sprintf("reject %.7s: %s", string(e.Commit), e.Reason.Meaning())
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *RejectedError) Unwrap() error { return e.Err }

// refuse builds the refusal of an object whose id the finder does not know; at fills it in.
func refuse(reason Reason, format string, args ...any) error {
	return refusal(reason, fmt.Errorf(format, args...))
}

// refusal is refuse where an error says what was found, or nil where the reason says it all.
func refusal(reason Reason, err error) error {
	return &RejectedError{Reason: reason, Hint: reason.Hint(), Err: err}
}

// at names the commit that a refusal is about. Errors of other kinds pass unchanged.
func at(id gitsource.ID, err error) error {
	var rejected *RejectedError
	if errors.As(err, &rejected) && rejected.Commit == "" {
		named := *rejected
		named.Commit = id
		return &named
	}
	return err
}
