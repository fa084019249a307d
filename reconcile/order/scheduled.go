package order

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// Scheduled is what the schedule of a manifest asks for instead of a commit: to take a snapshot, or to delete one that was taken by the schedule.
type Scheduled struct {
	Text  string                  // the schedule, as the manifest has it
	Due   time.Time               // of a snapshot that is taken: its time in the schedule
	Keep  int                     // of the manifest
	Entry journal.TakenSnapshot   // of a deletion: the snapshot
	Newer []journal.TakenSnapshot // of a deletion: those that were taken later
}

// maxUndeleted is how many snapshots that could not be deleted let the agent take no further one.
const maxUndeleted = 3

// clockStep is how far the clock of the host may go back without a snapshot that counts as new.
const clockStep = 5 * time.Minute

// OpenScheduled returns what the schedules of manifests ask for now, by the vmid of the guest: at most one snapshot, and, if there are more than the schedule
// keeps, the deletion of each of the agent's snapshots. Which of them are deleted follows from a reading of the guest's snapshots (Open.Settled).
func OpenScheduled(clusterName string, guests []guest.Desired, state journal.State, now time.Time) map[int][]Open {
	var list map[int][]Open
	for i := range guests {
		d := &guests[i]
		if !IsScheduled(d, state, now) {
			continue
		}
		owned := state.Owned[d.VMID]
		record := SnapshotsOf(state, d.VMID)
		var open []Open
		if due, isDue := dueSnapshot(d.Snapshots, record, now); isDue {
			key := scheduledKey(clusterName, owned, "snapshot "+due.Format(time.RFC3339))
			open = append(open, scheduledOpen(d, cluster.OpSnapshot, owned, key, SnapshotName(due), Scheduled{Due: due}))
		}
		if hasSurplus(d.Snapshots, record) {
			for i, entry := range record.Taken {
				if entry.Failed == "" {
					key := scheduledKey(clusterName, owned, "delete "+entry.Key)
					open = append(open, scheduledOpen(d, cluster.OpDeleteSnapshot, owned, key, entry.Name, Scheduled{Entry: entry, Newer: record.Taken[i+1:]}))
				}
			}
		}
		if len(open) > 0 {
			if list == nil {
				list = make(map[int][]Open)
			}
			list[d.VMID] = open
		}
	}
	return list
}

// IsScheduled reports whether the agent follows the schedule of a guest now.
func IsScheduled(d *guest.Desired, state journal.State, now time.Time) bool {
	if d.Snapshots == nil || d.VMID == 0 || d.Invalid != nil || d.Observe || d.Suspend.Active(now) {
		return false
	}
	owned, isOwned := state.Owned[d.VMID]
	return isOwned && !owned.Claiming && owned.Kind == string(d.Kind)
}

// WithScheduled returns the open orders with what schedules ask for after those of each guest. It changes the first map.
func WithScheduled(open, scheduled map[int][]Open) map[int][]Open {
	if open == nil {
		return scheduled
	}
	for vmid, list := range scheduled {
		open[vmid] = append(open[vmid], list...)
	}
	return open
}

func scheduledOpen(d *guest.Desired, op cluster.Op, owned journal.Owned, key, name string, s Scheduled) Open {
	s.Text, s.Keep = d.Snapshots.Text, d.Snapshots.Keep
	return Open{
		Request:   Request{Op: op, Guest: d.Ref, Params: map[string]string{KeyName: name}},
		Order:     journal.Order{Ordered: journal.Ordered{Key: key, VMID: d.VMID, Identity: owned.Identity}},
		Scheduled: &s,
	}
}

// scheduledKey returns what identifies a call of a schedule. It derives from the guest's identity, which is known only to the journal.
func scheduledKey(clusterName string, owned journal.Owned, what string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%s\n%s", clusterName, owned.VMID, owned.Identity, what))
	return hex.EncodeToString(sum[:16])
}

// SnapshotName returns the name of the snapshot of a time in a schedule: "gitops-20261125-0200", in UTC.
func SnapshotName(due time.Time) string { return "gitops-" + due.UTC().Format(snapshotTime) }

// SnapshotsOf returns the record of the snapshots of an owned guest; one without an identity if the agent does not own the guest.
func SnapshotsOf(state journal.State, vmid int) journal.Snapshots {
	identity := state.Owned[vmid].Identity
	if record, known := state.Snapshots[vmid]; known && record.Identity == identity {
		return record
	}
	return journal.Snapshots{VMID: vmid, Identity: identity}
}

// dueSnapshot returns the time of the schedule for which a snapshot is due. Times that passed while the agent did not run count once. If the clock went back
// far, the record is of a time that has not come yet: then the last time before now is due.
func dueSnapshot(s *guest.SnapshotSchedule, record journal.Snapshots, now time.Time) (due time.Time, isDue bool) {
	due = s.Times.Last(now).UTC()
	switch {
	case due.IsZero():
		return due, false
	case due.After(record.Due):
		return due, true
	}
	name := SnapshotName(due)
	return due, record.Due.After(now.Add(clockStep)) && !slices.ContainsFunc(record.Taken, func(e journal.TakenSnapshot) bool { return e.Name == name })
}

// mustRemain returns how many newer snapshots have to exist before one may be deleted. A smaller number in a later manifest does not shorten the life of
// the snapshots that were taken before.
func mustRemain(entry journal.TakenSnapshot, keep int) int { return max(entry.Keep, keep) }

