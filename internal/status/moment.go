package status

import (
	"fmt"
	"time"
)

// moment is a time as seen from the moment the page is made.
type moment struct{ at, now time.Time }

// Known reports whether there is a time.
func (m moment) Known() bool { return !m.at.IsZero() }

// ISO returns the time in UTC to the second, for machines and tooltips.
func (m moment) ISO() string { return m.at.UTC().Format(time.RFC3339) }

// Ago returns "5 min ago", or "in 5 min" for a time to come.
func (m moment) Ago() string {
	switch age := m.now.Sub(m.at); {
	case age <= -time.Second:
		return "in " + span(-age)
	case age < time.Second:
		return "now"
	default:
		return span(age) + " ago"
	}
}

// For returns how long ago the time was, without a word about direction: "5 min".
func (m moment) For() string { return span(m.now.Sub(m.at)) }

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

// short returns a commit id as people write it.
func short(commit string) string { return commit[:min(len(commit), 8)] }
