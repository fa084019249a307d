//go:build integration

package encrypted

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestFreshFiles opens files that the installed age and sops make now.
func TestFreshFiles(t *testing.T) {
	t.Parallel()
	script, err := filepath.Abs("testdata/make.sh")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), script, dir).CombinedOutput(); err != nil {
		t.Fatalf("make the files: %v\n%s", err, out)
	}
	opens(t, dir)
}
