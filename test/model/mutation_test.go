//go:build mutation

package model_test

import (
	"os"
	"os/exec"
	"path/filepath"
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
		t.Run(strings.ReplaceAll(m.Name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), binary, "-test.run", "^(TestModel|TestTwoManagers)$", "-scenario", m.scenario, "-model-paths", "0")
			cmd.Env = append(os.Environ(), "MODEL_PROTECTION_OFF="+m.Name)
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
	var all []gooverlay.Mutation
	for _, m := range mutations() {
		all = append(all, m.Mutation)
	}
	sources := gooverlay.Mutate(t, root, "MODEL_PROTECTION_OFF", all)
	binary := filepath.Join(t.TempDir(), "model.test")
	gooverlay.Build(t, sources, "test", "-c", "-vet=off", "-o", binary, ".")
	return binary
}
