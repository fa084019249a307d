package reconcile_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"gitops-agent/reconcile/report"
)

// TestRefusedReasonsHaveTheirRemedy checks that docs/refusals.md has a heading with a remedy for each reason that errors and metrics contain.
func TestRefusedReasonsHaveTheirRemedy(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "docs", "refusals.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, reason := range report.RefusedReasons() {
		paragraph := regexp.MustCompile(`(?m)^### ` + regexp.QuoteMeta(reason) + `\n[^#\s]`)
		if n := len(paragraph.FindAllString(string(page), -1)); n != 1 {
			t.Errorf("docs/refusals.md: got %d paragraphs ### %s, want one", n, reason)
		}
	}
}
