package verify

import (
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"gitops-agent/gitsource"
)

// A Reason is the reason why a commit or a range was refused. The list of reasons is closed. Errors, metrics, status and
// the command line use the same values, and docs/refusals.md has a section on each.
type Reason string

// Reasons about the object and its signature.
const (
	ReasonUnsigned           Reason = "unsigned"
	ReasonNotSigstore        Reason = "not-sigstore"
	ReasonMalformed          Reason = "malformed"
	ReasonMalformedSignature Reason = "malformed-signature"
	ReasonTooLarge           Reason = "too-large"
	ReasonContentMismatch    Reason = "content-mismatch"
	ReasonOnlineOnly         Reason = "online-only"
	ReasonEvidenceMissing    Reason = "evidence-missing"
	ReasonBadEvidence        Reason = "bad-evidence"
)

// Reasons about the proof behind a signature.
const (
	ReasonBadSignature         Reason = "bad-signature"
	ReasonUntrustedLog         Reason = "untrusted-log"
	ReasonBadLogEntry          Reason = "bad-log-entry"
	ReasonNoTrustedTime        Reason = "no-trusted-time"
	ReasonNoTimestamp          Reason = "no-timestamp"
	ReasonUntrustedTimestamp   Reason = "untrusted-timestamp"
	ReasonExpiredCertificate   Reason = "expired-certificate"
	ReasonUntrustedCertificate Reason = "untrusted-certificate"
	ReasonNoCertificateLog     Reason = "no-certificate-log"
)

// Reasons about who signed and what the signer may do.
const (
	ReasonWrongIdentity Reason = "wrong-identity"
	ReasonOutsideWindow Reason = "outside-window"
	ReasonDenied        Reason = "denied"
	ReasonMissingRole   Reason = "missing-role"
	ReasonOutOfScope    Reason = "out-of-scope"
	ReasonWrongName     Reason = "wrong-name"
)

// Reasons about the place of a commit in its history.
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
	meaning, hint string // one line each
	docs          string // what docs/refusals.md adds, in Markdown; empty if nothing
}

