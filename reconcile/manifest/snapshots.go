package manifest

import (
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/schedule"
)

// snapshots are the snapshots that the agent takes of a guest.
type snapshots struct {
	schedule opt[string]
	keep     opt[int]
}

// maxKeep bounds the snapshots that the agent keeps of a guest.
const maxKeep = 100

func (s *snapshots) fields() []field {
	return []field{
		{"schedule", "", "When a snapshot is taken: hourly, daily, weekly, monthly, or days and an hour such as mon..fri 02:00. A time zone may follow. Default of the time zone: UTC. Required.", calendar(&s.schedule)},
		{"keep", "", "How many of the agent's snapshots stay. A snapshot is deleted when this many newer ones exist; a smaller number counts only for snapshots that are taken afterwards. Required.", withExamples(integer(&s.keep, 1, maxKeep), `7`)},
	}
}

// lowerSnapshots checks that both fields are set, and that the guest can have snapshots.
func (c *common) lowerSnapshots(l *lowering) {
	if !c.snapshots.set {
		return
	}
	s := c.snapshots.value
	switch {
	case c.template.value:
		l.problem(c.snapshots.place, "got snapshots beside "+l.describePlace(c.template.place)+", but a template has no snapshots", "null drops inherited ones")
	case !s.schedule.set || !s.keep.set:
		l.missing(c.snapshots.place, "got snapshots without schedule or keep, want both", "such as {schedule: daily, keep: 7}")
	}
}

// wantedSnapshots returns the schedule, nil if the manifest has none or an invalid one.
func (c *common) wantedSnapshots() *guest.SnapshotSchedule {
	s := c.snapshots.value
	if !c.snapshots.set || !s.schedule.set || !s.keep.set {
		return nil
	}
	times, err := schedule.ParseCalendar(s.schedule.value)
	if err != nil {
		return nil
	}
	return &guest.SnapshotSchedule{Text: s.schedule.value, Times: times, Keep: s.keep.value, Origin: guest.Origin(c.snapshots.at)}
}

// calendar is when something happens again and again, see schedule.Calendar.
func calendar(into *opt[string]) value {
	return scalarValue[string]{into, parsedText{
		want:     "a schedule, such as daily or mon..fri 02:00 Europe/Berlin",
		check:    func(text string) error { _, err := schedule.ParseCalendar(text); return err },
		pattern:  schedule.CalendarPattern,
		examples: []string{"daily", "mon..fri 02:00 Europe/Berlin"},
	}}
}
