package verify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"

	"gitops-agent/gitsource"
	"gitops-agent/verify/role"
)

// A Policy decides which commits may change the cluster. It is immutable and safe for concurrent use.
type Policy struct {
	options Options
	prover  *prover
	signers []*matcher
}

// NewPolicy returns the policy that opts describe. These options have no default: a trusted root, at least one signer with
// its roles, a binding, and an anchor or trust on first use. The error lists every missing or wrong option at once, each
// with the remedy.
func NewPolicy(opts Options) (*Policy, error) {
	tr, signers, err := opts.validate()
	if err != nil {
		return nil, fmt.Errorf("make policy: %w", err)
	}
	prover, err := newProver(tr, opts.Timestamps)
	if err != nil {
		return nil, fmt.Errorf("make policy: %w", err)
	}
	return &Policy{options: opts, prover: prover, signers: signers}, nil
}

// Root returns which trusted root the policy uses.
func (p *Policy) Root() RootInfo { return p.prover.root.info }

// Target returns the target that commits name with BindingTrailer.
func (p *Policy) Target() string { return p.options.Target }

// Digest returns the SHA-256 of the settings by which Audit judges: the trusted root, the signers, the timestamp rule and the deny list, as JSON. It
// changes with each of them.
func (p *Policy) Digest() [sha256.Size]byte {
	root := p.prover.root.info.SHA256
	// Marshalling strings, numbers and times of these types cannot fail.
	text, _ := json.Marshal(struct {
		TrustedRoot string
		Signers     []Signer
		Timestamps  TimestampRule
		Deny        Deny
	}{hex.EncodeToString(root[:]), p.options.Signers, cmp.Or(p.options.Timestamps, TimestampOptional), p.options.Deny})
	return sha256.Sum256(text)
}

// An admitted commit is signed by a signer of the policy at a time when the signer was trusted. Its place in the history
// and the permission of the signer are not checked yet. It holds few bytes, since a range may have a thousand commits.
type admitted struct {
	id           gitsource.ID
	tree         gitsource.ID
	parents      []gitsource.ID
	digest       [32]byte // of the payload
	trailers     []trailer
	mention      string // the first line that mentions an order, "" if none does
	takesTrailer bool   // git can add a trailer to the message
	proof        proof
	signer       *matcher

	sealed   []gitsource.ID // commits of the path that this commit seals, oldest first
	voidSeal string         // why this commit, whose message mentions a seal, seals nothing; otherwise empty
}

// admit reads a commit and verifies its signature, the signer, and the deny list.
func (p *Policy) admit(ctx context.Context, repo *gitsource.Repository, id gitsource.ID) (admitted, error) {
	o, err := readCommit(ctx, repo, id)
	if err != nil {
		return admitted{}, err
	}
	proven, err := p.prover.prove(ctx, id, o)
	if err != nil {
		return admitted{}, forCommit(id, err)
	}
	signer, err := p.matchSigner(id, o.digest(), proven)
	if err != nil {
		return admitted{}, forCommit(id, err)
	}
	trailers := parseTrailers(o.message)
	return admitted{
		id: id, tree: o.tree, parents: o.parents, digest: o.digest(),
		trailers: trailers, mention: mentionedOrder(o.message, trailers), takesTrailer: takesTrailer(o.message, trailers),
		proof: proven, signer: signer,
	}, nil
}

// readCommit reads and splits a commit. A commit that is missing or too large is refused, because a retry with the same
// objects cannot succeed.
func readCommit(ctx context.Context, repo *gitsource.Repository, id gitsource.ID) (object, error) {
	commit, err := repo.Commit(ctx, id)
	switch {
	case errors.Is(err, gitsource.ErrNotFound):
		return object{}, forCommit(id, refusal(ReasonIncompleteHistory, err))
	case errors.Is(err, gitsource.ErrTooLarge):
		return object{}, forCommit(id, refusal(ReasonTooLarge, err))
	case err != nil:
		return object{}, fmt.Errorf("read commit %s: %w", id, err)
	}
	o, err := splitCommit(commit.Raw)
	return o, forCommit(id, err)
}

