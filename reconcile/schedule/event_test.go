package schedule

import "testing"

// TestIsEvent has what Proxmox's parser accepts and refuses, among it the texts of the tests of that parser.
func TestIsEvent(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"minutely", "hourly", "daily", "weekly", "monthly", "yearly", "annually", "quarterly", "semiannually", "semi-annually", "daily UTC", "21:00UTC",
		"*", "*:*", "*/15", "*/5 ", "20", "0,15,30,45", "21:00", "2:30", "02:05:40", "*:*:*", "*:0/15", "8..17:0", "8..17/2:0/30", "22,23:00", "5/0",
		"mon", "Monday", "MON", "sat 02:00", "mon..fri 2:00", "fri..mon 22:00", "mon,wed..fri,sun 8:00", "mon21:00", "sat *-*-1..7 15:00",
		"*-*-01", "*-1-1 12:00", "12-24", "2020-01-01", "2099-01-01 0:0", "2027..2030-1,7-15 3:00:00", "*/2-*-*", "2026-02-30",
		"25:30", // minute 25 and second 30
	} {
		if !IsEvent(text) {
			t.Errorf("got %q refused, want it accepted as Proxmox does", text)
		}
	}
	for _, text := range []string{
		"", " ", "UTC", "nonsense", "every day", "30 2 * * *", "*/75", "*/0", "60", "24:60", "25:60", "1:2:60", "1:2:3:4", ":30", "21:", "10..5", "8..17/:0", "1,", ",1",
		"mon..", "mon fri", "mon-fri 2:00", "fun 2:00", "mon.fri 2:00", "monn", "2200-1-1", "2027-13-1", "13-1", "1-32", "2027-1", "daily Europe/Berlin", "Daily", "daily 2:00", "@daily", "-1", "99999999999999999999",
	} {
		// 2027-1 has a month that is none, and is no date without a day.
		if IsEvent(text) {
			t.Errorf("got %q accepted, want it refused as Proxmox does", text)
		}
	}
}