// hasSurplus reports whether the agent has taken more snapshots than it keeps, so that the guest's snapshots have to be read.
func hasSurplus(s *guest.SnapshotSchedule, record journal.Snapshots) bool {
	for i, entry := range record.Taken {
		if entry.Failed == "" && len(record.Taken)-1-i >= mustRemain(entry, s.Keep) {
			return true
		}
	}
	return false
}

// Settled decides about an Open of a schedule by a reading of the guest's snapshots: whether it waits, and why it is not carried out and counts as done, "" if
// it is carried out. A snapshot that a person deleted, or whose description is not the agent's any more, is forgotten and not deleted.
func (o Open) Settled(live guest.Snapshots, record journal.Snapshots) (waits bool, refused string) {
	if o.Op == cluster.OpSnapshot {
		failed := 0
		for _, entry := range record.Taken {
			if entry.Failed != "" {
				failed++
			}
		}
		if failed >= maxUndeleted {
			return false, fmt.Sprintf("%d older ones could not be deleted", failed)
		}
		return false, ""
	}
	section, exists := live.Section(o.Scheduled.Entry.Name)
	switch {
	case !exists:
		return false, "it does not exist any more"
	case !isEntry(section, o.Scheduled.Entry):
		return false, "its description is not the one that the agent wrote"
	case section.Unfinished() != "":
		return true, ""
	}
	newer := 0
	for _, entry := range o.Scheduled.Newer {
		if section, exists := live.Section(entry.Name); exists && isEntry(section, entry) && section.Unfinished() == "" {
			newer++
		}
	}
	return newer < mustRemain(o.Scheduled.Entry, o.Scheduled.Keep), ""
}

func isEntry(section guest.SnapshotSection, entry journal.TakenSnapshot) bool {
	return IsNote(section.Keys["description"], entry.Key)
}

// LeftSnapshots returns the record with those snapshots alone that a reading shows with the descriptions that the agent wrote.
func LeftSnapshots(record journal.Snapshots, live guest.Snapshots) journal.Snapshots {
	record.Taken = slices.DeleteFunc(slices.Clone(record.Taken), func(entry journal.TakenSnapshot) bool {
		section, exists := live.Section(entry.Name)
		return !exists || !isEntry(section, entry)
	})
	return record
}

// BeganScheduled returns the record of a guest's snapshots after the intent of a call of its schedule. It changes only if a snapshot is taken: the time is used
// up, and the deletions that failed are tried again.
func BeganScheduled(record journal.Snapshots, o Open) journal.Snapshots {
	if o.Op != cluster.OpSnapshot {
		return record
	}
	record.Due, record.Failed = o.Scheduled.Due, ""
	record.Taken = append(withoutEntry(withoutFailures(record.Taken), o.Params[KeyName]), journal.TakenSnapshot{Name: o.Params[KeyName], Key: o.Key, Keep: o.Scheduled.Keep})
	return record
}

// RefusedScheduled returns the record after a call of a schedule that is not made.
func RefusedScheduled(record journal.Snapshots, o Open, why string) journal.Snapshots {
	if o.Op != cluster.OpSnapshot {
		record.Taken = withoutEntry(record.Taken, o.Scheduled.Entry.Name)
		return record
	}
	record.Due, record.Failed, record.Taken = o.Scheduled.Due, clipped(why), withoutFailures(record.Taken)
	return record
}

// EndedScheduled returns the record after the call of a schedule has ended. Before is the time in the record before the intent.
func EndedScheduled(record journal.Snapshots, op cluster.Op, name string, before time.Time, became journal.OrderState, why string) journal.Snapshots {
	switch {
	case op == cluster.OpSnapshot && became == journal.OrderSeen: // it is tried again
		record.Due, record.Taken = before, withoutEntry(record.Taken, name)
	case op == cluster.OpSnapshot && became == journal.OrderFailed:
		record.Failed, record.Taken = clipped(why), withoutEntry(record.Taken, name)
	case op == cluster.OpSnapshot && became == journal.OrderUnknown: // it may exist, so it stays in the list
		record.Failed = "its call has no outcome, so it may exist or not"
	case op == cluster.OpDeleteSnapshot && became == journal.OrderRun:
		record.Taken = withoutEntry(record.Taken, name)
	case op == cluster.OpDeleteSnapshot && became != journal.OrderSeen:
		record.Taken = slices.Clone(record.Taken)
		for i := range record.Taken {
			if record.Taken[i].Name == name {
				record.Taken[i].Failed = clipped(why)
			}
		}
	}
	return record
}

// IsUsedUp reports whether the record shows that a call of a schedule is not made again.
func IsUsedUp(record journal.Snapshots, o Open) bool {
	if o.Op == cluster.OpSnapshot {
		return record.Due.Equal(o.Scheduled.Due)
	}
	return !slices.ContainsFunc(record.Taken, func(e journal.TakenSnapshot) bool { return e.Key == o.Scheduled.Entry.Key && e.Failed == "" })
}

func withoutEntry(taken []journal.TakenSnapshot, name string) []journal.TakenSnapshot {
	return slices.DeleteFunc(slices.Clone(taken), func(e journal.TakenSnapshot) bool { return e.Name == name })
}

func withoutFailures(taken []journal.TakenSnapshot) []journal.TakenSnapshot {
	taken = slices.Clone(taken)
	for i := range taken {
		taken[i].Failed = ""
	}
	return taken
}

// maxWhy bounds a reason in the journal, in bytes.
const maxWhy = 500

// clipped returns the beginning of a reason; never "", so that a failure is not taken for a success.
func clipped(why string) string {
	if why == "" {
		return "unknown reason"
	}
	return strings.ToValidUTF8(why[:min(len(why), maxWhy)], "")
}
