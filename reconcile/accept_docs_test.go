package reconcile_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gitops-agent/reconcile/report"
)

// TestRefusedReasonsHaveTheirRemedy checks that docs/verify.md has a heading with a remedy for each reason that errors and metrics contain.
func TestRefusedReasonsHaveTheirRemedy(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "docs", "verify.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## Reasons and remedies\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if !found {
		t.Fatal("docs/verify.md: got no section of reasons and remedies, want one")
	}
	for _, reason := range report.RefusedReasons() {
		paragraph := regexp.MustCompile(`(?m)^### ` + regexp.QuoteMeta(reason) + `\n[^#\s]`)
		if n := len(paragraph.FindAllString(section, -1)); n != 1 {
			t.Errorf("docs/verify.md: got %d paragraphs ### %s, want one", n, reason)
		}
	}
}
