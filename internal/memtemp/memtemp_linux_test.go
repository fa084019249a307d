package memtemp

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestFolder: a folder that was chosen for the tests is theirs, and otherwise they have memory if there is enough.
func TestFolder(t *testing.T) {
	t.Parallel()
	if os.Getenv("MEMTEMP_PRINT") != "" {
		_, _ = os.Stdout.WriteString("folder " + os.TempDir() + "\n")
		return
	}
	dir := t.TempDir()
	byDefault := "/tmp"
	if usable() {
		byDefault = memory
	}
	for chosen, want := range map[string]string{dir: dir, "": byDefault} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestFolder$")
		cmd.Env = append(os.Environ(), "MEMTEMP_PRINT=1", "TMPDIR="+chosen)
		if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), "folder "+want+"\n") {
			t.Errorf("TMPDIR=%q: got %q and the error %v, want %s", chosen, out, err, want)
		}
	}
}
