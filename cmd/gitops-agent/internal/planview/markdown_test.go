package planview

import (
	"regexp"
	"strings"
	"testing"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

func TestMarkdownCode(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"plain":     {"2048", "`2048`"},
		"nothing":   {"", ""},
		"pipe":      {"a|b", "`a\\|b`"},
		"backtick":  {"a`b", "`` a`b ``"},
		"backticks": {"a``b`", "``` a``b` ```"},
		"newline":   {"a\nb", "`a b`"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := markdownCode(test.text); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// Messages contain names and values from manifests and the cluster. In a comment they must not create links, mentions or markup.
func TestMarkdownText(t *testing.T) {
	t.Parallel()
	got := markdownText("<img src=x> [a](b) @team | # *x* https://evil.example #12 \n`y`")
	for _, bad := range []string{"<img", "[a]", "@team", "\n", " | ", " *x*", "://", "#12"} {
		if strings.Contains(got, bad) {
			t.Errorf("got %q, want no %q in it", got, bad)
		}
	}
}

// A guest's name and node are untrusted too: in the heading of a section they are HTML, in the table Markdown.
func TestMarkdownEscapesGuests(t *testing.T) {
	t.Parallel()
	hostile := "</summary></details><script>alert(1)</script> | @team `"
	d := Document{Cluster: hostile, Revision: hostile, Basis: BasisWorkingCopy}
	d.add(guestView{Action: actionBlocked, GuestName: report.GuestName{Kind: guest.VirtualMachine, Name: hostile, Node: hostile}, Origin: hostile, Conditions: []plan.Condition{
		{Type: plan.Blocked, Reason: reason.Name(hostile), Message: hostile, Hint: hostile},
	}})
	var out strings.Builder
	if err := WriteMarkdown(&out, d); err != nil {
		t.Fatal(err)
	}
	spans := regexp.MustCompile("(?s)``.*?``") // code spans, which contain no markup
	text := spans.ReplaceAllString(out.String(), "")
	for _, bad := range []string{"<script", "@team"} {
		if strings.Contains(text, bad) {
			t.Errorf("got %q outside of code in\n%s", bad, text)
		}
	}
	if got := strings.Count(text, "</details>"); got != 1 {
		t.Errorf("got %d ends of sections, want 1", got)
	}
}

// The code span of any value is one line and one cell of a table, and ends at its closing fence.
func FuzzMarkdownCode(f *testing.F) {
	f.Add("a`b|c\n``")
	f.Fuzz(func(t *testing.T, text string) {
		got := markdownCode(text)
		if text == "" {
			return
		}
		fence := got[:len(got)-len(strings.TrimLeft(got, "`"))]
		inner := strings.TrimSuffix(strings.TrimPrefix(got, fence), fence)
		if strings.ContainsAny(got, "\n\r") || fence == "" || strings.Contains(inner, fence) || strings.Contains(strings.ReplaceAll(got, `\|`, ""), "|") {
			t.Errorf("got %q for %q, want one code span in one cell", got, text)
		}
	})
}
