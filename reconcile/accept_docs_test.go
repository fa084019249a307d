package reconcile_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gitops-agent/reconcile/report"
)

// TestRefusedReasonsHaveTheirRemedy checks that docs/verify.md, or docs/refusals.md, has a heading with a remedy for each reason that errors and metrics contain.
func TestRefusedReasonsHaveTheirRemedy(t *testing.T) {
	t.Parallel()
	var pages strings.Builder
	for _, name := range []string{"verify.md", "refusals.md"} {
		page, err := os.ReadFile(filepath.Join("..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		pages.Write(page)
	}
	for _, reason := range report.RefusedReasons() {
		paragraph := regexp.MustCompile(`(?m)^### ` + regexp.QuoteMeta(reason) + `\n[^#\s]`)
		if n := len(paragraph.FindAllString(pages.String(), -1)); n != 1 {
			t.Errorf("docs/verify.md and docs/refusals.md: got %d paragraphs ### %s, want one", n, reason)
		}
	}
}
