package ownership

import (
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// Guarded returns the lifecycle that the journal keeps for a guest. If the manifest forbids changes (mode: observe, or suspend), removing
// the manifest must not allow a destroy without an approval, so destroy: allow becomes destroy: approve.
func Guarded(d guest.Desired) journal.Guarded {
	destroy := d.Lifecycle.Destroy
	if (d.Observe || d.Suspend != nil) && destroy == guest.Allow {
		destroy = guest.Approve
	}
	return journal.Guarded{
		VMID: d.VMID, Kind: string(d.Kind), Name: d.Name, Destroy: string(destroy), Recreate: string(d.Lifecycle.Recreate),
	}
}
