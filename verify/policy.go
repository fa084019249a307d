package verify

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"gitops-agent/gitsource"
)

// A Policy decides which commits may change the cluster. It is immutable and safe for concurrent use.
type Policy struct {
	options Options
	prover  *prover
	signers []*matcher
}

// NewPolicy returns the policy that opts describe. What trust needs has no default: a trusted root, at least one signer
// with its roles, a binding, and an anchor or trust on first use. The error names everything that is missing or wrong at
// once, each with the choice to make.
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

// Root says which trusted root the policy uses.
func (p *Policy) Root() RootInfo { return p.prover.root.info }

// An admitted commit is signed by a signer of the policy at a time when the signer was trusted. Whether it has its place
// in the history, and whether the signer may do what it does, is open. It keeps little: a range may have a thousand.
type admitted struct {
	id         gitsource.ID
	tree       gitsource.ID
	parents    []gitsource.ID
	digest     [32]byte
	trailers   []trailer
	seemsOrder bool
	proof      proof
	signer     *matcher

	sealed   []gitsource.ID // commits of the path that this one vouches for
	voidSeal string         // why this one, which seems to seal, does not
}

// admit reads a commit and verifies its signature, the signer, and the deny list.
func (p *Policy) admit(ctx context.Context, repo *gitsource.Repository, id gitsource.ID) (admitted, error) {
	o, err := readCommit(ctx, repo, id)
	if err != nil {
		return admitted{}, err
	}
	proven, err := p.prover.prove(o)
	if err != nil {
		return admitted{}, at(id, err)
	}
	signer, err := p.recognise(id, proven)
	if err != nil {
		return admitted{}, at(id, err)
	}
	return admitted{
		id: id, tree: o.tree, parents: o.parents, digest: o.digest(),
		trailers: parseTrailers(o.message), seemsOrder: seemsOrder(o.message),
		proof: proven, signer: signer,
	}, nil
}

// readCommit reads a commit and takes it apart. What the repository lacks or holds too large is a refusal: no later poll
// of the same objects can bring a better answer.
func readCommit(ctx context.Context, repo *gitsource.Repository, id gitsource.ID) (object, error) {
	commit, err := repo.Commit(ctx, id)
	switch {
	case errors.Is(err, gitsource.ErrNotFound):
		return object{}, at(id, refusal(ReasonIncompleteHistory, err))
	case errors.Is(err, gitsource.ErrTooLarge):
		return object{}, at(id, refusal(ReasonTooLarge, err))
	case err != nil:
		return object{}, fmt.Errorf("read commit %s: %w", id, err)
	}
	o, err := splitCommit(commit.Raw)
	return o, at(id, err)
}

// recognise returns the signer that a proof belongs to: the first whose identity fits and whose time covers it.
func (p *Policy) recognise(id gitsource.ID, proven proof) (*matcher, error) {
	if err := p.denied(id, proven); err != nil {
		return nil, err
	}
	known := ""
	for _, s := range p.signers {
		if s.identity.Verify(proven.certificate) != nil {
			continue
		}
		if s.covers(proven.provenTime) {
			return s, nil
		}
		known = s.Name
	}
	if known != "" {
		return nil, refuse(ReasonOutsideWindow, "signer %q was not trusted at %s", known, proven.provenTime.Format(time.RFC3339))
	}
	return nil, refuse(ReasonWrongIdentity, "got %q of %q", proven.certificate.SubjectAlternativeName, proven.certificate.Issuer)
}

func (p *Policy) denied(id gitsource.ID, proven proof) error {
	fingerprint := hex.EncodeToString(proven.fingerprint[:])
	switch {
	case slices.Contains(p.options.Deny.Commits, id):
		return refuse(ReasonDenied, "commit is on the list")
	case slices.Contains(p.options.Deny.Certificates, fingerprint):
		return refuse(ReasonDenied, "certificate %s is on the list", fingerprint)
	case slices.Contains(p.options.Deny.LogIndexes, proven.logIndex):
		return refuse(ReasonDenied, "log index %d is on the list", proven.logIndex)
	}
	return nil
}

// mayMake says whether the signer of a may make the change from the tree before to that of a. "" is the empty tree. Who
// seals answers for the change of the sealed commits by the role seal.
func (p *Policy) mayMake(ctx context.Context, repo *gitsource.Repository, a admitted, before gitsource.ID) error {
	if a.tree == before {
		return nil
	}
	if !a.signer.may(RoleChange) && len(a.sealed) == 0 {
		return at(a.id, refuse(ReasonMissingRole, "signer %q lacks the role %s", a.signer.Name, RoleChange))
	}
	if len(a.signer.Paths) == 0 {
		return nil
	}
	changed, err := repo.Changed(ctx, before, a.tree)
	if err != nil {
		return at(a.id, treeProblem(a.id, err))
	}
	for _, path := range changed {
		if !a.signer.mayTouch(path) {
			return at(a.id, refuse(ReasonOutOfScope, "signer %q may not change %q", a.signer.Name, path))
		}
	}
	return nil
}

// treeProblem tells trees that nobody can compare, which is a refusal, from a repository that cannot be read.
func treeProblem(id gitsource.ID, err error) error {
	var unfit *gitsource.TreeError
	switch {
	case errors.As(err, &unfit), errors.Is(err, gitsource.ErrTooLarge):
		return refusal(ReasonOutOfScope, err)
	case errors.Is(err, gitsource.ErrNotFound):
		return refusal(ReasonIncompleteHistory, err)
	}
	return fmt.Errorf("compare trees of %s: %w", id, err)
}

// signed turns a judged commit into what the revision hands on.
func (a admitted) signed(before, parentTree gitsource.ID) SignedCommit {
	found, ignored := orders(a, a.tree == parentTree)
	return SignedCommit{
		ID: a.id, Tree: a.tree, Before: before, Parents: a.parents,
		Subject: a.proof.certificate.SubjectAlternativeName, Issuer: a.proof.certificate.Issuer, Signer: a.signer.Name,
		Roles: a.signer.May, Guests: a.signer.Guests,
		ProvenTime: a.proof.provenTime, PayloadDigest: a.digest,
		Orders: found, Ignored: cmp.Or(ignored, a.voidSeal), Sealed: a.sealed,
	}
}
