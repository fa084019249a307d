package status

import (
	"fmt"
	"time"
)

// timeView is a time, with the time at which the page is made. The zero time.Time is unknown.
type timeView struct{ at, now time.Time }

// Known reports whether the time is known.
func (t timeView) Known() bool { return !t.at.IsZero() }

// ISO returns the time in UTC in seconds, for programs and tooltips.
func (t timeView) ISO() string { return t.at.UTC().Format(time.RFC3339) }

// Ago returns "5 min ago", or "in 5 min" for a time in the future.
func (t timeView) Ago() string {
	switch age := t.now.Sub(t.at); {
	case age <= -time.Second:
		return "in " + span(-age)
	case age < time.Second:
		return "now"
	default:
		return span(age) + " ago"
	}
}

// For returns the time that has passed since: "5 min".
func (t timeView) For() string { return span(t.now.Sub(t.at)) }

// span rounds down to the largest unit that fits: "59 s", "5 min", "3 h", "12 d".
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(d, 0)/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%d h", d/time.Hour)
	default:
		return fmt.Sprintf("%d d", d/day)
	}
}
