package gate

import (
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// TestOwnGuest judges steps on the guest in which the agent runs, with and without an approval of them, and on another guest.
func TestOwnGuest(t *testing.T) {
	t.Parallel()
	call := func(op cluster.Op, pairs ...string) cluster.Call {
		c := cluster.Call{Op: op, VMID: 105, Params: map[string]string{}}
		for i := 0; i < len(pairs); i += 2 {
			c.Params[pairs[i]] = pairs[i+1]
		}
		return c
	}
	tests := map[string]struct {
		calls []cluster.Call
		want  bool
	}{
		"shutdown":     {[]cluster.Call{call(cluster.OpShutdown)}, true},
		"stop":         {[]cluster.Call{call(cluster.OpStop)}, true},
		"reboot":       {[]cluster.Call{call(cluster.OpReboot)}, true},
		"migrate":      {[]cluster.Call{call(cluster.OpMigrate, "target", "pve2")}, true},
		"template":     {[]cluster.Call{call(cluster.OpTemplate)}, true},
		"destroy":      {[]cluster.Call{call(cluster.OpConfig), call(cluster.OpStop), call(cluster.OpDestroy)}, true},
		"ha_stopped":   {[]cluster.Call{call(cluster.OpHASet, "state", "stopped")}, true},
		"ha_disabled":  {[]cluster.Call{call(cluster.OpHAAdd, "state", "disabled")}, true},
		"ha_started":   {[]cluster.Call{call(cluster.OpHAAdd, "state", "started")}, false},
		"config":       {[]cluster.Call{call(cluster.OpConfig, "memory", "2048")}, false},
		"resize":       {[]cluster.Call{call(cluster.OpResize)}, false},
		"start":        {[]cluster.Call{call(cluster.OpStart)}, false},
		"clone_others": {[]cluster.Call{{Op: cluster.OpCreate, VMID: 300, CloneOf: 105}}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			step := plan.Step{Guest: guest.Ref{Kind: guest.VirtualMachine, VMID: 105}, Op: test.calls[len(test.calls)-1].Op, Class: guest.Disruptive, Calls: test.calls}
			g := Gate{OwnGuests: map[int]bool{105: true}, MaxDestroy: 5, NamedGuests: 1}
			if v := g.Judge(step); (v.Reason == reason.OwnGuest) != test.want {
				t.Errorf("got %+v, want it held as own-guest: %t", v, test.want)
			}
			step.Guest.VMID = 106
			if v := g.Judge(step); v.Reason == reason.OwnGuest {
				t.Errorf("another guest: got %+v", v)
			}
		})
	}
}
