package policy

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestFieldsPage: docs/policies.md has the table of every type. The error of a missing table is the table.
func TestFieldsPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range structTypes() {
		var b strings.Builder
		fmt.Fprintf(&b, "| field of %s | type | |\n|---|---|---|\n", of.name)
		for _, f := range of.fields {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.name, f.kind, f.doc)
		}
		if !strings.Contains(string(page), b.String()) {
			t.Errorf("docs/policies.md lacks the table of %s:\n%s", of.name, b.String())
		}
	}
}
