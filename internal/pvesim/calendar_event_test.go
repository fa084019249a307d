package pvesim

import (
	"net/http"
	"strings"
	"testing"
)

// TestSchedulesAreCalendarEvents sends schedules with the calls that take one.
func TestSchedulesAreCalendarEvents(t *testing.T) {
	for text, accepted := range map[string]bool{
		"hourly": true, "*/15": true, "21:00": true, "mon..fri 2:00": true, "*-*-01": true, "2020-01-01": true, "sat,Sunday *-1-1..7 8..17/2:0/30:15 UTC": true, "25:30": true, "semi-annually": true,
		"nonsense": false, "30 2 * * *": false, "*/75": false, "*/0": false, "24:60": false, "10..5": false, "mon fri": false, "daily Europe/Berlin": false, "2200-1-1": false, "1-32": false, " ": false,
	} {
		if err := checkCalendarEvent(text); (err == nil) != accepted {
			t.Errorf("%q: got %v, want it accepted: %t", text, err, accepted)
		}
	}
	bubble(t, Options{Nodes: []string{"pve1", "pve2"}}, func(t *testing.T, c *client) {
		c.ok("POST", "/cluster/backup", "id=nightly", "schedule=daily", "all=1")
		for _, call := range [][]string{
			{"POST", "/cluster/backup", "id=other", "all=1"},
			{"PUT", "/cluster/backup/nightly"},
			{"POST", "/cluster/replication", "id=100-0", "type=local", "target=pve2"},
			{"PUT", "/cluster/replication/100-0"},
		} {
			got := c.call(call[0], call[1], append(call[2:], "schedule=*/75")...)
			if got.status != http.StatusBadRequest || !strings.Contains(got.body, "invalid format - invalid calendar event '*/75'") {
				t.Errorf("%v: got %d %s %s, want the schedule refused", call, got.status, got.reason, got.body)
			}
		}
	})
}
