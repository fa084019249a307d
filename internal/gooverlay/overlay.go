// Package gooverlay builds programs and tests from changed sources, for tests that show what a check prevents. The sources on disk stay as they are: the
// go command reads the changed ones through its flag -overlay.
package gooverlay

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Build runs a go command, "build" or "test", in the current folder with changed sources. Sources are texts by absolute path; a path without a
// file adds one. A failure ends the test.
func Build(t testing.TB, sources map[string]string, command string, args ...string) {
	t.Helper()
	dir, replace := t.TempDir(), make(map[string]string, len(sources))
	for path, source := range sources {
		changed := filepath.Join(dir, fmt.Sprintf("%d_%s", len(replace), filepath.Base(path)))
		replace[path] = changed
		write(t, changed, []byte(source))
	}
	config, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	write(t, overlay, config)
	args = append([]string{command, "-overlay", overlay}, args...)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", command, err, out)
	}
}

func write(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
