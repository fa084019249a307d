package observe

import (
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// rowOf returns where to look for a guest, and whether the inventory lists it: its row there, or else the place of the last reading.
func (o *Observer) rowOf(vmid int) (cluster.Row, bool) {
	row, listed := o.inventory.Row(vmid)
	known, wasSeen := o.seen[vmid]
	switch {
	case listed && !isConfirmed(row, known, wasSeen):
		row.Status = guest.StatusUnknown
	case !listed && wasSeen:
		row = cluster.Row{
			Kind: known.Kind, VMID: vmid, Node: known.Node, Name: known.Name, Status: guest.StatusUnknown, Template: known.Template, Pool: known.Pool,
		}
	case !listed:
		row = cluster.Row{VMID: vmid}
	}
	return row, listed
}

// isConfirmed reports whether the run state of a row of the inventory counts. The inventory lags for up to ten seconds behind a start or a stop, so its run state counts
// only if the last reading of the guest agrees; ReadGuest asks the guest for any other one. A template does not run. A migration that lost the quorum may have left a machine
// paused that the inventory lists as running, so a guest that was being moved is asked, also in the first reading after it is unlocked.
//
// Source: pvestatd, which updates the run states of GET /cluster/resources every ten seconds.
func isConfirmed(row cluster.Row, last guest.Observed, wasSeen bool) bool {
	return row.Template || wasSeen && last.Status == row.Status && last.Lock != "migrate"
}

// keep stores a reading that began at a time. After a failure the guest stays due, and its last reading keeps its age. What a lane read later is newer.
func (o *Observer) keep(r Reading, began time.Time) {
	if !o.vmids[r.VMID] {
		return
	}
	if seen, known := o.seen[r.VMID]; known && seen.ReadAt.After(began) || o.lost[r.VMID].After(began) {
		return
	}
	switch {
	case r.Err != nil:
		o.absent[r.VMID], o.trouble[r.VMID] = cluster.Unknown, r.Err.Error()
		o.due[r.VMID] = true
		return
	case r.Absence != "":
		o.remove(r.VMID, r.Absence)
	default:
		r.Seen.Resource = o.seen[r.VMID].Resource // keepHA replaces it
		if o.underHA[r.VMID] {
			r.Seen = o.withKnownHA(r.Seen)
		}
		r.Seen = o.keepFirewall(r.Seen)
		o.list.noteRead(o.seen[r.VMID], r.Seen, began)
		o.seen[r.VMID] = r.Seen
		o.inventory = o.inventory.With(r.Row)
		delete(o.absent, r.VMID)
	}
	delete(o.trouble, r.VMID)
}
