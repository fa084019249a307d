package reconcile_test

import (
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
)

// TestOrderIsNotExecutedByACopy copies the state directory while an order waits for a locked guest. The first agent executes it. An agent on the copy executes it neither
// at its start nor after --take-over, which ends the order because the other agent may have used it.
func TestOrderIsNotExecutedByACopy(t *testing.T) {
	runAgents(t, 0, func(t *testing.T, a *agents) {
		first := a.lab
		first.trustOtto()
		stop := first.start()
		first.converge()
		first.ok(first.sim.SetRunning(201, true))
		time.Sleep(2 * time.Minute)
		first.ok(first.sim.Edit(201, "lock", "backup"))
		run := "reboot" + web1
		first.order(run)
		time.Sleep(2 * time.Minute)
		stop()

		copied := a.copied(0)
		stop = first.start()
		first.ok(first.sim.EditConfig(201, func(c map[string]string) { delete(c, "lock") }))
		first.waitForOrder(run, journal.OrderRun)
		stop()
		effects := first.sim.Effects(201, pvesim.Stopped)

		time.Sleep(2 * time.Minute)
		stop = copied.start()
		eventually(copied, "the copy to be superseded", func() bool { return copied.engine.Report().Writes.Reason == reason.StopSuperseded })
		time.Sleep(time.Hour)
		stop()
		copied.takeOver = true
		defer copied.start()()
		o := copied.waitForOrder(run, journal.OrderExpired)
		time.Sleep(time.Hour)
		if got := first.sim.Effects(201, pvesim.Stopped); effects != 1 || got != 1 {
			t.Errorf("got %d restarts by the first agent and %d in all, want one", effects, got)
		}
		if got := copied.reportedOrder(run); got.Word() != "expired" || got.Why != o.Why || o.Why == "" {
			t.Errorf("got %+v, want it expired since another agent may have used it", got)
		}
		if w := copied.engine.Report().Writes; !w.Allowed {
			t.Errorf("got writes %+v, want them allowed after the claim", w)
		}
	})
}
