//go:build mutation

package model_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestTheModelFindsEveryMutation removes each protection, one at a time, and fails if the search finds no violation without it. The source on disk does
// not change: the compiler reads the changed files through an overlay, and the environment selects the protection that is off.
//
// Run it with go test -tags mutation -run TestTheModelFindsEveryMutation ./test/model.
func TestTheModelFindsEveryMutation(t *testing.T) {
	binary := buildMutated(t)
	for _, m := range mutations() {
		t.Run(strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), binary, "-test.run", "^TestModel$", "-scenario", m.scenario, "-model-paths", "0")
			cmd.Env = append(os.Environ(), "MODEL_PROTECTION_OFF="+m.name)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), m.want) || !strings.Contains(string(out), "-choices") {
				t.Errorf("got no violation with %q:\n%s", m.want, out)
			}
			t.Logf("%s", out)
		})
	}
}

// buildMutated compiles the tests of this package with a switch at each protection.
func buildMutated(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	changed := map[string]string{}
	for _, m := range mutations() {
		source, known := changed[m.file]
		if !known {
			source = read(t, filepath.Join(root, m.file))
		}
		if n := strings.Count(source, m.code); n != 1 {
			t.Fatalf("%s: got %d times %q in %s, want once", m.name, n, m.code, m.file)
		}
		changed[m.file] = strings.Replace(source, m.code, strings.ReplaceAll(m.instead, "OFF", "(protectionOff == "+strconv.Quote(m.name)+")"), 1)
		dir := filepath.Dir(m.file)
		changed[filepath.Join(dir, "protection_off.go")] = "package " + filepath.Base(dir) + "\n\nimport \"os\"\n\nvar protectionOff = os.Getenv(\"MODEL_PROTECTION_OFF\")\n"
	}
	dir, replace := t.TempDir(), map[string]string{}
	for file, source := range changed {
		copied := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		replace[filepath.Join(root, file)] = copied
		if err := os.WriteFile(copied, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "model.test")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}
