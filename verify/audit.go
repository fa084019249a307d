package verify

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/verify/role"
)

// A Verdict is the result of auditing one commit or tag alone. It is a report: no code acts on it.
type Verdict struct {
	Object   gitsource.ID
	Accepted bool
	Reason   Reason // why the object was refused; empty when it was accepted, or when reading failed
	Hint     string // the remedy for Reason, or for Ignored where its text does not name one; empty without them
	Err      error  // a *RejectedError, or why the object could not be read; nil when it was accepted

	Title    string       // first line of the message, cut to maxTitle bytes
	Name     string       // of a tag, as it is signed
	Points   gitsource.ID // of a tag: the object that it names
	PointsTo string       // the type of that object

	Merged  []gitsource.ID // parents of a commit after the first
	Payload string         // SHA-256 of what a signature covers, in hex; empty if the object could not be read
	Denied  bool           // the deny list contains the object by its id or by its payload; no seal covers it

	// The identity in the certificate of a signature that proves nothing, as in gitsign's online mode. Anyone can write such a certificate.
	ClaimedSubject, ClaimedIssuer string

	// The fields below come from the proof and are empty if the signature proves nothing. The identity may match no signer.
	Subject, Issuer string
	ProvenTime      time.Time
	Log             string // address of the transparency log
	LogIndex        int64
	Certificate     string      // SHA-256 of the certificate's DER in hex
	Extensions      *Extensions // of the certificate of a workflow; nil for a person

	Signer string // name in the policy; empty if no signer matches
	Roles  []Role // roles of Signer
	Target string // values of the trailers Gitops-Target; empty if they do not have the right form

	Ignored  string   // why orders of an accepted commit have no effect, independent of the state of the cluster; "" if they may have one, or if it has none
	Promoted []string // values of the trailers Gitops-Promoted; ParsePromotion reads one
}

// Run returns what the certificate says of the run of a workflow that signed, and the zero value for a person.
func (v *Verdict) Run() Extensions {
	if v.Extensions == nil {
		return Extensions{}
	}
	return *v.Extensions
}

// Audit verifies one commit alone: its signature, its signer, the deny list, and whether the signer may make the change
// from the commit's first parent. Only Check applies the rules about the commit's place in a history, its age and its target.
func (p *Policy) Audit(ctx context.Context, repo *gitsource.Repository, id gitsource.ID) Verdict {
	v := Verdict{Object: id}
	return v.conclude(p.auditCommit(ctx, repo, &v))
}

func (p *Policy) auditCommit(ctx context.Context, repo *gitsource.Repository, v *Verdict) error {
	o, err := readCommit(ctx, repo, v.Object)
	if err != nil {
		return err
	}
	p.noteObject(o, v)
	trailers := parseTrailers(o.message)
	if targets := values(trailers, trailerTarget); targetProblem(targets) == "" {
		v.Target = strings.Join(targets, ", ")
	}
	v.Promoted = values(trailers, trailerPromoted)
	signer, err := p.auditObject(ctx, o, v)
	if err != nil {
		return err
	}
	a := admitted{id: v.Object, tree: o.tree, parents: o.parents, signer: signer, trailers: trailers, mention: mentionedOrder(o.message, trailers)}
	mayChangeAll := signer.may(RoleChange) && len(signer.Paths) == 0
	if mayChangeAll && a.mention == "" {
		return nil
	}
	before, err := parentTree(ctx, repo, a)
	if err != nil {
		return err
	}
	if !mayChangeAll {
		if err := p.authorizeChange(ctx, repo, a, before); err != nil {
			return err
		}
	}
	v.Ignored, v.Hint = a.ignoredOrders(before)
	return nil
}

// ignoredOrders returns why orders of a commit have no effect, independent of the state of the cluster: for their form, or because the signer lacks the role. It is "" if they may
// have one. The remedy is "" if why says what the signer lacks. Before is the tree of the first parent.
func (a admitted) ignoredOrders(before gitsource.ID) (why, remedy string) {
	found, why := orders(a, a.tree == before, "")
	if why != "" {
		return why, OrderAlone
	}
	for _, o := range found {
		need := RoleApprove
		if o.Kind == OrderRun {
			need = RoleOperate
		}
		switch {
		case !o.Allowed:
			why, remedy = role.Missing(a.signer.Name, a.signer.May, need), ""
		case o.Problem != "":
			why, remedy = o.Problem, OrderAlone
		}
	}
	return why, remedy
}

