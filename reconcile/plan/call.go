package plan

import (
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// newStep returns a step on a live guest without calls.
func newStep(p Guest, live guest.Observed, op cluster.Op, class guest.Class, reason string) Step {
	step := Step{Guest: live.Ref, Op: op, Class: class, Wave: p.Wave, Reason: reason, runs: live.Status == guest.StatusRunning}
	step.Guest.Name = p.Ref.Name
	return step
}

// newCall returns a call on a live guest. The call of an operation that writes the configuration carries its digest.
func newCall(op cluster.Op, live guest.Observed) cluster.Call {
	call := cluster.Call{Op: op, Kind: live.Kind, Node: live.Node, VMID: live.VMID}
	if op.WritesConfig() {
		call.Digest = live.Digest
	}
	return call
}

// singleCallStep returns the step that carries out one change by one call.
func singleCallStep(p Guest, live guest.Observed, c guest.Change, call cluster.Call, reason string) Step {
	step := newStep(p, live, call.Op, c.Class, reason)
	step.Changes, step.Calls = []guest.Change{c}, []cluster.Call{call}
	return step
}

// shutdownSeconds returns the timeout of a shutdown in seconds.
func shutdownSeconds(l guest.Lifecycle) int {
	if l.ShutdownTimeout <= 0 {
		return int(guest.DefaultShutdownTimeout.Seconds())
	}
	return int(l.ShutdownTimeout.Seconds())
}
