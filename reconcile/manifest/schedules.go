package manifest

import (
	"time"

	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kinds"
)

// Schedule is a calendar event of Proxmox that an object of a set has.
type Schedule struct {
	Label string // of the object: "BackupJob/nightly"
	kind.Schedule
}

// Schedules returns the calendar events of all objects, sorted by their labels.
func (s Set) Schedules() []Schedule {
	var list []Schedule
	for _, d := range s.Objects {
		if k, known := kinds.Of(d.Kind); known {
			for _, event := range k.Schedules(d) {
				list = append(list, Schedule{d.Label(), event})
			}
		}
	}
	return list
}

// Ended returns a warning for each schedule that has no time after a time. It is not a part of Warnings, because no clock decides what a manifest means.
func (s Set) Ended(now time.Time) []Problem {
	r := &report{}
	for _, event := range s.Schedules() {
		if _, comes := event.Event.Next(now, now.Location()); !comes && event.Event.Exists() {
			r.add(event.problem("it never runs again: its last time, "+event.Event.String()+", has passed", "write a later year, or * for every year"))
		}
	}
	return r.sorted()
}

// checkSchedules warns of schedules that are not what their spelling suggests.
func (p *parser) checkSchedules(warnings *report) {
	for _, event := range p.set.Schedules() {
		if doubt := event.Event.Doubt(); doubt != "" {
			warnings.add(event.problem("it runs "+event.Event.String(), doubt))
		}
	}
}

// noSuchDay refuses schedules of an object of which no calendar has a day, which Proxmox accepts.
func (p *parser) noSuchDay(k *kind.Kind, d kind.Desired) {
	for _, event := range k.Schedules(d) {
		if !event.Event.Exists() {
			problem := Schedule{d.Label(), event}.problem("got "+event.Event.String()+", want a day that exists", "Proxmox accepts it, and never runs the job")
			problem.New = true
			p.report.add(problem)
		}
	}
}

func (s Schedule) problem(message, hint string) Problem {
	return Problem{Origin: s.Origin, Guest: s.Label, Field: s.Field, Message: s.Text + ": " + message, Hint: hint}
}
