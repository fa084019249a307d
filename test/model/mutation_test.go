//go:build mutation

package model_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gitops-agent/internal/gooverlay"
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
	sources := make(map[string]string, len(changed))
	for file, source := range changed {
		sources[filepath.Join(root, file)] = source
	}
	binary := filepath.Join(t.TempDir(), "model.test")
	gooverlay.Build(t, sources, "test", "-c", "-vet=off", "-o", binary, ".")
	return binary
}
