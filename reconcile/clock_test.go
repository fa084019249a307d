package reconcile_test

import (
	"fmt"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/report"
)

// TestPushIsNotTimedByAWrongClock lets a revision converge while the clock of a node differs from that of this host: how long ago it was signed is unknown.
func TestPushIsNotTimedByAWrongClock(t *testing.T) {
	t.Parallel()
	for ahead, known := range map[float64]bool{0: true, 9: true, 3600: false, -86400: false} {
		t.Run(fmt.Sprint(ahead), func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.opts.Endpoints = func() []cluster.Endpoint { return []cluster.Endpoint{{Address: "pve1:8006", ClockAhead: ahead}} }
				var told []report.ConvergedOutcome
				l.opts.Hooks.OnEvent = onOutcome(func(o report.ConvergedOutcome) { told = append(told, o) })
				l.files["web.yaml"] = vmYAML("web-1", 201)
				l.push("one guest", alice)
				stop := l.start()
				l.converge()
				stop()
				if len(told) != 1 || (told[0].SinceProof >= 0) != known || told[0].Total <= 0 {
					t.Errorf("got %+v, want one outcome whose time since the signature is known: %t", told, known)
				}
			})
		})
	}
}
