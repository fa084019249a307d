package reconcile_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

var updateRefusals = flag.Bool("update", false, "rewrite docs/refusals.md from the reasons")

const refusalsHead = `# Refusals

The reasons for which a commit is refused, generated from the program (do not edit). Errors, metrics, status and ` + "`gitops-agent verify`" + ` use these words. "Sign again" is
` + "`git commit --amend --no-edit --allow-empty -S`" + ` for the newest commit; the refusal has the commands for others. [verify.md](verify.md) has the rules.
`

const contentHead = `
## Refusals of the content

The commit is signed correctly, and its content cannot be accepted. An audit does not report these reasons; ` + "`plan --ref` and `verify --since-accepted`" + ` do.
`

// TestRefusalsPage compares docs/refusals.md with the page that is generated from the reasons.
func TestRefusalsPage(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	page.WriteString(refusalsHead)
	for _, r := range verify.Reasons() {
		page.WriteString("\n### " + string(r) + "\n" + sentence(r.Meaning()) + " " + sentence(r.Hint()))
		if docs := r.Docs(); docs != "" {
			page.WriteString(" " + docs)
		}
		page.WriteString("\n")
	}
	page.WriteString(contentHead)
	for _, r := range append(report.RefusedReasons(), report.WaitingStatement) {
		if text := report.RefusalDocs(r); text != "" {
			page.WriteString("\n### " + r + "\n" + text + "\n")
		}
	}
	path := filepath.Join("..", "docs", "refusals.md")
	if *updateRefusals {
		if err := os.WriteFile(path, []byte(page.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page.String(), string(text)); diff != "" {
		t.Errorf("docs/refusals.md differs from the reasons, run go test ./reconcile -run RefusalsPage -update (-want +got):\n%s", diff)
	}
}

// sentence returns a line as a sentence in Markdown. A line that begins with a command stays as it is.
func sentence(line string) string {
	line = strings.ReplaceAll(line, "<", `\<`)
	if first, rest := line[:1], line[1:]; !strings.HasPrefix(line, "git ") {
		line = string(unicode.ToUpper(rune(first[0]))) + rest
	}
	return strings.TrimSuffix(line, ".") + "."
}