func explanations() []explanation {
	return []explanation{
		{ReasonUnsigned, "commit is not signed", "sign it with gitsign: git config gpg.format x509, gpg.x509.program gitsign, commit.gpgsign true, gitsign.rekorMode offline", "[signing.md](signing.md) sets gitsign up. A forge's merge button does not sign: merge with `git merge --no-ff -S`, or by [a workflow](workflows.md). A signed commit on top does not help; a [seal](verify.md#seals) does."},
		{ReasonNotSigstore, "signature is not a Sigstore signature", "PGP and SSH signatures and those of a forge are not accepted; sign with gitsign and merge locally with git merge --no-ff -S", `Or let [a workflow](workflows.md) merge.`},
		{ReasonMalformed, "object does not have the layout that git writes", "make the commit again with git; two readers can understand a duplicated, misplaced or hidden header differently", `If another person made it, ask how. The limit is 1,000 headers.`},
		{ReasonMalformedSignature, "signature is outside the accepted profile", "sign again with a current gitsign, which writes exactly one signer, one certificate and the known attributes", `gitsign of 2022 wrote two certificates, and that of early 2023 other attributes.`},
		{ReasonTooLarge, "object is larger than 1 MiB", "shorten the commit message or reduce the number of parents", ""},
		{ReasonContentMismatch, "signature belongs to other content", "the object was changed after it was signed, or the signature was copied from another object; sign this commit", `Rebase and amend remove or break signatures: sign the result.`},
		{ReasonOnlineOnly, "signature contains no transparency log entry", "git config gitsign.rekorMode offline, then sign again: git commit --amend --no-edit --allow-empty -S", "The verifier was given no [evidence](verify.md#evidence-for-the-online-mode), or `trust.timestamps: required` excludes this mode."},
		{ReasonEvidenceMissing, "signed in gitsign's online mode, and there is no evidence of the log about it", "fetch it: gitops-agent evidence fetch A..B --rekor URL, or sign offline: git config gitsign.rekorMode offline", `Push the [evidence](verify.md#evidence-for-the-online-mode): the agent waits for it.`},
		{ReasonBadEvidence, "evidence is not a bundle about this signature", "fetch it again: gitops-agent evidence fetch A..B --rekor URL --again", "Anyone who may push can change notes: `git push --force origin refs/notes/gitops-evidence` puts the right ones back."},
		{ReasonBadSignature, "signature does not match its certificate", "the signature was altered; sign again", ""},
		{ReasonUntrustedLog, "log entry is from a log that the trusted root does not trust at that time", "check that the trusted root belongs to the Sigstore that signed, and refresh it", `Investigate an entry that was made after its log's key was retired.`},
		{ReasonBadLogEntry, "log entry does not prove that this signature was logged", "the entry was altered or belongs to another signature; sign again", ""},
		{ReasonNoTrustedTime, "no trusted log or authority proves when it was signed", "a Rekor v2 entry needs a timestamp: set gitsign.timestampServerURL and sign again", ""},
		{ReasonNoTimestamp, "required timestamp of a trusted authority is missing", "set gitsign.timestampServerURL to an authority of the trusted root and sign again", ""},
		{ReasonUntrustedTimestamp, "timestamp is not from an authority that the trusted root trusts at that time, or was altered", "unset gitsign.timestampServerURL or set it to an authority of the trusted root, and sign again", ""},
		{ReasonExpiredCertificate, "signed outside the validity period of its certificate", "certificates are valid for ten minutes; sign again. If this repeats, suspect a stolen key", ""},
		{ReasonUntrustedCertificate, "certificate is not from an authority that the trusted root trusts at that time", "check that the trusted root belongs to the Sigstore that signed, and refresh it", `A certificate that is not for signing code, and one of a [sandbox](sandbox.md#its-certificates-are-marked), have this reason too.`},
		{ReasonNoCertificateLog, "certificate was not logged by a trusted certificate log", "check the certificate logs in the trusted root, and refresh it", ""},
		{ReasonWrongIdentity, "signed by an identity that is not among the signers", "if this identity may sign, add it to trust.signers; compare issuer and subject letter by letter", `A dot or a slash is enough, and patterns match the whole subject. If only extensions of a workflow differ, the message names each.`},
		{ReasonOutsideWindow, "signed outside the time in which the signer was trusted", "check from and until of the signer in trust.signers", "`from` is inclusive, `until` exclusive."},
		{ReasonDenied, "commit, payload, certificate or log entry is on the deny list", "check trust.deny; a commit that replaces the denied one needs a new history or an anchor above it", ""},
		{ReasonMissingRole, "signer may not change files", "a signer without the role change may sign only commits that change no files: git commit --allow-empty", "The message shows the entry `may` that would permit it. `gitops-agent approve` and `gitops-agent order` print commits for approvers and operators. With `history: tip` the change since the last accepted revision counts."},
		{ReasonOutOfScope, "signer may not change these files", "check paths of the signer in trust.signers, or let another signer make the change", "A guest outside of `guests` has this reason too, and a [change for other targets](verify.md#several-clusters-on-one-branch) that the signer may not make here. An audit compares neither."},
		{ReasonWrongName, "tag is at another ref than the one that was signed", "a tag counts only at refs/tags/ under the name in it; find out who moved it, or have a tag of the wanted name signed: git tag --sign NAME COMMIT", `Anyone who can push can do that. Only audits report this reason.`},
		{ReasonWrongTarget, "commit is not made for this target", "end the message of the tip with the trailer Gitops-Target: <cluster>/<branch>, or check trust.binding", `A cluster that is named twice, other text in the last paragraph, and more than 16 targets have this reason too. Where only the trailer is missing, the refusal has the command that adds it.`},
		{ReasonNotDescendant, "history was rewritten or rolled back", "the accepted commit must be on the first-parent path of the tip; gitops-agent allow-rewrite <full sha> accepts a rewrite on purpose", `The branch was force-pushed, rolled back, or merged in the wrong direction, or the agent has another repository than before. If nobody meant that, find out who moved the branch.`},
		{ReasonMissingAnchor, "anchor is not in the history", "trust.anchor must be on the first-parent path of the branch; check the remote and the anchor", ""},
		{ReasonIncompleteHistory, "history is incomplete", "the remote serves a shallow clone or lacks objects; the agent needs the whole branch", ""},
		{ReasonTooManyCommits, "more than 1,000 commits at once", "review the history and set a new trust.anchor near the tip", "More than 50,000 commits to compare side branches with have this reason too. After the first accepted revision, move the branch forward in steps of 1,000, or run `gitops-agent allow-rewrite` with the tip, which accepts it without those below it."},
		{ReasonTimeWentBack, "signed before an earlier accepted commit", "sign a new commit on top; the proven time may go back by at most five minutes", ""},
		{ReasonTooOld, "signed before trust.not_before", "sign a new commit on top", `The setting prevents a rollback after a loss of state.`},
	}
}

