package reconcile_test

import (
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/pause"
	"gitops-agent/reconcile/reason"
)

// TestStandbySaysWhyItCouldNotTakeOver makes each obstacle that a standby would have as the leader: it reports it, and that it is a standby otherwise.
func TestStandbySaysWhyItCouldNotTakeOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, file := newPausableLab(t, newSim(t, pvesim.Options{Nodes: []string{"pve1", "pve2"}}), defaultPoll)
		l.files["cluster.yaml"], l.files["web.yaml"] = clusterYAML, vmYAML("web-1", 201)
		l.push("web-1", alice)
		lead := l.start()
		l.converge()
		lead()
		l.opts.Standby = "another agent leads"
		l.sim.ResetCounters()
		defer l.start()()
		stops := func(what string, want reason.Stop) {
			t.Helper()
			time.Sleep(2 * time.Minute)
			if w := l.engine.Report().Writes; w.Allowed || w.Reason != want {
				t.Errorf("%s: got writes %+v, want the reason %s", what, w, want)
			}
		}
		stops("nothing", reason.StopStandby)
		l.sim.LoseQuorum()
		stops("no quorum", reason.StopNotReady)
		l.sim.RegainQuorum()
		l.ok(file.Write(pause.Note{Reason: "upgrade", Since: time.Now()}))
		stops("a pause", reason.StopPaused)
		_, err := file.Remove()
		l.ok(err)
		before := l.policy.Swap(l.otherPolicy())
		stops("a revision that does not verify", reason.StopUnverified)
		l.policy.Store(before)
		stops("nothing any more", reason.StopStandby)
		if n := l.sim.Counters().Writes; n != 0 {
			t.Errorf("got %d writes of a standby, want none", n)
		}
	})
}
