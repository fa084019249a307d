package audit

import (
	"fmt"
	"strings"
	"testing"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/verify"
)

// longRange has n refusals without a signature, two of a stranger, one sealed and one accepted commit.
func longRange(n int) Result {
	var verdicts []verdict
	add := func(v verify.Verdict, sealedBy string) {
		v.Object = v.Object + "0000000000"
		if v.Reason != "" {
			v.Err = fmt.Errorf("reject %s", v.Object)
		}
		verdicts = append(verdicts, verdict{kind: "commit", Verdict: v, sealedBy: v.Object[:len(sealedBy)]})
	}
	for range n {
		add(verify.Verdict{Object: "a", Reason: verify.ReasonUnsigned}, "")
	}
	for range 2 {
		add(verify.Verdict{Object: "b", Reason: verify.ReasonWrongIdentity, Subject: "mallory", Issuer: "https://issuer.test"}, "")
	}
	add(verify.Verdict{Object: "c", Reason: verify.ReasonUnsigned}, "s")
	add(verify.Verdict{Object: "d", Accepted: true, Subject: "alice", Issuer: "https://issuer.test"}, "")
	return Result{document: newDocument("A..B", verdicts)}
}

// A long range is summed up by reason and identity. With words, the verdicts that they select are printed; with All, every one.
func TestListing(t *testing.T) {
	t.Parallel()
	const long = maxListed + 30
	rows := func(l Listing, n int, explain bool) (rows, explanations int, text string) {
		r := longRange(n)
		r.listing = l
		var b strings.Builder
		r.WriteText(&b, explain)
		for line := range strings.Lines(b.String()) {
			switch word, _, _ := strings.Cut(line, " "); word {
			case wordAccepted, wordRefused, wordSealed:
				rows++
			case "commit":
				explanations++
			}
		}
		return rows, explanations, b.String()
	}
	for name, test := range map[string]struct {
		listing            Listing
		n                  int
		rows, explanations int
		words              []string
	}{
		"short":     {Listing{}, 2, 6, 5, nil},
		"long":      {Listing{}, long, 0, examples + 3, []string{"80       unsigned", "2        wrong-identity  mallory", "a000000000 a000000000 a000000000", "77 more", "--all or --only"}},
		"all":       {Listing{All: true}, long, long + 4, long + 3, nil},
		"accepted":  {Listing{Only: []string{wordAccepted}}, long, 1, 0, []string{"1 accepted, 82 refused, 1 sealed"}},
		"a_reason":  {Listing{Only: []string{string(verify.ReasonWrongIdentity)}}, long, 2, 2, nil},
		"two_words": {Listing{Only: []string{wordSealed, string(verify.ReasonWrongIdentity)}}, long, 3, 3, nil},
		"none":      {Listing{Only: []string{string(verify.ReasonDenied)}}, long, 0, 0, []string{"82 refused"}},
	} {
		got, explanations, text := rows(test.listing, test.n, true)
		if got != test.rows || explanations != test.explanations {
			t.Errorf("%s: got %d rows and %d explanations, want %d and %d:\n%s", name, got, explanations, test.rows, test.explanations, text)
		}
		for _, word := range test.words {
			if !strings.Contains(text, word) {
				t.Errorf("%s: got\n%s\nwant %q in it", name, text, word)
			}
		}
	}
	if err := (Listing{Only: []string{"refusd"}}).check(); err == nil || !strings.Contains(err.Error(), "refusd") {
		t.Errorf("got %v for an unknown word, want an error that names it", err)
	}
}

// The JSON document has the selected verdicts and the counts of all.
func TestDocumentHasTheSelectedVerdicts(t *testing.T) {
	t.Parallel()
	r := longRange(5)
	r.listing = Listing{Only: []string{wordAccepted}}
	d := r.Document()
	if len(d.Verdicts) != 1 || d.Refused != 7 || len(d.Refusals) != 2 || d.Refusals[0].Count != 5 || len(d.Refusals[0].Examples) != examples {
		t.Errorf("got %+v, want one verdict, and the counts of nine", d)
	}
	if len(longRange(5).Document().Verdicts) != 9 {
		t.Errorf("got %d verdicts without a selection, want 9", len(longRange(5).Document().Verdicts))
	}
}

// The document that is written verdict by verdict is the Document.
func TestWriteJSONWritesTheDocument(t *testing.T) {
	t.Parallel()
	for _, l := range []Listing{{}, {Only: []string{wordAccepted}}, {Only: []string{string(verify.ReasonDenied)}}} {
		r := longRange(5)
		r.listing = l
		var want, got strings.Builder
		if err := term.WriteJSON(&want, r.Document()); err != nil {
			t.Fatal(err)
		}
		if err := r.WriteJSON(&got); err != nil || got.String() != want.String() {
			t.Errorf("%v: got %q and %v, want %q", l, got.String(), err, want.String())
		}
	}
}
