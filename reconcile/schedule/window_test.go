package schedule_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/schedule"
)

func TestWindowContains(t *testing.T) {
	cases := map[string]struct {
		window string
		at     string
		want   bool
	}{
		"first minute":          {"Sat 02:00-04:00 UTC", "2026-11-21T02:00:00Z", true},
		"before":                {"Sat 02:00-04:00 UTC", "2026-11-21T01:59:59Z", false},
		"end is exclusive":      {"Sat 02:00-04:00 UTC", "2026-11-21T04:00:00Z", false},
		"another day":           {"Sat 02:00-04:00 UTC", "2026-11-22T03:00:00Z", false},
		"zone":                  {"Sat 02:00-04:00 Europe/Berlin", "2026-11-21T01:30:00Z", true},
		"summer time":           {"Sat 02:00-04:00 Europe/Berlin", "2026-07-18T00:30:00Z", true},
		"night, its evening":    {"Fri 22:00-02:00 UTC", "2026-11-20T23:00:00Z", true},
		"night, its morning":    {"Fri 22:00-02:00 UTC", "2026-11-21T01:59:00Z", true},
		"night, the day before": {"Fri 22:00-02:00 UTC", "2026-11-20T01:00:00Z", false},
		"range over the week":   {"Sat-Mon 10:00-11:00 UTC", "2026-11-22T10:30:00Z", true},
		"list":                  {"Mon-Tue,Fri 10:00-11:00 UTC", "2026-11-20T10:30:00Z", true},
		"not in the list":       {"Mon-Tue,Fri 10:00-11:00 UTC", "2026-11-19T10:30:00Z", false},
		"daily":                 {"daily 00:00-23:59 UTC", "2026-11-19T10:30:00Z", true},
		"the hour that is left out is no time of day": {"Sun 02:10-02:50 Europe/Berlin", "2026-03-29T01:30:00Z", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			window, err := schedule.ParseWindow(c.window)
			if err != nil {
				t.Fatal(err)
			}
			if got := window.Contains(moment(t, c.at)); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestWindowNext(t *testing.T) {
	cases := map[string]struct{ window, at, want string }{
		"open":           {"Sat 02:00-04:00 UTC", "2026-11-21T03:00:00Z", "2026-11-21T03:00:00Z"},
		"later today":    {"Sat 02:00-04:00 UTC", "2026-11-21T01:00:00Z", "2026-11-21T02:00:00Z"},
		"next week":      {"Sat 02:00-04:00 UTC", "2026-11-21T04:00:00Z", "2026-11-28T02:00:00Z"},
		"zone":           {"Sat 02:00-04:00 Europe/Berlin", "2026-11-21T04:00:00Z", "2026-11-28T01:00:00Z"},
		"part of it":     {"Sun 02:30-06:00 America/New_York", "2026-03-07T12:00:00Z", "2026-03-08T07:00:00Z"},
		"skips midnight": {"Sun 00:00-04:00 America/Santiago", "2026-09-05T12:00:00Z", "2026-09-06T04:00:00Z"},
		"skips the hour": {"Sun 02:10-02:50 Europe/Berlin", "2026-03-28T12:00:00Z", "2026-04-05T00:10:00Z"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			window, err := schedule.ParseWindow(c.window)
			if err != nil {
				t.Fatal(err)
			}
			if got := window.Next(moment(t, c.at)); !got.Equal(moment(t, c.want)) {
				t.Errorf("got %v, want %s", got.UTC(), c.want)
			}
		})
	}
}

func TestWindowZero(t *testing.T) {
	if (schedule.Window{}).Contains(time.Now()) {
		t.Error("got the zero window open, want it never open")
	}
	if got := (schedule.Window{}).Next(time.Now()); !got.IsZero() {
		t.Errorf("got the zero window open next at %s, want never", got)
	}
}

func TestParseWindowRefuses(t *testing.T) {
	cases := map[string]struct{ window, want string }{
		"shape":     {"Sat", "days, hours and a time zone"},
		"hour":      {"Sat 25:00-26:00 UTC", "want one such as 02:00"},
		"no length": {"Sat 02:00-02:00 UTC", "differs from the beginning"},
		"day":       {"Sam 02:00-04:00 UTC", "want daily, or days"},
		"zone":      {"Sat 02:00-04:00 Berlin", "want one such as Europe/Berlin"},
		"host zone": {"Sat 02:00-04:00 Local", "want one such as Europe/Berlin"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := schedule.ParseWindow(c.window)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want one with %q", err, c.want)
			}
		})
	}
}

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestWindowWithin(t *testing.T) {
	cases := map[string]struct {
		window, other string
		want          bool
	}{
		"same":            {"Sat 02:00-04:00 UTC", "Sat 02:00-04:00 UTC", true},
		"shorter":         {"Sat 02:30-03:00 UTC", "Sat 02:00-04:00 UTC", true},
		"longer":          {"Sat 02:00-04:01 UTC", "Sat 02:00-04:00 UTC", false},
		"another day":     {"Sun 02:00-04:00 UTC", "Sat 02:00-04:00 UTC", false},
		"fewer days":      {"Sat 02:00-04:00 UTC", "daily 02:00-04:00 UTC", true},
		"after midnight":  {"Sun 00:00-02:00 UTC", "Sat 22:00-02:00 UTC", true},
		"before midnight": {"Sat 21:59-02:00 UTC", "Sat 22:00-02:00 UTC", false},
		"another zone":    {"Sat 02:00-04:00 Europe/Berlin", "daily 00:00-23:59 UTC", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			window, err := schedule.ParseWindow(c.window)
			other, otherErr := schedule.ParseWindow(c.other)
			if err != nil || otherErr != nil {
				t.Fatal(err, otherErr)
			}
			if got := window.Within(other); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
