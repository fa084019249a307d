package audit

import (
	"cmp"
	"errors"
	"iter"
	"slices"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/attest"
	"gitops-agent/verify"
)

// A Document is the JSON result of an audit. Only Result.Document sets the verdicts.
type Document struct {
	SchemaVersion int            `json:"schemaVersion"`
	Revision      string         `json:"revision"` // as requested, or the range since the anchor
	Accepted      int            `json:"accepted"`
	Refused       int            `json:"refused"`
	Sealed        int            `json:"sealed"` // refused by themselves, and sealed by a later commit
	NotAudited    notAuditedView `json:"notAudited"`
	Refusals      []refusalView  `json:"refusals"`
	Signers       []signerView   `json:"signers"`
	Verdicts      []verdictView  `json:"verdicts"` // oldest first, all or those that --only selects

	// all verdicts. Their views are made when they are needed, because a long range has many.
	all []verdict
}

// views returns the views of all verdicts with their positions.
func (d Document) views() iter.Seq2[int, verdictView] {
	return func(yield func(int, verdictView) bool) {
		for i, v := range d.all {
			if !yield(i, newVerdictView(v)) {
				return
			}
		}
	}
}

// notAuditedView is what of a range has no verdict.
type notAuditedView struct {
	SideBranches int    `json:"sideBranches"`     // commits that merges bring in
	More         bool   `json:"more,omitempty"`   // there are more than could be counted
	Remedy       string `json:"remedy,omitempty"` // how to audit them
}

func (n notAudited) view() notAuditedView {
	v := notAuditedView{SideBranches: n.sides, More: n.more}
	if n.sides > 0 {
		v.Remedy = "--side-branches audits them too"
	}
	return v
}

// text returns "1376 commits of side branches are not audited: --side-branches audits them too", or "" if everything was audited.
func (v notAuditedView) text() string {
	if v.SideBranches == 0 && !v.More {
		return ""
	}
	text := term.Count(v.SideBranches, "commit") + " of side branches not audited"
	if v.More {
		text = "more than " + text
	}
	return text + term.Prefixed(": ", v.Remedy)
}

// verdictView is the verdict on one commit or tag.
type verdictView struct {
	Kind           string        `json:"kind"`            // commit or tag
	Name           string        `json:"name,omitempty"`  // of a tag, as it is signed
	ID             string        `json:"id"`              // full
	Title          string        `json:"title,omitempty"` // first line of the message, at most 160 bytes
	Verdict        string        `json:"verdict"`         // accepted, refused or sealed
	Accepted       bool          `json:"accepted"`
	Reason         verify.Reason `json:"reason,omitempty"`   // of a refusal, as in docs/refusals.md
	Message        string        `json:"message,omitempty"`  // the problem
	Hint           string        `json:"hint,omitempty"`     // the remedy
	SealedBy       string        `json:"sealedBy,omitempty"` // the commit with the seal
	MergedBy       string        `json:"mergedBy,omitempty"` // for a commit of a side branch, the oldest merge of the range that brings it in
	Rules          []ruleView    `json:"rules"`              // in the order in which they are checked
	Signer         string        `json:"signer,omitempty"`   // its name in the policy
	Subject        string        `json:"subject,omitempty"`  // in the certificate, even if it matches no signer of the policy
	Issuer         string        `json:"issuer,omitempty"`
	ClaimedSubject string        `json:"claimedSubject,omitempty"` // in the certificate of a signature that proves nothing: anyone can write it
	ClaimedIssuer  string        `json:"claimedIssuer,omitempty"`
	ProvenTime     time.Time     `json:"provenTime,omitzero"` // of signing, as a log or a timestamp authority proves it
	Workflow       string        `json:"workflow,omitempty"`  // that signed, and the repository, ref and trigger of its run
	Repository     string        `json:"repository,omitempty"`
	Ref            string        `json:"ref,omitempty"`
	Trigger        string        `json:"trigger,omitempty"`
	Log            string        `json:"log,omitempty"`         // that has the entry
	LogIndex       int64         `json:"logIndex,omitempty"`    // of the entry
	Certificate    string        `json:"certificate,omitempty"` // SHA-256, in the form of trust.deny.certificates
	Payload        string        `json:"payload,omitempty"`     // SHA-256 of what the signature covers, in the form of trust.deny.payloads: the same under every id of a commit
	Target         string        `json:"target,omitempty"`      // values of the trailers Gitops-Target, separated by a comma; absent if they do not have the right form

	Ignored      string               `json:"ignored,omitempty"`      // why orders in its message have no effect, independent of the state of the cluster
	Promotion    *promotionView       `json:"promotion,omitempty"`    // what the trailer Gitops-Promoted names
	Attestations []attest.Attestation `json:"attestations,omitempty"` // what agents stated about the commit, if they were asked for
}

