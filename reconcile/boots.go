package reconcile

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
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
	of      reading
	again   time.Time // when a record that seems out of date is looked at again
	offline string    // the nodes whose tasks the last look lacked: it is not repeated before others are offline
	start   time.Time // of the process, as read then: no step of a clock changes how long ago that was; zero if it was not read by this process of the agent
}

// waitsForNode reports whether only a node that is still offline can tell why a guest runs in its process: neither the process nor the configuration has changed since.
func (c bootCheck) waitsForNode(offline string, live guest.Observed, row cluster.Row, readAt time.Time) bool {
	return c.offline != "" && c.offline == offline && c.of.digest == live.Digest && c.start.Sub(readAt.Add(-row.Uptime)).Abs() <= startSlack
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
		offline := strings.Join(inventory.Offline, " ")
		unexplained := make(map[int]bootCheck) // before a node is back
		reader := observe.TasksOfNodes(e.opts.Cluster, len(due))
		for _, row := range due {
			seen, err := observe.ReadGuest(ctx, e.opts.Cluster, row, inventory.Version)
			if err != nil {
				continue // it is due again after a resync
			}
			record, changed, err := observe.FollowBoot(ctx, reader, inventory, state.Applied[row.VMID], state.Owned[row.VMID], seen)
			switch {
			case errors.Is(err, observe.ErrOffline):
				unexplained[row.VMID] = bootCheck{of: readingOf(seen), offline: offline, start: seen.ReadAt.Add(-seen.Process.Uptime)}
			case err != nil:
			case changed:
				records[row.VMID] = followedBoot{record, seen.ReadAt}
			case seen.Process != nil:
				starts[row.VMID] = seen.ReadAt.Add(-seen.Process.Uptime)
			}
		}
		return func() {
			maps.Copy(e.boots, unexplained)
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
	offline := strings.Join(snapshot.Inventory.Offline, " ")
	var due []cluster.Row
	for _, vmid := range slices.Sorted(maps.Keys(state.Owned)) {
		live, seen := snapshot.Guests[vmid]
		row, listed := snapshot.Inventory.Row(vmid)
		owned, record := state.Owned[vmid], state.Applied[vmid]
		last := e.boots[vmid]
		if !seen || !listed || live.Template || live.Lock != "" || !look.has(object.Guest(vmid)) || now.Before(last.again) {
			continue
		}
		if last.waitsForNode(offline, live, row, snapshot.Inventory.ReadAt) {
			continue
		}
		if !isOutdatedProcess(record, owned, live, row, snapshot.Inventory.ReadAt, last.start) {
			if last.of == readingOf(live) {
				continue
			}
			if !isOutdatedRecord(record, owned, live) {
				e.boots[vmid] = bootCheck{of: readingOf(live), start: last.start}
				continue
			}
		}
		if ownership.Compare(owned, live).Conflict(live.Kind) != "" {
			continue
		}
		if len(due) == bootReads && !e.errands.inline {
			break
		}
		row.Status = guest.StatusUnknown
		due = append(due, row)
		e.boots[vmid] = bootCheck{again: now.Add(e.opts.Resync), start: last.start}
	}
	return due
}

// isOutdatedRecord reports whether a guest has no record of what is in effect, or other values than its record says.
func isOutdatedRecord(record journal.Applied, owned journal.Owned, live guest.Observed) bool {
	if !boot.Recorded(record, owned) {
		return live.Status != guest.StatusStopped && len(guest.UnlistedValues(live, nil, false)) > 0
	}
	_, changed := boot.Follow(record, live, boot.Evidence{Cause: boot.Same})
	return changed
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
