package reconcile_test

import (
	"testing"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// TestIncidentTagsAreRestricted runs on a datacenter whose options forbid the agent's tags. The guests are not created, nothing is left of them,
// and the report names the options. When tags are free, the guests are created.
func TestIncidentTagsAreRestricted(t *testing.T) {
	t.Parallel()
	tests := map[string]pvesim.Datacenter{
		"none":     {TagAccess: "none"},
		"existing": {TagAccess: "existing"},
		"listed":   {TagAccess: "list", AllowedTags: []string{"prod"}},
	}
	for name, options := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithWire(t, pvesim.Options{Cluster: options}, func(t *testing.T, l *lab, _ *wire) {
				l.files["web.yaml"] = blankYAML()
				l.files["ct.yaml"] = dnsYAML()
				l.push("guests", alice)
				defer l.start()()
				for _, vmid := range []int{201, 210} {
					l.waitForCondition(vmid, "user-tag-access", "registered-tags")
					if g := l.guest(l.engine.Report(), vmid); !hasCondition(g, plan.Failed, reason.Denied) || l.sim.Config(vmid) != "" {
						t.Errorf("guest %d: got %+v and config %q, want it denied and not created", vmid, g.Conditions, l.sim.Config(vmid))
					}
				}
				l.sim.SetDatacenter(pvesim.Datacenter{})
				l.files["web.yaml"] = blankYAML("description: again")
				l.files["ct.yaml"] = dnsYAML("description: again")
				l.push("again", alice)
				l.converge()
			})
		})
	}
}
