//go:build mutation

package reconcile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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
	const most, part = 200, 10 // histories, and those of one run of the binary
	binary := filepath.Join(t.TempDir(), "reconcile.test")
	gooverlay.Build(t, gooverlay.Mutate(t, root, "EFFECT_PROTECTION_OFF", effectMutations()), "test", "-c", "-vet=off", "-o", binary, ".")
	for _, m := range effectMutations() {
		t.Run(strings.ReplaceAll(m.Name, " ", "_"), func(t *testing.T) {
			var out []byte
			for first := 0; first < most; first += part {
				cmd := exec.CommandContext(t.Context(), binary, "-test.run", "^TestGuardedEffectsStay$", "-effect-seeds", strconv.Itoa(part), "-effect-first", strconv.Itoa(first))
				cmd.Env = append(os.Environ(), "EFFECT_PROTECTION_OFF="+m.Name)
				var err error
				if out, err = cmd.CombinedOutput(); err != nil && strings.Contains(string(out), "after ") {
					t.Logf("found by %d of the seeds %d to %d", strings.Count(string(out), "--- FAIL: TestGuardedEffectsStay/"), first, first+part-1)
					return
				}
			}
			t.Errorf("got no changed effect with %d seeds:\n%s", most, out)
		})
	}
}
