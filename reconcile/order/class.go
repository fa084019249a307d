package order

import (
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Class returns the class of the step that executes a request. A request that loses data, or what a guest has not written to its disk yet, is destructive:
// it needs an approval.
func (r Request) Class() guest.Class {
	switch r.Op { //nolint:exhaustive // of orders
	case cluster.OpStop, cluster.OpReset, cluster.OpRollback, cluster.OpDeleteSnapshot:
		return guest.Destructive
	case cluster.OpShutdown:
		if r.Params[KeyForce] == Yes { // after the timeout, a stop
			return guest.Destructive
		}
		return guest.Disruptive
	case cluster.OpReboot, cluster.OpSuspend:
		return guest.Disruptive
	case cluster.OpBackup:
		if mode := r.Params[KeyMode]; mode == ModeStop || mode == ModeSuspend {
			return guest.Disruptive
		}
	case cluster.OpMigrate:
		if r.Guest.Kind == guest.Container { // a container that runs restarts on the other node
			return guest.Disruptive
		}
	}
	return guest.Live
}
