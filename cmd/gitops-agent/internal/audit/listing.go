package audit

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/verify"
)

// A Listing selects the verdicts that a Result prints one by one. The zero value prints the verdicts of a short range, and a summary and examples of a
// long one. The totals always count every verdict.
type Listing struct {
	All  bool     // print every verdict, and explain every refusal
	Only []string // print the verdicts with these words, of OnlyWords; none means all
}

const (
	maxListed = 50 // verdicts that are printed one by one without All or Only
	examples  = 3  // of the refusals with one reason and one identity
)

// OnlyWords are the words for Listing.Only: the verdicts, and the reasons of refusals.
func OnlyWords() []string {
	words := []string{wordAccepted, wordRefused, wordSealed}
	for _, r := range verify.Reasons() {
		words = append(words, string(r))
	}
	return words
}

// check returns an error for a word that Only does not know.
func (l Listing) check() error {
	known := OnlyWords()
	for _, word := range l.Only {
		if !slices.Contains(known, word) {
			return term.UsageErrorf("--only: got %q, want %s, or a reason of docs/refusals.md", word, strings.Join(known[:3], ", "))
		}
	}
	return nil
}

// has reports whether Only selects a verdict.
func (l Listing) has(v verdictView) bool {
	return len(l.Only) == 0 || slices.Contains(l.Only, v.Verdict) || slices.Contains(l.Only, string(v.Reason))
}

// selected returns the verdicts that Only selects, with their positions.
func (l Listing) selected(d Document) iter.Seq2[int, verdictView] {
	return func(yield func(int, verdictView) bool) {
		for i, v := range d.views() {
			if l.has(v) && !yield(i, v) {
				return
			}
		}
	}
}

// isSummary reports whether the verdicts are too many to print each of them.
func (l Listing) isSummary(d Document) bool {
	return !l.All && len(l.Only) == 0 && len(d.all) > maxListed
}

// refusalView counts the refusals with one reason and one identity. The empty identity counts objects whose signer is not proven, by what they claim.
type refusalView struct {
	Reason         verify.Reason `json:"reason"`
	Subject        string        `json:"subject,omitempty"`
	Issuer         string        `json:"issuer,omitempty"`
	ClaimedSubject string        `json:"claimedSubject,omitempty"`
	ClaimedIssuer  string        `json:"claimedIssuer,omitempty"`
	Count          int           `json:"count"`
	Examples       []string      `json:"examples"` // ids, the oldest first
}

// refusalSums counts refusals.
type refusalSums []refusalView

func (s *refusalSums) add(v verdictView) {
	if v.Verdict != wordRefused {
		return
	}
	i := slices.IndexFunc(*s, func(r refusalView) bool {
		return r.Reason == v.Reason && r.Subject == v.Subject && r.Issuer == v.Issuer &&
			r.ClaimedSubject == v.ClaimedSubject && r.ClaimedIssuer == v.ClaimedIssuer
	})
	if i < 0 {
		i = len(*s)
		*s = append(*s, refusalView{
			Reason: v.Reason, Subject: v.Subject, Issuer: v.Issuer, ClaimedSubject: v.ClaimedSubject, ClaimedIssuer: v.ClaimedIssuer, Examples: []string{},
		})
	}
	r := &(*s)[i]
	r.Count++
	if len(r.Examples) < examples {
		r.Examples = append(r.Examples, v.ID)
	}
}

// sorted returns the sums. The most frequent one is first.
func (s refusalSums) sorted() []refusalView {
	sums := append([]refusalView{}, s...)
	slices.SortStableFunc(sums, func(a, b refusalView) int { return b.Count - a.Count })
	return sums
}

// writeRefusals prints one line for each reason and identity, in place of one for each refusal.
func writeRefusals(out io.Writer, refusals []refusalView, p term.Palette) {
	if len(refusals) == 0 {
		return
	}
	t := term.Table{}
	t.AddText("REFUSED", "REASON", "SIGNER", "ISSUER", "EXAMPLES")
	for _, r := range refusals {
		t.AddText(strconv.Itoa(r.Count), string(r.Reason), signerCell(r.Subject, r.ClaimedSubject), signerCell(r.Issuer, r.ClaimedIssuer), shortIDs(r.Examples))
	}
	t.Write(out, p)
	_, _ = fmt.Fprintln(out)
}

// shortIDs returns the first ten digits of each id.
func shortIDs(full []string) string {
	ids := make([]string, len(full))
	for i, id := range full {
		ids[i] = id[:min(len(id), 10)]
	}
	return strings.Join(ids, " ")
}

// orDash returns "-" for an empty cell.
func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// explained returns the positions of the refusals to explain among those that are selected: all of them with All, or else the first examples of each reason
// and identity. It also returns how many are left out.
func (l Listing) explained(d Document) (at []int, leftOut int) {
	type group struct{ verdict, reason, subject, issuer string }
	seen := make(map[group]int)
	for i, v := range l.selected(d) {
		g := group{v.Verdict, string(v.Reason), v.Subject, v.Issuer}
		if v.Verdict == wordAccepted {
			continue
		}
		if seen[g]++; seen[g] > examples && !l.All {
			leftOut++
			continue
		}
		at = append(at, i)
	}
	return at, leftOut
}
