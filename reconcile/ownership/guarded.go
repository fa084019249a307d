package ownership

import (
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// Guarded returns the lifecycle that is remembered for a guest. Removing a manifest that forbids all work must not allow the
// worst of it: such a guest is not destroyed without a signature.
func Guarded(d guest.Desired) journal.Guarded {
	destroy := d.Lifecycle.Destroy
	if (d.Observe || d.Suspend != nil) && destroy == guest.Allow {
		destroy = guest.Approve
	}
	return journal.Guarded{
		VMID: d.VMID, Kind: string(d.Kind), Name: d.Name, Destroy: string(destroy),
	}
}
