package kinds

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestTrustPageNamesEveryKind compares the kinds with the table of docs/trust.md, which says what a stolen token can do with the objects of each.
func TestTrustPageNamesEveryKind(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/trust.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Pools and other objects\n")
	section, _, _ = strings.Cut(section, "\n## ")
	said := make(map[string]string)
	for _, row := range regexp.MustCompile(`(?m)^\| (.*) \|.*\| (.*) \|$`).FindAllStringSubmatch(section, -1) {
		for _, name := range regexp.MustCompile("`([A-Z][A-Za-z]+)`").FindAllStringSubmatch(row[1], -1) {
			said[name[1]] = strings.TrimSpace(row[2])
		}
	}
	for _, k := range All() {
		if said[string(k.Name)] == "" {
			t.Errorf("%s: got no row in docs/trust.md, want what a stolen token can do", k.Name)
		}
		delete(said, string(k.Name))
	}
	delete(said, "Image")
	for name := range said {
		t.Errorf("got a row of %s in docs/trust.md, which is no kind", name)
	}
}