func newDocument(revision string, verdicts []verdict) Document {
	d := Document{SchemaVersion: term.SchemaVersion, Revision: revision, Verdicts: []verdictView{}, all: verdicts}
	var signers signerSums
	var refusals refusalSums
	for _, view := range d.views() {
		switch view.Verdict {
		case wordAccepted:
			d.Accepted++
		case wordSealed:
			d.Sealed++
		default:
			d.Refused++
		}
		signers.add(view)
		refusals.add(view)
	}
	d.Signers, d.Refusals = signers.sorted(), refusals.sorted()
	return d
}

func newVerdictView(v verdict) verdictView {
	run := v.Run()
	view := verdictView{
		Kind: v.kind, Name: v.Name, Title: v.Title, ID: string(v.Object), Verdict: v.word(), Accepted: v.Accepted, Reason: v.Reason, Hint: v.Hint, Rules: ruleViews(v),
		MergedBy: string(v.mergedBy), Signer: v.Signer, Subject: v.Subject, Issuer: v.Issuer, ProvenTime: v.ProvenTime,
		ClaimedSubject: v.ClaimedSubject, ClaimedIssuer: v.ClaimedIssuer,
		Workflow: run.BuildSignerURI, Repository: run.SourceRepositoryURI, Ref: run.SourceRepositoryRef, Trigger: run.BuildTrigger, Log: v.Log, LogIndex: v.LogIndex,
		Certificate: v.Certificate, Payload: v.Payload, Target: v.Target,
		Attestations: v.attested, Promotion: v.promotes, Ignored: v.Ignored,
	}
	if v.Err != nil {
		view.Message = v.Err.Error()
	}
	if errors.As(v.Err, new(*verify.ClaimError)) {
		view.Hint = "the extensions of the signer keep other workflows out: compare them with the run that signed, and sign with the one that is meant"
	}
	if view.Verdict == wordSealed {
		view.SealedBy = string(v.sealedBy)
	}
	return view
}

func (d Document) outcome() error {
	if d.Refused > 0 {
		return term.WithStatus(term.ExitRefused, nil)
	}
	return nil
}

// signerView counts the objects that one identity signed, whether or not it is a signer of the policy. The empty identity counts the objects
// whose signer is not proven.
type signerView struct {
	Subject  string    `json:"subject"`
	Issuer   string    `json:"issuer"`
	Accepted int       `json:"accepted"`
	Refused  int       `json:"refused"`
	Sealed   int       `json:"sealed"`
	First    time.Time `json:"first,omitzero"` // proven
	Last     time.Time `json:"last,omitzero"`
}

// signerSums counts verdicts by identity.
type signerSums []signerView

func (s *signerSums) add(v verdictView) {
	i := slices.IndexFunc(*s, func(s signerView) bool { return s.Subject == v.Subject && s.Issuer == v.Issuer })
	if i < 0 {
		i = len(*s)
		*s = append(*s, signerView{Subject: v.Subject, Issuer: v.Issuer})
	}
	(*s)[i].add(v)
}

// sorted returns the sums. The identity with the most objects is first, and the empty identity last.
func (s signerSums) sorted() []signerView {
	sums := append([]signerView{}, s...)
	slices.SortFunc(sums, func(a, b signerView) int {
		return cmp.Or(cmp.Compare(min(len(b.Subject), 1), min(len(a.Subject), 1)), cmp.Compare(b.total(), a.total()),
			cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Issuer, b.Issuer))
	})
	return sums
}

func (s *signerView) add(v verdictView) {
	switch v.Verdict {
	case wordAccepted:
		s.Accepted++
	case wordSealed:
		s.Sealed++
	default:
		s.Refused++
	}
	if s.First.IsZero() || v.ProvenTime.Before(s.First) {
		s.First = v.ProvenTime
	}
	if v.ProvenTime.After(s.Last) {
		s.Last = v.ProvenTime
	}
}

func (s *signerView) total() int { return s.Accepted + s.Refused + s.Sealed }
