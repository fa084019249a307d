package order

import (
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// snapshotTime is the form of the time in the name of a snapshot.
const snapshotTime = "20060102-1504"

// NewestSnapshot returns the time in the schedule of the newest snapshot that the agent took, the zero value if it knows of none. One whose call has no outcome
// does not count: it may not exist.
func NewestSnapshot(record journal.Snapshots) time.Time {
	newest := time.Time{}
	for _, entry := range record.Taken {
		if record.Failed != "" && entry.Name == SnapshotName(record.Due) {
			continue
		}
		if due, err := time.Parse("gitops-"+snapshotTime, entry.Name); err == nil && due.After(newest) {
			newest = due
		}
	}
	return newest
}

// LateSince reports whether a time of the schedule has passed after the newest snapshot, and returns the first such time. Without any snapshot there is none to
// count from, and the time is the zero value.
func LateSince(s *guest.SnapshotSchedule, record journal.Snapshots, now time.Time) (since time.Time, isLate bool) {
	newest := NewestSnapshot(record)
	if newest.IsZero() {
		return newest, !s.Times.Last(now).IsZero()
	}
	next := s.Times.Next(newest)
	if next.IsZero() || next.After(now) {
		return time.Time{}, false
	}
	return next.UTC(), true
}
