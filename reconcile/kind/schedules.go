package kind

import (
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/schedule"
)

// CalendarEvent returns the text of a schedule that Proxmox keeps.
func CalendarEvent(examples ...string) Text {
	return Text{
		Want: "a calendar event", Examples: examples, Pattern: `[A-Za-z0-9*][A-Za-z0-9 .,:/*-]*`, Max: 128, Accept: schedule.IsEvent, isEvent: true,
		Hint: func(string) string {
			return "days, a date, a time, or some of these: sat 04:00, *-*-01 3:00, */15 for every 15 minutes; or hourly, daily, weekly, monthly"
		},
	}
}

// Schedule is a calendar event that a manifest has.
type Schedule struct {
	Field  string // "schedule"
	Key    string
	Origin guest.Origin
	Text   string // as in the manifest
	Event  schedule.Event
}

// Schedules returns the calendar events in the manifest of an object.
func (k *Kind) Schedules(d Desired) []Schedule {
	var list []Schedule
	for _, f := range k.Fields {
		text, is := f.Form.(Text)
		if !is || !text.isEvent {
			continue
		}
		for _, in := range d.Keys {
			if in.Key != f.Key || in.Text == "" {
				continue
			}
			if event, err := schedule.ParseEvent(in.Text); err == nil {
				list = append(list, Schedule{f.Name, f.Key, in.Origin, in.Text, event})
			}
		}
	}
	return list
}

// HasDay reports whether a calendar has a day of a calendar event. Of a text that is none it is true.
func HasDay(text string) bool {
	event, err := schedule.ParseEvent(text)
	return err != nil || event.Exists()
}

// IsYearly reports whether a calendar event comes in every year from now on. Of a text that is none it is true.
func IsYearly(text string) bool {
	event, err := schedule.ParseEvent(text)
	return err != nil || event.IsYearly()
}
