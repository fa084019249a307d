package pvesim

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestDocsNameTests checks that every test in the documentation exists.
func TestDocsNameTests(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "internals", "simulator.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	exists := map[string]bool{}
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(src, -1) {
			exists[string(m[1])] = true
		}
	}
	named := regexp.MustCompile("`(Test\\w+)`").FindAllSubmatch(doc, -1)
	for _, m := range named {
		if !exists[string(m[1])] {
			t.Errorf("docs/internals/simulator.md: got %s, want a test of this package", m[1])
		}
	}
	if len(named) < 60 {
		t.Errorf("docs/internals/simulator.md: got %d named tests, want at least 60", len(named))
	}
}
