package gate

import (
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// TestNodes judges steps on pve1, which is available, pve2, which is in maintenance, and pve3, which is offline.
func TestNodes(t *testing.T) {
	t.Parallel()
	on := func(node string, op cluster.Op, pairs ...string) plan.Step {
		call := cluster.Call{Op: op, VMID: 201, Node: node, Params: map[string]string{}}
		for i := 0; i < len(pairs); i += 2 {
			call.Params[pairs[i]] = pairs[i+1]
		}
		return plan.Step{Guest: guest.Ref{Kind: guest.VirtualMachine, VMID: 201}, Op: op, Class: guest.Live, Calls: []cluster.Call{call}}
	}
	scheduled := func(step plan.Step) plan.Step {
		step.Order = &order.Open{Scheduled: &order.Scheduled{}}
		return step
	}
	tests := map[string]struct {
		step plan.Step
		want reason.Name
	}{
		"create":               {on("pve1", cluster.OpCreate), ""},
		"create_maintenance":   {on("pve2", cluster.OpCreate), reason.Window},
		"create_offline":       {on("pve3", cluster.OpCreate), reason.NodeOffline},
		"start_maintenance":    {on("pve2", cluster.OpStart), reason.Window},
		"ha_maintenance":       {on("pve2", cluster.OpHASet, "state", "started"), reason.Window},
		"snapshot_maintenance": {scheduled(on("pve2", cluster.OpSnapshot)), reason.Window},
		"snapshot":             {scheduled(on("pve1", cluster.OpSnapshot)), ""},
		"ordered_snapshot":     {on("pve2", cluster.OpSnapshot), ""},
		"reboot_maintenance":   {on("pve2", cluster.OpReboot), reason.Window},
		"config_maintenance":   {on("pve2", cluster.OpConfig), ""},
		"stop_maintenance":     {on("pve2", cluster.OpShutdown), ""},
		"config_offline":       {on("pve3", cluster.OpConfig), reason.NodeOffline},
		"move_to_maintenance":  {on("pve1", cluster.OpMigrate, "target", "pve2"), reason.Window},
		"move_to_offline":      {on("pve1", cluster.OpMigrate, "target", "pve3"), reason.NodeOffline},
		"move_away":            {on("pve2", cluster.OpMigrate, "target", "pve1"), ""},
		"move_from_offline":    {on("pve3", cluster.OpMigrate, "target", "pve1"), reason.NodeOffline},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := Gate{Maintenance: []string{"pve2"}, Offline: []string{"pve3"}, Policies: Policies{{VMID: 201}: {Lifecycle: guest.Lifecycle{RebootPolicy: guest.RebootAuto}}}}
			if v := g.Judge(test.step); v.Reason != test.want || g.NodeUnavailable(test.step) != (test.want != "") {
				t.Errorf("got %+v, want %q", v, test.want)
			}
		})
	}
}
