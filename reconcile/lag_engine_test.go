package reconcile_test

import (
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/observe"
)

// TestListOfGuestsLagsBehindAStart reads a guest right after the agent has started and stopped it, as a new process does, from a cluster whose list of guests is updated
// every ten seconds. The guest itself decides.
func TestListOfGuestsLagsBehindAStart(t *testing.T) {
	runLabOn(t, pvesim.Options{ResourcesPeriod: 10 * time.Second}, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201)
		time.Sleep(11 * time.Second)
		l.push("a guest", alice)
		defer l.start()()
		l.converge()
		for state, want := range map[string]guest.Status{"running": guest.StatusRunning, "stopped": guest.StatusStopped} {
			l.files["web.yaml"] = vmYAML("web-1", 201, "state: "+state, "lifecycle: {forceStop: true, rebootPolicy: auto}")
			l.push(state, alice)
			eventually(l, state, func() bool {
				if l.sim.Running(201) != (want == guest.StatusRunning) {
					return false
				}
				seen, err := observe.ReadAll(l.Context(), l.cluster, []int{201}, nil, nil)
				l.ok(err)
				if got := seen.Guests[201].Status; got != want {
					t.Errorf("got the guest %s, want %s", got, want)
				}
				return true
			})
			time.Sleep(time.Minute)
		}
	})
}
