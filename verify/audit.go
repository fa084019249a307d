package verify

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"gitops-agent/gitsource"
)

// A Verdict is what an audit says of one commit or tag on its own. It is a report: nothing acts on it.
type Verdict struct {
	Object   gitsource.ID
	Accepted bool
	Reason   Reason // why not; empty when accepted, or when reading failed
	Hint     string
	Err      error // a *RejectedError, or why the object could not be read

	// What the proof says; empty where the signature proves nothing. An identity shown here may be one that no signer fits.
	Subject, Issuer string
	ProvenTime      time.Time
	Log             string // address of the transparency log
	LogIndex        int64
	Certificate     string // SHA-256 of its DER in hex
	Workflow        string // what signed, with its ref, where a workflow did
	Repository, Ref string // what the workflow ran for
	Trigger         string

	Signer string // name in the policy
	Roles  []Role
	Target string // value of the trailer Gitops-Target
}

// Audit verifies one commit on its own: signature, signer, deny list, and whether the signer may make its change against
// its first parent. Rules on its place in a history, its age and its target are Check's.
func (p *Policy) Audit(ctx context.Context, repo *gitsource.Repository, id gitsource.ID) Verdict {
	v := Verdict{Object: id}
	return v.conclude(p.auditCommit(ctx, repo, &v))
}

func (p *Policy) auditCommit(ctx context.Context, repo *gitsource.Repository, v *Verdict) error {
	o, err := readCommit(ctx, repo, v.Object)
	if err != nil {
		return err
	}
	if targets := values(parseTrailers(o.message), trailerTarget); len(targets) == 1 {
		v.Target = targets[0]
	}
	signer, err := p.auditObject(o, v)
	if err != nil {
		return err
	}
	if signer.may(RoleChange) && len(signer.Paths) == 0 {
		return nil
	}
	a := admitted{id: v.Object, tree: o.tree, parents: o.parents, signer: signer}
	before, err := parentTree(ctx, repo, a)
	if err != nil {
		return err
	}
	return p.mayMake(ctx, repo, a, before)
}

// AuditTag verifies one annotated tag: its signature, its signer, and the deny list. What the tag points at is not looked
// at, and no tag is ever asked for when a revision is accepted.
func (p *Policy) AuditTag(ctx context.Context, repo *gitsource.Repository, id gitsource.ID) Verdict {
	v := Verdict{Object: id}
	return v.conclude(p.auditTag(ctx, repo, &v))
}

func (p *Policy) auditTag(ctx context.Context, repo *gitsource.Repository, v *Verdict) error {
	tag, err := repo.Tag(ctx, v.Object)
	switch {
	case errors.Is(err, gitsource.ErrTooLarge):
		return refusal(ReasonTooLarge, err)
	case err != nil:
		return fmt.Errorf("read tag %s: %w", v.Object, err)
	}
	o, err := splitTag(tag.Raw)
	if err != nil {
		return err
	}
	_, err = p.auditObject(o, v)
	return err
}

// auditObject proves o and notes what the proof says, also if no signer fits it.
func (p *Policy) auditObject(o object, v *Verdict) (*matcher, error) {
	proven, err := p.prover.prove(o)
	if err != nil {
		return nil, err
	}
	c := proven.certificate
	v.Subject, v.Issuer, v.ProvenTime = c.SubjectAlternativeName, c.Issuer, proven.provenTime
	v.Log, v.LogIndex, v.Certificate = proven.log, proven.logIndex, hex.EncodeToString(proven.fingerprint[:])
	v.Workflow, v.Repository, v.Ref, v.Trigger = c.BuildSignerURI, c.SourceRepositoryURI, c.SourceRepositoryRef, c.BuildTrigger
	signer, err := p.recognise(v.Object, proven)
	if err != nil {
		return nil, err
	}
	v.Signer, v.Roles = signer.Name, signer.May
	return signer, nil
}

// conclude fills in the outcome.
func (v *Verdict) conclude(err error) Verdict {
	var rejected *RejectedError
	v.Err = at(v.Object, err)
	v.Accepted = err == nil
	if errors.As(v.Err, &rejected) {
		v.Reason, v.Hint = rejected.Reason, rejected.Hint
	}
	return *v
}
