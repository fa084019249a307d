package order

import (
	"testing"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/schedule"
)

// TestLateSince compares the newest snapshot with the times of the schedule. Noon is half a minute past 12:00.
func TestLateSince(t *testing.T) {
	at := func(day, hour int) time.Time { return time.Date(2026, 11, day, hour, 0, 0, 0, time.UTC) }
	taken := func(times ...time.Time) (list []journal.TakenSnapshot) {
		for _, due := range times {
			list = append(list, journal.TakenSnapshot{Name: SnapshotName(due), Key: "k", Keep: 1})
		}
		return list
	}
	tests := map[string]struct {
		schedule string
		record   journal.Snapshots
		newest   time.Time
		since    time.Time
		late     bool
	}{
		"none_yet":         {schedule: "hourly", late: true},
		"just_taken":       {schedule: "hourly", record: journal.Snapshots{Due: at(25, 12), Taken: taken(at(25, 11), at(25, 12))}, newest: at(25, 12)},
		"due_now":          {schedule: "hourly", record: journal.Snapshots{Due: at(25, 11), Taken: taken(at(25, 11))}, newest: at(25, 11), since: at(25, 12), late: true},
		"many_missed":      {schedule: "hourly", record: journal.Snapshots{Due: at(25, 12), Failed: "no space", Taken: taken(at(25, 3))}, newest: at(25, 3), since: at(25, 4), late: true},
		"without_outcome":  {schedule: "hourly", record: journal.Snapshots{Due: at(25, 12), Failed: "unknown", Taken: taken(at(25, 11), at(25, 12))}, newest: at(25, 11), since: at(25, 12), late: true},
		"unknown_before":   {schedule: "hourly", record: journal.Snapshots{Due: at(25, 12), Taken: taken(at(25, 12), at(25, 11))}, newest: at(25, 12)},
		"weekly_is_fresh":  {schedule: "weekly", record: journal.Snapshots{Due: at(23, 0), Taken: taken(at(23, 0))}, newest: at(23, 0)},
		"weekly_is_missed": {schedule: "weekly", record: journal.Snapshots{Due: at(23, 0), Failed: "no space", Taken: taken(at(16, 0))}, newest: at(16, 0), since: at(23, 0), late: true},
		"foreign_name":     {schedule: "hourly", record: journal.Snapshots{Due: at(25, 11), Taken: []journal.TakenSnapshot{{Name: "x", Key: "k", Keep: 1}}}, late: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			times, err := schedule.ParseCalendar(test.schedule)
			if err != nil {
				t.Fatal(err)
			}
			since, late := LateSince(&guest.SnapshotSchedule{Times: times}, test.record, noon)
			if newest := NewestSnapshot(test.record); !newest.Equal(test.newest) || !since.Equal(test.since) || late != test.late {
				t.Errorf("got newest %s, late %t since %s, want %s, %t, %s", newest, late, since, test.newest, test.late, test.since)
			}
		})
	}
}
