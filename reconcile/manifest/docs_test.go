package manifest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/manifest"
)

var reference = filepath.FromSlash("../../docs/manifests.md")

// TestReference keeps the tables of the reference as the fields are; -update rewrites them.
func TestReference(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	got := string(text)
	for _, kind := range append([]string{"Cluster", "GuestClass", "VirtualMachine", "Container", "GuestSet", "Image", "Policy"}, objectKinds()...) {
		begin, end := "<!-- fields of "+kind+" -->\n", "<!-- end -->\n"
		before, rest, found := strings.Cut(got, begin)
		_, after, closed := strings.Cut(rest, end)
		if !found || !closed {
			t.Fatalf("got no section %q in %s, want one", begin, reference)
		}
		got = before + begin + fieldTable(kind) + end + after
	}
	golden(t, reference, []byte(got))
}

// objectKinds returns the names of the kinds of package kinds.
func objectKinds() []string {
	var names []string
	for _, k := range kinds.All() {
		names = append(names, string(k.Name))
	}
	return names
}

func fieldTable(kind string) string {
	var b strings.Builder
	b.WriteString("\n| Field | What it is | Proxmox key |\n|---|---|---|\n")
	for _, row := range manifest.Rows(kind) {
		native := ""
		if row.Native != "" {
			native = "`" + row.Native + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", row.Path, strings.ReplaceAll(row.Doc, "|", `\|`), native)
	}
	return b.String() + "\n"
}

// TestReferenceExamples parses every YAML block of the reference, so that what users copy works.
func TestReferenceExamples(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```yaml\n")[1:]
	if len(blocks) < 3 {
		t.Fatalf("got %d blocks, want some", len(blocks))
	}
	for i, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		files := []manifest.File{{Path: fmt.Sprintf("block-%d.yaml", i+1), Data: []byte(code)}}
		if !strings.Contains(code, "kind: Cluster") {
			files = append(files, manifest.File{Path: "cluster.yaml", Data: []byte(clusterManifest)})
		}
		if _, err := manifest.Parse(files); err != nil {
			t.Errorf("got problems, want none:\n%v", err)
		}
	}
}
