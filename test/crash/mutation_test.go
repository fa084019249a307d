//go:build integration && mutation

package crash

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gitops-agent/internal/gooverlay"
)

// protectionOff is the environment variable that names the mutation of an agent.
const protectionOff = "CRASH_PROTECTION_OFF"

// batch is how many worlds run at once.
const batch = 4

// TestTheHarnessFindsEveryMutation removes each protection of the agent, one at a time, and fails if the harness does not find what goes wrong then.
//
// Run it with go test -v -tags 'integration mutation' -timeout 2h -run TestTheHarnessFindsEveryMutation ./test/crash.
func TestTheHarnessFindsEveryMutation(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	var all []gooverlay.Mutation
	for _, m := range mutations() {
		all = append(all, m.Mutation)
	}
	programs := buildChanged(t, gooverlay.Mutate(t, root, protectionOff, all))
	for _, m := range mutations() {
		t.Run(strings.ReplaceAll(m.Name, " ", "_"), func(t *testing.T) {
			var text string
			for first := 0; first < m.worlds; first += batch {
				cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestCrash$", "-test.timeout", "30m", "-crash-programs", programs,
					"-crash-first", fmt.Sprint(first), "-crash-seeds", fmt.Sprint(batch), "-crash-rounds", "3", "-crash-kills", "5", "-crash-moment", m.moment)
				cmd.Env = append(os.Environ(), protectionOff+"="+m.Name)
				out, err := cmd.CombinedOutput()
				text = string(out)
				if err != nil && strings.Contains(text, m.want) {
					failed := regexp.MustCompile(`--- FAIL: TestCrash/([0-9]+)`).FindAllString(text, -1)
					fmt.Fprintf(os.Stderr, "crash harness: without %q, %d of %d worlds fail\n", m.Name, len(failed), first+batch)
					return
				}
			}
			t.Errorf("got no world of %d with %q, the last ones:\n%s", m.worlds, m.want, text[max(0, len(text)-32<<10):])
		})
	}
}