// Reasons returns every reason in a fixed order, so that metrics can start each of them from zero.
func Reasons() []Reason {
	table := explanations()
	all := make([]Reason, len(table))
	for i, e := range table {
		all[i] = e.reason
	}
	return all
}

// Meaning returns one line that describes r, or "" if r is not in Reasons.
func (r Reason) Meaning() string { return r.explain().meaning }

// Hint returns one line with the remedy for r, or "" if r is not in Reasons.
func (r Reason) Hint() string { return r.explain().hint }

// Docs returns what docs/refusals.md adds to Meaning and Hint, in Markdown, or "".
func (r Reason) Docs() string { return r.explain().docs }

func (r Reason) explain() explanation {
	for _, e := range explanations() {
		if e.reason == r {
			return e
		}
	}
	return explanation{}
}

// A RejectedError is the refusal of a commit, and of every revision that contains the commit. Every other error of this
// package means that reading failed: nothing was decided, and a retry can help.
type RejectedError struct {
	Commit gitsource.ID
	Reason Reason
	Hint   string // Reason.Hint
	Err    error  // the details; nil if Reason is enough
}

func (e *RejectedError) Error() string {
	text := fmt.Sprintf("reject %.7s: %s", string(e.Commit), e.Reason.Meaning())
	if e.Err != nil {
		text += ": " + hexBytes(e.Err.Error())
	}
	return text
}

// byteArray matches an array of bytes as fmt prints it: [18 52 …], eight bytes or more.
var byteArray = regexp.MustCompile(`\[(?:\d{1,3} ){7,}\d{1,3}\]`)

// hexBytes replaces arrays of bytes in the text of an error by hexadecimal digits. Errors of sigstore-go and of its logs contain such arrays.
func hexBytes(text string) string {
	return byteArray.ReplaceAllStringFunc(text, func(array string) string {
		var raw []byte
		for number := range strings.FieldsSeq(strings.Trim(array, "[]")) {
			b, err := strconv.ParseUint(number, 10, 8)
			if err != nil {
				return array
			}
			raw = append(raw, byte(b))
		}
		return hex.EncodeToString(raw)
	})
}

func (e *RejectedError) Unwrap() error { return e.Err }

// refuse returns a refusal without a commit id; forCommit adds the id. The arguments are those of fmt.Errorf.
func refuse(reason Reason, format string, args ...any) error {
	return refusal(reason, fmt.Errorf(format, args...))
}

// refusal is refuse with an existing error as the details, or nil if the reason is enough.
func refusal(reason Reason, err error) error {
	return &RejectedError{Reason: reason, Hint: reason.Hint(), Err: err}
}

// forCommit adds the commit id to a refusal that has none. It returns every other error unchanged.
func forCommit(id gitsource.ID, err error) error {
	var rejected *RejectedError
	if errors.As(err, &rejected) && rejected.Commit == "" {
		named := *rejected
		named.Commit = id
		return &named
	}
	return err
}