// matchSigner returns the signer of a proof: the first one whose identity matches and who was trusted at the proven time.
func (p *Policy) matchSigner(id gitsource.ID, payload [sha256.Size]byte, proven proof) (*matcher, error) {
	if err := p.denied(id, payload, proven); err != nil {
		return nil, err
	}
	untrusted := "" // name of a signer that matches and was not trusted at the proven time
	for _, s := range p.signers {
		if s.identity.Verify(proven.certificate) != nil {
			continue
		}
		if s.trustedAt(proven.provenTime) {
			return s, nil
		}
		untrusted = s.Name
	}
	if untrusted != "" {
		return nil, refuse(ReasonOutsideWindow, "signer %q was not trusted at %s", untrusted, proven.provenTime.Format(time.RFC3339))
	}
	return nil, p.wrongIdentity(proven.certificate)
}

// SignerName returns the name of the signer that an issuer and a subject belonged to at a proven time: the one name of all matching signers. It
// returns "" if no signer matches, or signers with several names, since it does not know the other claims of the certificate.
func (p *Policy) SignerName(issuer, subject string, proven time.Time) string {
	summary := certificate.Summary{SubjectAlternativeName: subject, Extensions: certificate.Extensions{Issuer: issuer}}
	name := ""
	for _, s := range p.signers {
		matches := s.identity.SubjectAlternativeName.Verify(summary) == nil && s.identity.Issuer.Verify(summary) == nil && s.trustedAt(proven)
		switch {
		case !matches:
		case name != "" && name != s.Name:
			return ""
		default:
			name = s.Name
		}
	}
	return name
}

// SignerOf returns the signer that an issuer and a subject belonged to at a proven time: the first one that matches. It returns false if none matches, if matching
// signers have several entries, or if one of them requires further claims, since it does not know those of the certificate.
func (p *Policy) SignerOf(issuer, subject string, proven time.Time) (Signer, bool) {
	summary := certificate.Summary{SubjectAlternativeName: subject, Extensions: certificate.Extensions{Issuer: issuer}}
	var found *matcher
	for _, s := range p.signers {
		if s.identity.SubjectAlternativeName.Verify(summary) != nil || s.identity.Issuer.Verify(summary) != nil || !s.trustedAt(proven) {
			continue
		}
		if s.Extensions != (Extensions{}) || found != nil && found.Entry() != s.Entry() {
			return Signer{}, false
		}
		if found == nil {
			found = s
		}
	}
	if found == nil {
		return Signer{}, false
	}
	return found.Signer, true
}

// deniedObject refuses an object if the deny list contains its id or its payload, no matter who signed it.
func (p *Policy) deniedObject(id gitsource.ID, payload [sha256.Size]byte) error {
	text := hex.EncodeToString(payload[:])
	switch {
	case slices.Contains(p.options.Deny.Commits, id):
		return refuse(ReasonDenied, "commit is in trust.deny.commits")
	case slices.Contains(p.options.Deny.Payloads, text):
		return refuse(ReasonDenied, "payload %s is in trust.deny.payloads", text)
	}
	return nil
}

// deniedUnverified is deniedObject for a commit whose signature is not verified. It reads the commit only if the deny list contains payloads.
func (p *Policy) deniedUnverified(ctx context.Context, repo *gitsource.Repository, id gitsource.ID) error {
	var payload [sha256.Size]byte
	if len(p.options.Deny.Payloads) > 0 {
		o, err := readCommit(ctx, repo, id)
		if err != nil {
			return err
		}
		payload = o.digest()
	}
	return forCommit(id, p.deniedObject(id, payload))
}

