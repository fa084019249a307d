package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// TestClaimNoteGrantsNothing writes the note of a fresh clone, whose changes need no approval, to a running guest: by a signed manifest, and by a
// user who may edit descriptions.
func TestClaimNoteGrantsNothing(t *testing.T) {
	t.Parallel()
	for name, byManifest := range map[string]bool{"manifest": true, "by_hand": false} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.files["web.yaml"] = vmYAML("web-1", 201, "state: running", "lifecycle: {protection: true}")
				l.push("one guest", alice)
				defer l.start()()
				l.converge()
				note := "claimed by gitops-agent as " + l.marker(201)
				lines := []string{"state: running", "lifecycle: {protection: false}"}
				if byManifest {
					lines = append(lines, `description: "`+note+`"`)
				} else {
					l.ok(l.sim.Edit(201, "description", note))
				}
				l.files["web.yaml"] = vmYAML("web-1", 201, lines...)
				l.waitForAcceptance(l.push("without its protection", alice))
				time.Sleep(5 * time.Minute)
				g := l.guest(l.engine.Report(), 201)
				if len(g.Held) != 1 || g.Held[0].Reason != reason.Guard || l.sim.Value(201, "protection") != "1" {
					t.Errorf("got protection %q and held %+v, want it kept until an approval", l.sim.Value(201, "protection"), g.Held)
				}
				if hasCondition(g, plan.Failed, "") {
					t.Errorf("got %+v, want no fight over the description", g.Conditions)
				}
			})
		})
	}
}

// marker returns the ownership tag of a guest.
func (l *lab) marker(vmid int) string {
	for tag := range strings.SplitSeq(l.sim.Value(vmid, "tags"), ";") {
		if strings.HasPrefix(tag, "gitops-") {
			return tag
		}
	}
	return ""
}