// AuditTag verifies one annotated tag: its signature, its signer, the deny list, and that it is at the ref whose name was signed. ref is the full name of the
// ref that points at the tag, or "" for a tag that was found in another way, for example by its id: then no name is compared. AuditTag does not
// read the object that the tag points at. Check never reads tags.
func (p *Policy) AuditTag(ctx context.Context, repo *gitsource.Repository, id gitsource.ID, ref string) Verdict {
	v := Verdict{Object: id}
	return v.conclude(p.auditTag(ctx, repo, &v, ref))
}

func (p *Policy) auditTag(ctx context.Context, repo *gitsource.Repository, v *Verdict, ref string) error {
	o, err := readTag(ctx, repo, v.Object)
	if err != nil {
		return err
	}
	p.noteObject(o, v)
	if _, err := p.auditObject(ctx, o, v); err != nil {
		return err
	}
	return checkName(o, ref)
}

// checkName refuses a tag at another ref than the one of its name. A signature covers the name, and anyone who can push can put the tag at another ref.
func checkName(o object, ref string) error {
	if want := "refs/tags/" + o.name; ref != "" && ref != want {
		return refuse(ReasonWrongName, "signed as %q, found at %q", want, ref)
	}
	return nil
}

// readTag reads and splits an annotated tag. A tag that is too large is refused.
func readTag(ctx context.Context, repo *gitsource.Repository, id gitsource.ID) (object, error) {
	tag, err := repo.Tag(ctx, id)
	switch {
	case errors.Is(err, gitsource.ErrTooLarge):
		return object{}, refusal(ReasonTooLarge, err)
	case err != nil:
		return object{}, fmt.Errorf("read tag %s: %w", id, err)
	}
	return splitTag(tag.Raw)
}

// noteObject copies into v what identifies the content of o, signed or not.
func (p *Policy) noteObject(o object, v *Verdict) {
	v.noteObject(o)
	v.Denied = p.deniedObject(v.Object, o.digest()) != nil
}

func (v *Verdict) noteObject(o object) {
	payload := o.digest()
	v.Payload = hex.EncodeToString(payload[:])
	v.Title = title(o.message)
	v.Name, v.Points, v.PointsTo = o.name, o.target, o.kind
	if len(o.parents) > 1 {
		v.Merged = o.parents[1:]
	}
}

// maxTitle is how much of a message a Verdict contains, in bytes.
const maxTitle = 160

// title returns the beginning of the first line of a message.
func title(message []byte) string {
	line, _, _ := bytes.Cut(message, []byte("\n"))
	return strings.TrimSpace(strings.ToValidUTF8(string(line[:min(len(line), maxTitle)]), ""))
}

func (v *Verdict) noteProof(proven proof) {
	c := proven.certificate
	v.Subject, v.Issuer, v.ProvenTime = c.SubjectAlternativeName, c.Issuer, proven.provenTime
	v.Log, v.LogIndex, v.Certificate = proven.log, proven.logIndex, hex.EncodeToString(proven.fingerprint[:])
	if e := extensionsOf(c.Extensions); e != (Extensions{}) {
		v.Extensions = &e
	}
}

// auditObject proves o and copies the proof into v, even if no signer matches.
func (p *Policy) auditObject(ctx context.Context, o object, v *Verdict) (*matcher, error) {
	proven, err := p.prover.proveInto(ctx, o, v)
	if err != nil {
		return nil, err
	}
	signer, err := p.matchSigner(v.Object, o.digest(), proven)
	if err != nil {
		return nil, err
	}
	v.Signer, v.Roles = signer.Name, signer.May
	return signer, nil
}

// conclude fills in the outcome from err and returns v.
func (v *Verdict) conclude(err error) Verdict {
	var rejected *RejectedError
	v.Err = forCommit(v.Object, err)
	v.Accepted = err == nil
	if errors.As(v.Err, &rejected) {
		v.Reason, v.Hint = rejected.Reason, rejected.Hint
	}
	return *v
}
