package reconcile_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/report"
)

// TestIncidentNewGuestIsReportedGone creates two guests at once. A cycle begins because of the second one while the lane of the first has recorded its guest, and
// the engine has not seen it yet: the guest is neither gone nor held.
func TestIncidentNewGuestIsReportedGone(t *testing.T) {
	var log eventLog
	var l *lab
	slow := func(o *reconcile.Options) {
		o.Logger = slog.New(&log)
		o.Hooks.OnEvent = onOutcome(func(s report.StepOutcome) {
			l.onStep(s)
			if s.Step.Guest.VMID == 201 && s.Step.Op == cluster.OpStart {
				time.Sleep(5 * time.Second)
			}
		})
	}
	runLab(t, []labOption{slow}, func(t *testing.T, started *lab) {
		l = started
		l.files["web.yaml"] = blankYAML("state: running", "lifecycle: {recreate: deny}")
		l.files["db.yaml"] = strings.NewReplacer("web-1", "db-1", "201", "202").Replace(l.files["web.yaml"])
		l.push("two guests", alice)
		defer l.start()()
		l.converge()
		for _, held := range log.of(event.StepHeld) {
			t.Errorf("got %v, want no step held", held.attrs)
		}
	})
}
