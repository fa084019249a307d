package reconcile

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"gitops-agent/reconcile/boot"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/ownership"
	"gitops-agent/reconcile/report"
)

// startSlack is by how much the start of a process that follows from the list of guests may be later than its record says: the list lags by ten seconds.
const startSlack = 20 * time.Second

// bootReads is how many guests one errand reads: it must not take so long that it counts as late.
const bootReads = 20

// bootCheck is the last look at the record of what is in effect in a guest.
type bootCheck struct {
	of    reading
	again time.Time // when a record that seems out of date is looked at again
	start time.Time // of the process, as read then: no step of a clock changes how long ago that was; zero if it was not read by this process of the agent
}

// followBoots brings the records of what is in effect in running guests up to date, beside the engine: of guests without a record, of those whose values have changed, and of
// those that seem to run in another process. Lanes do so for the guests that they work on.
func (e *Engine) followBoots(ctx context.Context) {
	if !e.lease.mayWrite(e.revision.force) {
		return
	}
	look := e.atRest()
	state, inventory := look.state, look.read.Inventory
	due := e.bootsDue(look)
	if len(due) == 0 {
		return
	}
	e.errands.run(report.ComponentBoots, func() func() {
		records, starts := make(map[int]followedBoot), make(map[int]time.Time)
		for _, row := range due {
			seen, err := observe.ReadGuest(ctx, e.opts.Cluster, row, inventory.Version)
			if err != nil {
				continue // it is due again after a resync
			}
			record, changed, err := observe.FollowBoot(ctx, e.opts.Cluster, inventory, state.Applied[row.VMID], state.Owned[row.VMID], seen)
			switch {
			case err != nil:
			case changed:
				records[row.VMID] = followedBoot{record, seen.ReadAt}
			case seen.Process != nil:
				starts[row.VMID] = seen.ReadAt.Add(-seen.Process.Uptime)
			}
		}
		return func() {
			for vmid, start := range starts {
				e.boots[vmid] = bootCheck{again: e.boots[vmid].again, start: start}
			}
			e.keepBoots(ctx, state, records)
		}
	})
}

// followedBoot is a record of what is in effect in a guest, with the time of the reading that it follows from.
type followedBoot struct {
	journal.Applied
	readAt time.Time
}

// bootsDue returns where to read the guests whose records may be out of date.
func (e *Engine) bootsDue(look rest) []cluster.Row {
	now, state, snapshot := time.Now(), look.state, look.read
	var due []cluster.Row
	for _, vmid := range slices.Sorted(maps.Keys(state.Owned)) {
		live, seen := snapshot.Guests[vmid]
		row, listed := snapshot.Inventory.Row(vmid)
		owned, record := state.Owned[vmid], state.Applied[vmid]
		switch last := e.boots[vmid]; {
		case !seen, !listed, live.Template, live.Lock != "", !look.has(object.Guest(vmid)), now.Before(last.again):
			continue
		case !isOutdatedProcess(record, owned, live, row, snapshot.Inventory.ReadAt, last.start) && last.of == readingOf(live):
			continue
		}
		if ownership.Compare(owned, live).Conflict(live.Kind) != "" {
			continue
		}
		if !isBootDue(record, owned, live, row, snapshot.Inventory.ReadAt, e.boots[vmid].start) {
			e.boots[vmid] = bootCheck{of: readingOf(live), start: e.boots[vmid].start}
			continue
		}
		if len(due) == bootReads && !e.errands.inline {
			break
		}
		row.Status = guest.StatusUnknown
		due = append(due, row)
		e.boots[vmid] = bootCheck{again: now.Add(e.opts.Resync), start: e.boots[vmid].start}
	}
	return due
}

// isBootDue reports whether the record of a guest may be out of date.
func isBootDue(record journal.Applied, owned journal.Owned, live guest.Observed, row cluster.Row, readAt, start time.Time) bool {
	runs := live.Status != guest.StatusStopped
	if !boot.Recorded(record, owned) {
		return runs && len(guest.UnlistedValues(live, nil, false)) > 0
	}
	if _, changed := boot.Follow(record, live, boot.Evidence{Cause: boot.Same}); changed {
		return true
	}
	return isOutdatedProcess(record, owned, live, row, readAt, start)
}

// isOutdatedProcess reports whether a running guest may have another process than its record says, by the list of guests. Start is that of the process that was read last,
// zero if none was.
func isOutdatedProcess(record journal.Applied, owned journal.Owned, live guest.Observed, row cluster.Row, readAt, start time.Time) bool {
	if !boot.Recorded(record, owned) || live.Status == guest.StatusStopped || row.Uptime == 0 {
		return false
	}
	if record.Booted || record.Unlisted || row.Node != record.Process.Node || len(record.Waiting) > 0 { // what waits is looked at after each resync
		return true
	}
	listed := readAt.Add(-row.Uptime)
	return record.Process.Start.Sub(listed).Abs() > startSlack && start.Sub(listed).Abs() > startSlack
}

// keepBoots journals records that were made from an earlier state, of guests for which nothing has happened since.
func (e *Engine) keepBoots(ctx context.Context, before journal.State, records map[int]followedBoot) {
	look := e.atRest()
	state := look.state
	var bodies []journal.Body
	for _, vmid := range slices.Sorted(maps.Keys(records)) {
		if !sameRecord(before.Applied[vmid], state.Applied[vmid]) || state.Owned[vmid].Identity != records[vmid].Identity || !look.isNewer(object.Guest(vmid), records[vmid].readAt) {
			continue
		}
		bodies = append(bodies, records[vmid].Applied)
		e.boots[vmid] = bootCheck{start: e.boots[vmid].start}
	}
	if len(bodies) == 0 || ctx.Err() != nil || !e.lease.mayWrite(e.revision.force) {
		return
	}
	switch err := e.opts.Journal.Append(ctx, bodies...); {
	case err != nil && !errors.Is(err, context.Canceled):
		e.log.WarnContext(ctx, "journal not written", "error", err)
	case err == nil && !e.errands.inline:
		e.cycle(ctx)
	}
}

func sameRecord(a, b journal.Applied) bool {
	return a.Identity == b.Identity && a.Process == b.Process && a.Booted == b.Booted && a.BootedAt.Equal(b.BootedAt) && a.Unlisted == b.Unlisted && maps.Equal(a.InEffect, b.InEffect) && maps.Equal(a.Waiting, b.Waiting) &&
		maps.Equal(a.Fingerprints, b.Fingerprints)
}
