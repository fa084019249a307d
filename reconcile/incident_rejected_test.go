package reconcile_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/plan"
)

// TestIncidentRejectedCallIsRepeatedForever causes a call that Proxmox always rejects. The agent reports it and retries it twice an hour; it
// applies a new revision with the correction at once.
func TestIncidentRejectedCallIsRepeatedForever(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		before, after, mended string // manifests of 201
		message               string
	}{
		"unknown_key":  {vmYAML("web-1", 201), vmYAML("web-1", 201, `raw: {nonesuch: "1"}`), vmYAML("web-1", 201), "nonesuch"},
		"missing_pool": {vmYAML("web-1", 201), vmYAML("web-1", 201, "pool: nonesuch"), vmYAML("web-1", 201), "nonesuch"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
				l.files["keep.yaml"], l.files["guest.yaml"] = vmYAML("keep-1", 209), test.before
				l.push("before", alice)
				defer l.start()()
				l.converge()
				w.reset()
				l.files["guest.yaml"] = test.after
				l.waitForAcceptance(l.push("after", alice))
				l.waitForCondition(201, test.message)
				time.Sleep(3 * time.Hour)
				if got := len(w.writes("")); got < 2 || got > 16 {
					t.Errorf("got %d writes in three hours, want a few at once and then two an hour", got)
				}
				conditions := l.guest(l.engine.Report(), 201).Conditions
				if !slices.ContainsFunc(conditions, func(c plan.Condition) bool {
					return c.Type == plan.Failed && strings.Contains(c.Message, test.message) && strings.Contains(c.Hint, "half an hour")
				}) {
					t.Errorf("got %+v, want Proxmox's text, and the time of the next attempt", conditions)
				}
				l.files["guest.yaml"] = test.mended
				l.push("mended", alice)
				l.converge()
			})
		})
	}
}
