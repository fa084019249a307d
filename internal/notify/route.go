package notify

import (
	"path"
	"slices"
	"time"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/schedule"
)

// Route selects events for a receiver. Every route that selects an event sends it.
type Route struct {
	Receiver string
	// Events are names or patterns of events, such as "guest.*". Default: those whose row in the table says so.
	Events []string
	// Severity is the lowest severity that is sent. Default: Info.
	Severity Severity
	// Guests are labels or patterns, such as "VirtualMachine/web-*". Events without a guest do not match. Default: every event.
	Guests []string
	// Tags select guests that have one of them. Events without a guest do not match. Default: every event.
	Tags []string
	// GroupWait is how long events are collected for one message.
	GroupWait time.Duration
	// RepeatInterval is the time after which a problem that still exists is sent again; 0 is never.
	RepeatInterval time.Duration
	// Quiet are times at which only errors are sent. Other events are sent afterwards as one message.
	Quiet []QuietHours
}

// QuietHours is a time of each day on which it applies. If Until is not after From, it ends on the next day.
type QuietHours struct {
	From, Until time.Duration  // since midnight
	Days        []time.Weekday // on which it begins; none is every day
	Location    *time.Location
}

// selects reports whether the route sends an event.
func (r Route) selects(e Event) bool {
	if slices.Index(Severities(), e.Severity) < slices.Index(Severities(), r.Severity) {
		return false
	}
	if row, _ := event.RowOf(e.Name); len(r.Events) == 0 && !row.Default || len(r.Events) > 0 && !matches(r.Events, string(e.Name)) {
		return false
	}
	if len(r.Guests) > 0 && (e.Guest == "" || !matches(r.Guests, e.Guest)) {
		return false
	}
	return len(r.Tags) == 0 || slices.ContainsFunc(e.Tags, func(tag string) bool { return slices.Contains(r.Tags, tag) })
}

// matches reports whether one of the patterns, which were checked, matches a name.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		matched, _ := path.Match(p, name)
		return matched
	})
}

// sendAt returns the time at which an event may be sent that happens at now: now, or the end of the quiet hours.
func (r Route) sendAt(e Event, now time.Time) time.Time {
	if e.Severity == Error {
		return now
	}
	at := now
	for range 8 { // quiet hours may follow each other; at most a week
		end, quiet := r.quietUntil(at)
		if !quiet {
			break
		}
		at = end
	}
	return at
}

// quietUntil returns the end of the quiet hours that include a time.
func (r Route) quietUntil(at time.Time) (time.Time, bool) {
	for _, q := range r.Quiet {
		local := at.In(q.Location)
		for _, day := range []int{0, -1} { // it may have begun yesterday
			clock := func(days int, since time.Duration) time.Time {
				return schedule.Local(local.Year(), local.Month(), local.Day()+days, int(since/time.Minute), q.Location)
			}
			if begin := (local.Weekday() + time.Weekday(day) + 7) % 7; len(q.Days) > 0 && !slices.Contains(q.Days, begin) {
				continue
			}
			from, until := clock(day, q.From), clock(day, q.Until)
			if q.Until <= q.From {
				until = clock(day+1, q.Until)
			}
			if !at.Before(from) && at.Before(until) {
				return until, true
			}
		}
	}
	return time.Time{}, false
}
