package guest

import "time"

// Active reports whether the suspension holds the guest's steps at a moment. A nil suspension never does.
func (s *Suspension) Active(now time.Time) bool {
	return s != nil && (s.Until.IsZero() || now.Before(s.Until))
}

// String returns "suspended by alice until 2026-03-01T12:00:00Z: disk is being replaced". Parts that are not set are left out.
func (s *Suspension) String() string {
	text := "suspended"
	if s.Author != "" {
		text += " by " + s.Author
	}
	if !s.Until.IsZero() {
		text += " until " + s.Until.UTC().Format(time.RFC3339)
	}
	if s.Reason != "" {
		text += ": " + s.Reason
	}
	return text
}
