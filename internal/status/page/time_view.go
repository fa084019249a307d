package page

import (
	"time"

	"gitops-agent/internal/status/words"
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
		return "in " + words.Span(-age)
	case age < time.Second:
		return "now"
	default:
		return words.Span(age) + " ago"
	}
}

// For returns the time that has passed since: "5 min".
func (t timeView) For() string { return words.Span(t.now.Sub(t.at)) }
