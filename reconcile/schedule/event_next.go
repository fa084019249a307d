package schedule

import (
	"iter"
	"time"
)

// Next returns the first time of an event after a time, and whether there is one. Proxmox takes the zone of the node, unless the text ends with UTC. A time
// that a day skips because daylight saving time begins does not come on that day. On a node in a zone such as Europe/Dublin, where winter is what differs from
// standard time, Proxmox finds no next time from that day on; only its list of jobs shows this.
//
// Source: proxmox-rs, CalendarEvent::compute_next_event, with mktime of glibc 2.36.
func (e Event) Next(after time.Time, node *time.Location) (time.Time, bool) {
	zone := node
	if e.utc {
		zone = time.UTC
	}
	local := after.In(zone)
	for date := range e.dates(time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, time.UTC)) {
		if next, found := e.timeAfter(after, date, zone); found {
			return next, true
		}
	}
	return time.Time{}, false
}

// Exists reports whether a calendar has a day of the event, in any year: none has 30 February.
func (e Event) Exists() bool {
	for range e.dates(time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC)) {
		return true
	}
	return false
}

// IsYearly reports whether the event has a day in each of the 28 years from 2027 on, which are as the years before and after them.
func (e Event) IsYearly() bool {
	for year := 2027; year < 2027+28; year++ {
		if !e.years.has(year) || !e.comesIn(year) {
			return false
		}
	}
	return true
}

// comesIn reports whether the event has a day in a year, if its text names the year.
func (e Event) comesIn(year int) bool {
	for at := time.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC); at.Year() == year; at = at.AddDate(0, 0, 1) {
		if e.onDate(at) {
			return true
		}
	}
	return false
}

// dates returns the dates on which the event has times, from a date on. It looks for them once in the years that have the same dates on the same weekdays.
func (e Event) dates(from time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		barren := map[yearShape]bool{}
		for year, first := from.Year(), from; year < eventYears; year++ {
			shape := shapeOf(year)
			if e.years.has(year) && !barren[shape] {
				none := first.YearDay() == 1
				for at := first; at.Year() == year; at = at.AddDate(0, 0, 1) {
					if !e.onDate(at) {
						continue
					}
					if none = false; !yield(at) {
						return
					}
				}
				barren[shape] = none
			}
			first = time.Date(year+1, time.January, 1, 0, 0, 0, 0, time.UTC)
		}
	}
}

// yearShape is what decides which dates a year has, and on which days of the week: there are 14.
type yearShape struct {
	newYear time.Weekday
	leap    bool
}

func shapeOf(year int) yearShape {
	return yearShape{time.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC).Weekday(), time.Date(year, time.February, 29, 0, 0, 0, 0, time.UTC).Month() == time.February}
}

// onDate reports whether the event has times on a date, apart from the year.
func (e Event) onDate(date time.Time) bool {
	return (e.days == [7]bool{} || e.days[date.Weekday()]) && e.months.has(int(date.Month())) && e.monthDays.has(date.Day())
}

// timeAfter returns the first time of the event on a date that is after a time.
func (e Event) timeAfter(after, date time.Time, zone *time.Location) (time.Time, bool) {
	for minute := range 24 * 60 {
		if !e.hours.has(minute/60) || !e.minutes.has(minute%60) {
			continue
		}
		start, skipped := local(date.Year(), date.Month(), date.Day(), minute, zone)
		if skipped || !start.Add(time.Minute).After(after) {
			continue
		}
		for second := range 60 {
			if at := start.Add(time.Duration(second) * time.Second); e.seconds.has(second) && at.After(after) {
				return at, true
			}
		}
	}
	return time.Time{}, false
}
