package policy

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite docs/policy-fields.md from the types")

// TestFieldsPage compares docs/policy-fields.md with the page that is generated from the types.
func TestFieldsPage(t *testing.T) {
	t.Parallel()
	const page = "../../docs/policy-fields.md"
	var b strings.Builder
	b.WriteString("# What policies see\n\nThe fields of each type that expressions of [policies](policies.md) see, generated from the program (do not edit).\n")
	for _, of := range structTypes() {
		fmt.Fprintf(&b, "\n| field of %s | type | |\n|---|---|---|\n", of.name)
		for _, f := range of.fields {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.name, f.kind, f.doc)
		}
	}
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(b.String(), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("docs/policy-fields.md differs from the types, run go test ./reconcile/policy -run FieldsPage -update (-want +got):\n%s", diff)
	}
}
