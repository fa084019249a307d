package plan

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/boot"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// withBoots returns the changes of a guest with those that are written and wait for its next boot although Proxmox lists nothing as pending. A change that brings back
// what is in effect costs nothing.
func withBoots(changes []guest.Change, d *guest.Desired, record journal.Applied, owned journal.Owned, live guest.Observed) []guest.Change {
	if !boot.Recorded(record, owned) {
		return changes
	}
	written := make(map[string]bool, len(changes))
	for i := range changes {
		c := &changes[i]
		isWrite := c.Write == guest.WriteSet || c.Write == guest.WriteDelete
		written[c.Key] = written[c.Key] || isWrite || c.Write == guest.WriteSecret || c.Waits
		if isWrite && c.Class == guest.Restart && boot.Reverts(record, owned, live, c.Key, c.Value) {
			c.Class, c.Note = guest.Live, "reverts a waiting change"
		}
	}
	waits := boot.Waiting(record, owned, live)
	if len(waits) == 0 {
		return changes
	}
	for key, origin := range d.Managed() {
		if w, waiting := waits[key]; waiting && !written[key] {
			changes = append(changes, guest.WaitingChange(live, key, origin, w.Replaces, w.Known))
		}
	}
	slices.SortStableFunc(changes, func(a, b guest.Change) int { return strings.Compare(a.Key, b.Key) })
	return changes
}
