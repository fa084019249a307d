package reconcile_test

import (
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
)

// TestLooksThatComeLate rolls a machine back to a memory from before its boot while the agent cannot read why its process is another one, or when a start of the agent had ended. Later the
// agent must still know that the address from before the boot runs again.
func TestLooksThatComeLate(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		unread  string        // path of the reading that fails
		byAgent bool          // the agent starts the guest, and not a person; from before that start the reading fails
		rollsAt time.Duration // after the start
		fails   time.Duration // after the rollback
	}{
		"tasks_of_a_rollback":         {"/nodes/pve[0-9]/tasks$", false, 5 * time.Minute, 3 * time.Minute},
		"end_of_the_agents_task":      {"/tasks/UPID.*qmstart", true, 15 * time.Minute, 10 * time.Minute},
		"soon_after_the_agents_start": {"/tasks/UPID.*qmstart", true, 5 * time.Second, 5 * time.Minute},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithTwoNodes(t, func(t *testing.T, l *lab) {
				fail := func() {
					l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.ErrorText, Method: "GET", Path: test.unread, Text: "timeout", Times: -1}))
				}
				l.files["cluster.yaml"], l.files["web.yaml"] = clusterYAML, cloudInitVM("10.0.20.11/24", "never")
				l.push("one guest", alice)
				defer l.start()()
				l.converge()
				time.Sleep(5 * time.Minute)
				l.files["web.yaml"] = cloudInitVM("10.0.20.99/24", "never")
				l.push("another address", alice)
				eventually(l, "a change that waits", func() bool { return l.waiting(201) == waitsForStart+"ipconfig0" })
				l.byPerson("POST", webPath+"/snapshot", "snapname=half", "vmstate=1")
				if test.byAgent {
					fail()
				}
				l.byPerson("POST", webPath+"/status/stop")
				if !test.byAgent {
					l.byPerson("POST", webPath+"/status/start")
				}
				eventually(l, "the start", func() bool { return l.sim.Running(201) })
				time.Sleep(test.rollsAt)
				l.byPerson("POST", webPath+"/snapshot/half/rollback")
				if !test.byAgent {
					fail()
				}
				time.Sleep(test.fails)
				l.sim.ClearFaults()
				time.Sleep(time.Hour)
				if got := l.waiting(201); got != notKnown+"ipconfig0" {
					t.Errorf("got %q waiting, want the address as not known to be in effect", got)
				}
			})
		})
	}
}
