package manifest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gitops-agent/reconcile/manifest"
)

// TestAdoptGuide parses the manifests of the guide as one repository, as its reader types them.
func TestAdoptGuide(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.FromSlash("../../docs/adopt.md"))
	if err != nil {
		t.Fatal(err)
	}
	var files []manifest.File
	for i, block := range strings.Split(string(text), "```yaml\n")[1:] {
		code, _, _ := strings.Cut(block, "```")
		files = append(files, manifest.File{Path: fmt.Sprintf("block-%d.yaml", i+1), Data: []byte(code)})
	}
	_, session, _ := strings.Cut(string(text), "$ cat guests/virtualmachine-db-2.yaml\n")
	shown, _, _ := strings.Cut(session, "```")
	files = append(files, manifest.File{Path: "guests/virtualmachine-db-2.yaml", Data: []byte(shown)})
	set, err := manifest.Parse(files)
	if err != nil {
		t.Fatalf("got problems, want none:\n%v", err)
	}
	desired, err := set.Lower(nil)
	if err != nil || len(desired) != 1 || desired[0].VMID != 1002 || desired[0].Lifecycle.Destroy != "deny" {
		t.Errorf("got %+v and %v, want guest 1002 with the class's guard", desired, err)
	}
}