// Denied returns an error if the deny list contains a commit that an earlier policy accepted: its id, its payload, its certificate or its log entry. A commit that
// cannot be verified any more is compared by its id, and by its payload if it can be read.
func (p *Policy) Denied(ctx context.Context, repo *gitsource.Repository, id gitsource.ID) error {
	deny := p.options.Deny
	if len(deny.Commits)+len(deny.Payloads)+len(deny.Certificates)+len(deny.LogIndexes) == 0 {
		return nil
	}
	_, err := p.admit(ctx, repo, id)
	for _, err := range []error{err, p.deniedUnverified(ctx, repo, id), forCommit(id, p.deniedObject(id, [sha256.Size]byte{}))} {
		if rejected := new(RejectedError); errors.As(err, &rejected) && rejected.Reason == ReasonDenied {
			return err
		}
	}
	return nil
}

// denied refuses a commit if the deny list contains its id, its payload, its certificate or its log entry.
func (p *Policy) denied(id gitsource.ID, payload [sha256.Size]byte, proven proof) error {
	if err := p.deniedObject(id, payload); err != nil {
		return err
	}
	fingerprint := hex.EncodeToString(proven.fingerprint[:])
	switch {
	case slices.Contains(p.options.Deny.Certificates, fingerprint):
		return refuse(ReasonDenied, "certificate %s is in trust.deny.certificates", fingerprint)
	case slices.Contains(p.options.Deny.LogIndexes, proven.logIndex):
		return refuse(ReasonDenied, "log index %d is in trust.deny.log_indexes", proven.logIndex)
	}
	return nil
}

// authorizeChange refuses a if its signer may not make the change from the tree before to the tree of a. The id "" stands
// for the empty tree. A commit that seals others needs RoleSeal instead of RoleChange for the change of the sealed commits.
func (p *Policy) authorizeChange(ctx context.Context, repo *gitsource.Repository, a admitted, before gitsource.ID) error {
	if a.tree == before {
		return nil
	}
	if !a.signer.may(RoleChange) && len(a.sealed) == 0 {
		return forCommit(a.id, refuse(ReasonMissingRole, "%s", role.Missing(a.signer.Name, a.signer.May, RoleChange)))
	}
	if len(a.signer.Paths) == 0 {
		return nil
	}
	changed, err := repo.Changed(ctx, before, a.tree)
	if err != nil {
		return forCommit(a.id, treeProblem(a.id, err))
	}
	for _, path := range changed {
		if !a.signer.mayChangePath(path) {
			return forCommit(a.id, refuse(ReasonOutOfScope, "signer %q may not change %q", a.signer.Name, path))
		}
	}
	return nil
}

// treeProblem returns a refusal if the trees themselves cannot be compared, and err with its context if the repository
// could not be read.
func treeProblem(id gitsource.ID, err error) error {
	var treeError *gitsource.TreeError
	switch {
	case errors.As(err, &treeError), errors.Is(err, gitsource.ErrTooLarge):
		return refusal(ReasonOutOfScope, err)
	case errors.Is(err, gitsource.ErrNotFound):
		return refusal(ReasonIncompleteHistory, err)
	}
	return fmt.Errorf("compare trees of %s: %w", id, err)
}

// signedCommit returns a judged commit in the form that a Revision contains. See SignedCommit.Before for before.
func (a admitted) signedCommit(before, parentTree gitsource.ID, target string) SignedCommit {
	found, ignored := orders(a, a.tree == parentTree, target)
	return SignedCommit{
		ID: a.id, Tree: a.tree, Before: before, Parents: a.parents,
		Subject: a.proof.certificate.SubjectAlternativeName, Issuer: a.proof.certificate.Issuer, Signer: a.signer.Name,
		Entry: a.signer.Entry(), Roles: a.signer.May, Guests: a.signer.Guests, Paths: a.signer.Paths,
		ProvenTime: a.proof.provenTime, PayloadDigest: a.digest,
		Orders: found, Ignored: cmp.Or(ignored, a.voidSeal), Mention: a.mention, Sealed: a.sealed,
	}
}
