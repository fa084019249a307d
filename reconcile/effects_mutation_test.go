//go:build mutation

package reconcile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gitops-agent/internal/gooverlay"
)

// TestEffectsFindEveryMutation removes each protection, one at a time, and fails if the guarded effects stay without it. The source on disk does not change: the compiler reads the changed
// files through an overlay, and the environment selects the protection that is off.
//
// Run it with go test -tags mutation -run TestEffectsFindEveryMutation ./reconcile.
func TestEffectsFindEveryMutation(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "reconcile.test")
	gooverlay.Build(t, gooverlay.Mutate(t, root, "EFFECT_PROTECTION_OFF", effectMutations()), "test", "-c", "-vet=off", "-o", binary, ".")
	for _, m := range effectMutations() {
		t.Run(strings.ReplaceAll(m.Name, " ", "_"), func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), binary, "-test.run", "^TestGuardedEffectsStay$", "-test.failfast", "-effect-seeds", "200")
			cmd.Env = append(os.Environ(), "EFFECT_PROTECTION_OFF="+m.Name)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "after ") {
				t.Errorf("got no changed effect:\n%s", out)
			}
			for line := range strings.Lines(string(out)) {
				if at := strings.Index(line, "_test.go:"); at >= 0 {
					t.Log(line[at:min(len(line), at+300)])
					break
				}
			}
		})
	}
}
