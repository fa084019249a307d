package verify

import (
	"context"

	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"

	"gitops-agent/gitsource"
)

// An Identifier finds who signed commits and tags. It has a trusted root and no signers, so it accepts nothing: the Accepted of its verdicts is never
// set. A verdict without a Reason is about an object whose signature proves the identity that the verdict states.
type Identifier struct{ prover *prover }

// NewIdentifier returns an Identifier for the content of a trusted_root.json.
func NewIdentifier(trustedRoot []byte) (*Identifier, error) {
	tr, err := Options{TrustedRoot: trustedRoot}.parseRoot()
	if err != nil {
		return nil, err
	}
	return newIdentifier(tr)
}

// Identifier returns an Identifier with the trusted root of the policy. What the policy requires, also of timestamps, does not matter to it.
func (p *Policy) Identifier() (*Identifier, error) {
	i, err := newIdentifier(p.prover.root)
	if err != nil {
		return nil, err
	}
	return i.WithEvidence(p.prover.evidence...), nil
}

func newIdentifier(tr *trustedRoot) (*Identifier, error) {
	prover, err := newProver(tr, TimestampOptional)
	return &Identifier{prover}, err
}

// Root describes the trusted root.
func (i *Identifier) Root() RootInfo { return i.prover.root.info }

// Audit identifies who signed a commit.
func (i *Identifier) Audit(ctx context.Context, repo *gitsource.Repository, id gitsource.ID) Verdict {
	v := Verdict{Object: id}
	o, err := readCommit(ctx, repo, id)
	if err == nil {
		err = i.identify(ctx, o, &v)
	}
	return v.concludeIdentity(err)
}

// AuditTag identifies who signed an annotated tag, at whatever ref it is. It does not read the object that the tag points at.
func (i *Identifier) AuditTag(ctx context.Context, repo *gitsource.Repository, id gitsource.ID, _ string) Verdict {
	v := Verdict{Object: id}
	o, err := readTag(ctx, repo, id)
	if err == nil {
		err = i.identify(ctx, o, &v)
	}
	return v.concludeIdentity(err)
}

func (i *Identifier) identify(ctx context.Context, o object, v *Verdict) error {
	v.noteObject(o)
	_, err := i.prover.proveInto(ctx, o, v)
	return err
}

// concludeIdentity is conclude for a verdict that accepts nothing.
func (v *Verdict) concludeIdentity(err error) Verdict {
	concluded := v.conclude(err)
	concluded.Accepted = false
	return concluded
}

// proveInto proves o and copies the proof into v, or, if o proves nothing, the identity that its certificate claims.
func (p *prover) proveInto(ctx context.Context, o object, v *Verdict) (proof, error) {
	proven, err := p.prove(ctx, v.Object, o)
	if err != nil {
		v.ClaimedSubject, v.ClaimedIssuer = claimOf(o)
		return proof{}, err
	}
	v.noteProof(proven)
	return proven, nil
}

// claimOf returns the identity in the certificate of a signature that proves nothing. It returns "" if there is no certificate that can be read.
func claimOf(o object) (subject, issuer string) {
	der, err := unarmor(o.signature)
	if err != nil {
		return "", ""
	}
	s, err := parseSignature(der)
	if err != nil {
		return "", ""
	}
	c, err := certificate.SummarizeCertificate(s.leaf)
	if err != nil {
		return "", ""
	}
	return c.SubjectAlternativeName, c.Issuer
}
