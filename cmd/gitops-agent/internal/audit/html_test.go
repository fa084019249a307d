package audit

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/verify"
)

// pageOf returns the page of an audit.
func pageOf(t *testing.T, r Result) string {
	t.Helper()
	var b strings.Builder
	if err := r.WriteHTML(&b, "v1.2.3", time.Unix(1_700_000_000, 0)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Refusals come first, and of these what is unsigned. Texts of commits and certificates are escaped, and the page loads nothing.
func TestHTML(t *testing.T) {
	t.Parallel()
	const markup = `<script>alert(1)</script>`
	object := func(digit string, v verify.Verdict) verdict {
		v.Object = gitsource.ID(strings.Repeat(digit, 40))
		if v.Reason != "" {
			v.Err = errors.New("refused " + markup)
		}
		return verdict{kind: kindCommit, Verdict: v}
	}
	sealed := object("4", verify.Verdict{Reason: verify.ReasonUnsigned})
	sealed.sealedBy = "5555555555555555555555555555555555555555"
	verdicts := []verdict{
		object("1", verify.Verdict{Accepted: true, Subject: "alice" + markup, Issuer: "https://issuer.test", ProvenTime: time.Unix(1_600_000_000, 0), Title: markup + "\x1b\u202e"}),
		object("2", verify.Verdict{Reason: verify.ReasonOnlineOnly, ClaimedSubject: "mallory" + markup, Hint: markup}),
		object("3", verify.Verdict{Reason: verify.ReasonUnsigned, Title: `" onmouseover="x`}),
		sealed,
	}
	document := newDocument(markup+"..B", verdicts)
	document.NotAudited = notAudited{sides: 7}.view()
	got := pageOf(t, Result{document: document})
	if regexp.MustCompile(`(?i)<script|\x1b|\x{202e}|" onmouseover="|<link|src=|@import|url\(`).MatchString(got) {
		t.Errorf("got unescaped text, or a reference to another file, in\n%s", got)
	}
	last := 0
	for _, part := range []string{
		"1 accepted, 2 refused, 1 sealed", "7 commits of side branches not audited", "v1.2.3, 2023-11-14T22:13:20Z", "Refused (2)", strings.Repeat("3", 40), strings.Repeat("2", 40),
		"mallory&lt;script&gt;", "(unproven)", "Sealed: ", strings.Repeat("4", 40), "sealed by commit 5555", "Accepted (1)", "2020-09-13T12:26:40Z", "not proven",
	} {
		at := strings.Index(got[last:], part)
		if at < 0 {
			t.Fatalf("got no %q after %q in\n%s", part, got[:last], got)
		}
		last += at
	}
}

// A section of a long range has the first objects and says how many are left out, unless all are wanted.
func TestHTMLOfALongRange(t *testing.T) {
	t.Parallel()
	for all, want := range map[bool]int{false: maxSection, true: maxSection + 20} {
		r := longRange(maxSection + 18) // and two of a stranger
		r.listing.All = all
		got := pageOf(t, r)
		before, _, _ := strings.Cut(got, "Sealed: ")
		if rows := strings.Count(before, "<td>commit <code>"); rows != want || strings.Contains(got, "--all lists every one") == all {
			t.Errorf("all %t: got %d rows, want %d, and a note that some are left out only without all", all, rows, want)
		}
	}
}
