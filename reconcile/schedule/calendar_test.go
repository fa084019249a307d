package schedule

import (
	"testing"
	"time"
)

func TestCalendar(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, at, last, next string }{
		{"hourly", "2026-11-25T07:40:12Z", "2026-11-25T07:00:00Z", "2026-11-25T08:00:00Z"},
		{"hourly", "2026-11-25T07:00:00Z", "2026-11-25T07:00:00Z", "2026-11-25T08:00:00Z"},
		{"hourly Asia/Kolkata", "2026-11-25T07:40:00Z", "2026-11-25T07:30:00Z", "2026-11-25T08:30:00Z"},
		{"daily", "2026-11-25T07:40:00Z", "2026-11-25T00:00:00Z", "2026-11-26T00:00:00Z"},
		{"daily Europe/Berlin", "2026-11-25T23:30:00Z", "2026-11-25T23:00:00Z", "2026-11-26T23:00:00Z"},
		{"weekly", "2026-11-25T07:40:00Z", "2026-11-23T00:00:00Z", "2026-11-30T00:00:00Z"},
		{"monthly", "2026-12-31T23:59:59Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		{"monthly", "2027-01-01T00:00:00Z", "2027-01-01T00:00:00Z", "2027-02-01T00:00:00Z"},
		{"02:30", "2026-11-25T02:29:59Z", "2026-11-24T02:30:00Z", "2026-11-25T02:30:00Z"},
		{"mon..fri 02:00", "2026-11-29T12:00:00Z", "2026-11-27T02:00:00Z", "2026-11-30T02:00:00Z"},
		{"fri..mon 02:00", "2026-11-25T12:00:00Z", "2026-11-23T02:00:00Z", "2026-11-27T02:00:00Z"},
		{"sat,wed 22:15", "2026-11-25T12:00:00Z", "2026-11-21T22:15:00Z", "2026-11-25T22:15:00Z"},
		{"wed 07:00", "2026-11-25T06:59:00Z", "2026-11-18T07:00:00Z", "2026-11-25T07:00:00Z"},
		// 02:30 does not exist on 2026-03-29 in Berlin, and occurs twice on 2026-10-25.
		{"02:30 Europe/Berlin", "2026-03-29T12:00:00Z", "2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"},
		{"02:30 America/New_York", "2026-03-08T12:00:00Z", "2026-03-08T07:30:00Z", "2026-03-09T06:30:00Z"},
		// Daylight saving time begins at midnight: 00:00 to 00:59 do not exist on these days.
		{"daily America/Santiago", "2026-09-06T03:30:00Z", "2026-09-05T04:00:00Z", "2026-09-06T04:00:00Z"},
		{"daily America/Santiago", "2026-09-06T12:00:00Z", "2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z"},
		{"sun 00:30 America/Havana", "2026-03-08T12:00:00Z", "2026-03-08T05:30:00Z", "2026-03-15T04:30:00Z"},
		{"daily Africa/Cairo", "2026-04-24T12:00:00Z", "2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z"},
		{"monthly America/Asuncion", "2000-10-15T12:00:00Z", "2000-10-01T04:00:00Z", "2000-11-01T03:00:00Z"},
		{"02:30 Europe/Berlin", "2026-10-25T12:00:00Z", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"},
	}
	for _, test := range tests {
		c, err := ParseCalendar(test.text)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		at, _ := time.Parse(time.RFC3339, test.at)
		if got := c.Last(at).UTC().Format(time.RFC3339); got != test.last {
			t.Errorf("%s at %s: got the last time %s, want %s", test.text, test.at, got, test.last)
		}
		if got := c.Next(at).UTC().Format(time.RFC3339); got != test.next {
			t.Errorf("%s at %s: got the next time %s, want %s", test.text, test.at, got, test.next)
		}
	}
	if now := time.Now(); !(Calendar{}).Last(now).IsZero() || !(Calendar{}).Next(now).IsZero() {
		t.Error("got times of the zero calendar, want none")
	}
}

func TestCalendarRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "hourly ", "yearly", "24:00", "2:00", "02:60", "Mon 02:00", "mon-fri 02:00", "mon.. 02:00", "mon..fri", "mon..fri  02:00", "funday 02:00",
		"daily Local", "daily Mars/Olympus", "*:0/15", "daily UTC UTC",
	} {
		if _, err := ParseCalendar(text); err == nil {
			t.Errorf("got %q accepted, want an error", text)
		}
	}
}
