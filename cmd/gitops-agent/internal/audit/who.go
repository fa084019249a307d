package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/gitsource"
	"gitops-agent/verify"
)

// Who is the JSON result of an audit without a policy: who signed, whether or not anyone would accept it.
type Who struct {
	SchemaVersion int            `json:"schemaVersion"`
	Revision      string         `json:"revision"`
	Proven        int            `json:"proven"`   // commits and tags whose signatures prove who signed
	Unproven      int            `json:"unproven"` // those with signatures that prove nothing, or that cannot be read
	Unsigned      int            `json:"unsigned"`
	NotAudited    notAuditedView `json:"notAudited"`
	Signers       []whoSigner    `json:"signers"` // the one with the most objects first
	Claims        []whoClaim     `json:"claims"`  // of the unproven, the most frequent one first
}

// whoSigner counts the objects that an identity provably signed.
type whoSigner struct {
	Subject string    `json:"subject"`
	Issuer  string    `json:"issuer"`
	Count   int       `json:"count"`
	First   time.Time `json:"first"` // proven
	Last    time.Time `json:"last"`
}

// whoClaim counts the objects whose signatures prove nothing for one reason, by the identity that they claim. Anyone can write that identity.
type whoClaim struct {
	Reason         verify.Reason `json:"reason"`
	ClaimedSubject string        `json:"claimedSubject,omitempty"`
	ClaimedIssuer  string        `json:"claimedIssuer,omitempty"`
	Count          int           `json:"count"`
	Examples       []string      `json:"examples"` // ids
}

// RunWho finds who signed the revision. It keeps counts and no verdicts, so a long history needs little memory.
func (a *Audit) RunWho(ctx context.Context) (Who, error) {
	defer a.progress.End()
	chosen, err := a.chosen(ctx)
	if err != nil {
		return Who{}, err
	}
	t := &tally{signers: map[identity]*whoSigner{}, claims: map[claim]*whoClaim{}}
	for _, v := range a.auditTags(ctx, chosen) {
		t.add(v)
	}
	merged := make([]merge, len(chosen.commits))
	err = a.each(ctx, chosen.commits, func(i int, v verdict) {
		merged[i] = merge{v.Object, v.Merged}
		t.add(v)
	})
	if err != nil || chosen.tip == "" {
		return t.who(a.revision), cmp.Or(err, t.failed)
	}
	side, complete, err := a.sideBranches(ctx, chosen.floor, chosen.commits, slices.DeleteFunc(merged, func(m merge) bool { return len(m.other) == 0 }))
	if err != nil {
		return Who{}, err
	}
	missed := notAudited{len(side), !complete}
	if a.sides {
		ids := make([]gitsource.ID, len(side))
		for i, s := range side {
			ids[i] = s.id
		}
		missed.sides, err = 0, a.each(ctx, ids, func(_ int, v verdict) { t.add(v) })
	}
	w := t.who(a.revision)
	w.NotAudited = missed.view()
	return w, cmp.Or(err, t.failed)
}

type (
	identity struct{ subject, issuer string }
	claim    struct {
		identity
		reason verify.Reason
	}
)

// A tally counts verdicts by identity. Several goroutines may add to it.
type tally struct {
	mu       sync.Mutex
	signers  map[identity]*whoSigner
	claims   map[claim]*whoClaim
	unsigned int
	failed   error // the first failure to read
}

func (t *tally) add(v verdict) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case v.Reason == "" && v.Err != nil:
		t.failed = cmp.Or(t.failed, v.Err)
	case v.Reason == verify.ReasonUnsigned:
		t.unsigned++
	case v.Reason != "":
		t.addClaim(v)
	default:
		t.addSigner(v)
	}
}

func (t *tally) addSigner(v verdict) {
	key := identity{v.Subject, v.Issuer}
	s := t.signers[key]
	if s == nil {
		s = &whoSigner{Subject: v.Subject, Issuer: v.Issuer, First: v.ProvenTime, Last: v.ProvenTime}
		t.signers[key] = s
	}
	s.Count++
	if v.ProvenTime.Before(s.First) {
		s.First = v.ProvenTime
	}
	if v.ProvenTime.After(s.Last) {
		s.Last = v.ProvenTime
	}
}

func (t *tally) addClaim(v verdict) {
	key := claim{identity{v.ClaimedSubject, v.ClaimedIssuer}, v.Reason}
	c := t.claims[key]
	if c == nil {
		c = &whoClaim{Reason: v.Reason, ClaimedSubject: v.ClaimedSubject, ClaimedIssuer: v.ClaimedIssuer}
		t.claims[key] = c
	}
	c.Count++
	c.Examples = append(c.Examples, string(v.Object)) // the order of verdicts is not that of the history
	slices.Sort(c.Examples)
	c.Examples = c.Examples[:min(len(c.Examples), examples)]
}

// who returns the counts, sorted.
func (t *tally) who(revision string) Who {
	w := Who{SchemaVersion: term.SchemaVersion, Revision: revision, Unsigned: t.unsigned, Signers: []whoSigner{}, Claims: []whoClaim{}}
	for _, s := range t.signers {
		w.Signers, w.Proven = append(w.Signers, *s), w.Proven+s.Count
	}
	for _, c := range t.claims {
		w.Claims, w.Unproven = append(w.Claims, *c), w.Unproven+c.Count
	}
	slices.SortFunc(w.Signers, func(a, b whoSigner) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Issuer, b.Issuer))
	})
	slices.SortFunc(w.Claims, func(a, b whoClaim) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason),
			cmp.Compare(a.ClaimedSubject, b.ClaimedSubject), cmp.Compare(a.ClaimedIssuer, b.ClaimedIssuer))
	})
	return w
}

// WriteText prints a table of the signers, one of the claims, and the counts.
func (w Who) WriteText(out io.Writer) {
	p := term.NewPalette(out)
	if len(w.Signers) > 0 {
		t := term.Table{}
		t.AddText("SIGNER", "ISSUER", "SIGNED", "FIRST", "LAST")
		for _, s := range w.Signers {
			t.AddText(s.Subject, s.Issuer, strconv.Itoa(s.Count), moment(s.First), moment(s.Last))
		}
		t.Write(out, p)
		_, _ = fmt.Fprintln(out)
	}
	if len(w.Claims) > 0 {
		t := term.Table{}
		t.AddText("NOT PROVEN", "REASON", "CLAIMED SIGNER", "CLAIMED ISSUER", "EXAMPLES")
		for _, c := range w.Claims {
			t.AddText(strconv.Itoa(c.Count), string(c.Reason), orDash(c.ClaimedSubject), orDash(c.ClaimedIssuer), shortIDs(c.Examples))
		}
		t.Write(out, p)
		_, _ = fmt.Fprintln(out)
	}
	_, _ = fmt.Fprintf(out, "%s: %s, %d proven, %d not proven, %d unsigned\n",
		term.Printable(w.Revision), term.Count(len(w.Signers), "signer"), w.Proven, w.Unproven, w.Unsigned)
	writeNotAudited(out, w.NotAudited)
}

// Err returns an error with the status ExitRefused if the history is not whole, or nil: without a policy nothing else is refused.
func (w Who) Err() error {
	if slices.ContainsFunc(w.Claims, func(c whoClaim) bool { return c.Reason == verify.ReasonIncompleteHistory }) {
		return term.WithStatus(term.ExitRefused, errors.New("the history is not whole"))
	}
	return nil
}
