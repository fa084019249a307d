package reconcile_test

import (
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
)

// TestBootWhileANodeIsOffline changes the address of a running machine while another node is offline. A reboot shows on the machine's own node; a process that nothing
// explains there is looked at once, and again when the node is back.
func TestBootWhileANodeIsOffline(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		then         func(l *lab)
		waits, after string // while the node is offline, and when it is back
	}{
		"reboot": {func(l *lab) { l.byPerson("POST", webPath+"/status/reboot") }, "", ""},
		"a start of a stop": {func(l *lab) {
			l.byPerson("POST", webPath+"/status/stop")
			l.byPerson("POST", webPath+"/status/start")
		}, "", ""},
		"a start that no task shows": {func(l *lab) {
			l.ok(l.sim.SetRunning(201, false))
			l.ok(l.sim.SetRunning(201, true))
		}, notKnown + "ipconfig0", notKnown + "ipconfig0"},
	} {
		t.Run(name, func(t *testing.T) {
			runLabOn(t, pvesim.Options{Nodes: []string{"pve1", "pve2", "pve3"}}, func(t *testing.T, l *lab) {
				l.files["web.yaml"] = cloudInitVM("10.0.20.11/24", "never")
				l.push("one guest", alice)
				defer l.start()()
				l.converge()
				time.Sleep(5 * time.Minute)
				l.files["web.yaml"] = cloudInitVM("10.0.20.99/24", "never")
				l.push("another address", alice)
				eventually(l, "the change to wait", func() bool { return l.waiting(201) == waitsForStart+"ipconfig0" })
				l.sim.StopNode("pve3")
				time.Sleep(5 * time.Minute)
				test.then(l)
				time.Sleep(10 * time.Minute)
				if got := l.waiting(201); got != test.waits {
					t.Errorf("got %q while a node is offline, want %q", got, test.waits)
				}
				l.sim.ResetCounters()
				time.Sleep(time.Hour)
				if got := l.sim.Counters().Routes["GET /nodes/{node}/tasks"]; got > 2 {
					t.Errorf("got %d lists of tasks in an hour in which nothing happened, want none", got)
				}
				l.sim.StartNode("pve3")
				time.Sleep(10 * time.Minute)
				if got := l.waiting(201); got != test.after {
					t.Errorf("got %q when the node is back, want %q", got, test.after)
				}
			})
		})
	}
}
