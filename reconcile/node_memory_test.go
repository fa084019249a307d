package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/reason"
)

// TestNodeWithoutTheMemory wants machines with more memory than their node has: one that does not exist, and one that does and is stopped. Their starts are held with the
// figures, and are made when the manifest says less.
func TestNodeWithoutTheMemory(t *testing.T) {
	t.Parallel()
	for _, exists := range []bool{false, true} {
		t.Run(map[bool]string{true: "exists", false: "new"}[exists], func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				vm := func(size, state string) string {
					return vmYAML("web-1", 201, "memory: {size: "+size+"}", "state: "+state)
				}
				if exists {
					l.files["web.yaml"] = vm("1Gi", "stopped")
					l.push("one guest", alice)
				}
				if exists {
					stop := l.start()
					l.converge()
					stop()
				}
				l.files["web.yaml"] = vm("4Ti", "running")
				l.push("more than there is", alice)
				defer l.start()()
				eventually(l, "the hold", func() bool {
					for _, g := range l.engine.Report().Guests {
						for _, h := range g.Held {
							if h.Reason == reason.Impossible && strings.Contains(h.Message, "MiB of memory, since it gets 4194304 MiB") {
								return true
							}
						}
					}
					return false
				})
				time.Sleep(10 * time.Minute)
				if got := l.sim.Effects(201, pvesim.Started); got != 0 {
					t.Errorf("got %d starts, want none", got)
				}
				l.files["web.yaml"] = vm("1Gi", "running")
				l.push("less", alice)
				l.converge()
				if !l.sim.Running(201) {
					t.Error("got the machine stopped, want it to run")
				}
			})
		})
	}
}
