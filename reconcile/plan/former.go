package plan

import (
	"fmt"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/slots"
)

// formerVolumes returns what the empty slots of a guest held before. Owned is nil for a guest that will be adopted.
func formerVolumes(want Desired, d *guest.Desired, owned *journal.Owned, live guest.Observed, volumes holders) map[string]guest.Former {
	var former map[string]guest.Former
	if owned == nil {
		former = slots.Former(slots.Adopted(journal.Owned{VMID: live.VMID}, d, live), true, d, live)
	} else {
		record, recorded := slots.Of(want.Attached, *owned)
		former = slots.Former(record, recorded, d, live)
	}
	for slot, f := range former {
		if f.Volume == "" || f.Taken != "" {
			continue
		}
		if by, held := volumes.otherHolder(live.VMID, f.Volume); held {
			f.Taken = "it is in use by " + by.String()
		}
		f.Unread = volumes.unread
		former[slot] = f
	}
	return former
}

// formerlyAttached returns the volumes that a plan may attach again to the guest of a manifest.
func formerlyAttached(want Desired, d *guest.Desired, got cluster.Snapshot) []string {
	live, seen := got.Guests[d.VMID]
	record, recorded := slots.Of(want.Attached, want.Owned[d.VMID])
	if !seen || !recorded {
		return nil
	}
	var list []string
	for _, f := range slots.Former(record, true, d, live) {
		if f.Volume != "" && f.Taken == "" {
			list = append(list, f.Volume)
		}
	}
	return list
}

// lostVolumes returns the condition of a guest with empty slots that held volumes which cannot be attached again, or nil.
func lostVolumes(changes []guest.Change, former map[string]guest.Former, live guest.Observed) []Condition {
	var words []string
	for _, c := range changes {
		if f, held := former[c.Key]; held && f.Taken != "" {
			words = append(words, fmt.Sprintf("%s held %s, which is not attached again: %s", c.Key, f, f.Taken))
		}
	}
	if len(words) == 0 {
		return nil
	}
	rescan := "qm disk rescan --vmid"
	if live.Kind == guest.Container {
		rescan = "pct rescan --vmid"
	}
	return []Condition{{
		Type: Blocked, Reason: reason.VolumeLost, Message: strings.Join(words, "; "),
		Hint: reason.AttachLost.With(fmt.Sprintf("%s %d", rescan, live.VMID), live.Node),
	}}
}
