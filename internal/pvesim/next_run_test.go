package pvesim

import (
	"testing"
	"time"
)

// TestNextRun has the times of Proxmox's own tests.
//
// Source: proxmox-rs, proxmox-time/src/test.rs.
func TestNextRun(t *testing.T) {
	t.Parallel()
	const hour, day = 3600, 24 * 3600
	const july31 = 1596153600 // of 2020, a Friday
	for _, test := range []struct {
		text        string
		after, next int64 // 0 for never
	}{
		{"0", 0, hour},
		{"*:3:5", 0, 185},
		{"mon 2:*", 0, 4*day + 2*hour},
		{"mon2:50", 0, 4*day + 2*hour + 3000},
		{"fri..mon", july31, july31 + day},
		{"Thursday,sat", july31, july31 + day},
		{"4..10/2:0", 5 * hour, 6 * hour},
		{"4..10/2:0", 11 * hour, day + 4*hour},
		{"6,4..10:23,5/5", 0, 4*hour + 300},
		{"24:00", 0, 24 * 60},
		{"25:30", 0, 25*60 + 30},
		{"22,23:00", 0, 22 * hour},
		{"02-29", 0, 2*365*day + 59*day},
		{"1965/5-01-01", -1, 0},
		{"2020-7..9-2/2", july31, july31 + 2*day},
		{"*-*/3-*/30 UTC", 0, 30 * day},
		{"*/15", 1, 900},
		{"5/0", 0, 300},
		{"weekly", 0, 4 * day},
		{"monthly", 0, 31 * day},
		{"semi-annually UTC", 0, 181 * day},
		{"2021-02-29", 0, 0},
		{"02-30", 0, 0},
		{"1969-*-*", 0, 0},
	} {
		if err := checkCalendarEvent(test.text); err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		next, comes := nextRun(test.text, time.Unix(test.after, 0))
		if next != test.next || comes != (test.next != 0 || test.after < 0) {
			t.Errorf("%s after %d: got %d (%t), want %d", test.text, test.after, next, comes, test.next)
		}
	}
}
