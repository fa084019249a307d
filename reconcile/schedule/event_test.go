package schedule

import (
	"strings"
	"testing"
	"time"
)

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

// TestEventWords has what an event is in words, its next time after noon of Saturday, 28 November 2026, and what its spelling suggests instead.
func TestEventWords(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	const noHour, alone = "is no hour, so it is minute ", "a number alone is a minute"
	const severalTimes = "it is an hour with minutes and a second, and not several times of a day"
	for _, test := range []struct{ text, words, next, doubt string }{
		{"minutely", "every minute", "2026-11-28 12:01:00", ""},
		{"hourly", "every hour at minute 0", "2026-11-28 13:00:00", ""},
		{"daily", "every day at 00:00", "2026-11-29 00:00:00", ""},
		{"weekly", "Monday at 00:00", "2026-11-30 00:00:00", ""},
		{"monthly", "on day 1 of every month at 00:00", "2026-12-01 00:00:00", ""},
		{"quarterly", "on day 1 of January, April, July, October at 00:00", "2027-01-01 00:00:00", ""},
		{"02:30", "every day at 02:30", "2026-11-29 02:30:00", ""},
		{"sun 02:30 UTC", "Sunday at 02:30 UTC", "2026-11-29 02:30:00", ""},
		{"mon..fri 22:00", "Monday to Friday at 22:00", "2026-11-30 22:00:00", ""},
		{"fri..mon 22:00", "Monday, Friday, Saturday, Sunday at 22:00", "2026-11-28 22:00:00", ""},
		{"mon..sun 22:00", "every day at 22:00", "2026-11-28 22:00:00", ""},
		{"*/15", "every 15 minutes", "2026-11-28 12:15:00", ""},
		{"*:20", "every hour at minute 20", "2026-11-28 12:20:00", ""},
		{"*:*:*", "every minute, in every second", "2026-11-28 12:00:01", ""},
		{"mon 0", "Monday, every hour at minute 0", "2026-11-30 00:00:00", ""},
		{"8..17:0", "every day at minute 0 of the hours 8 to 17", "2026-11-28 13:00:00", ""},
		{"8..17/2:0/30", "every 30 minutes of the hours 8 to 17 in steps of 2", "2026-11-28 12:30:00", ""},
		{"*-*-01 3:00", "on day 1 of every month at 03:00", "2026-12-01 03:00:00", ""},
		{"*-*-31", "on day 31 of every month that has it at 00:00", "2026-12-31 00:00:00", ""},
		{"*-3-*", "every day in March at 00:00", "2027-03-01 00:00:00", ""},
		{"12-24", "on 24 December at 00:00", "2026-12-24 00:00:00", ""},
		{"sat *-*-1..7 15:00", "Saturday on day 1 to 7 of every month at 15:00", "2026-12-05 15:00:00", ""},
		{"mon 02-29", "Monday on 29 February at 00:00", "2044-02-29 00:00:00", ""},
		{"2027..2030-1,7-15 3:00:07", "on day 15 of January, July in 2027 to 2030 at 03:00:07", "2027-01-15 03:00:07", ""},
		{"2199-12-31", "on 31 December in 2199 at 00:00", "2199-12-31 00:00:00", ""},
		// Proxmox accepts all of these.
		{"24:00", "every hour at minute 24", "2026-11-28 12:24:00", "24 " + noHour + "24 and second 0"},
		{"25:30", "every hour at minute 25, second 30", "2026-11-28 12:25:30", "25 " + noHour + "25 and second 30"},
		{"20", "every hour at minute 20", "2026-11-28 12:20:00", alone},
		{"mon 5/0", "Monday, every hour at minute 5", "2026-11-30 00:05:00", alone},
		{"0..5", "every hour at minute 0 to 5", "2026-11-28 12:01:00", "a number alone is a minute; 0..5:00 is an hour"},
		{"6,18", "every hour at minute 6, 18", "2026-11-28 12:06:00", "a number alone is a minute; 6,18:00 is an hour"},
		{"0,15,30,45", "every hour at minute 0, 15, 30, 45", "2026-11-28 12:15:00", ""},
		{"8:00,20:00", "every day at minute 0, 20 of the hours 8", "2026-11-29 08:00:00", severalTimes},
		{"8:00..20:00", "every day at minute 0 to 20 of the hours 8", "2026-11-29 08:00:00", severalTimes},
		{"8:0/15:00", "every 15 minutes of the hours 8", "2026-11-29 08:00:00", ""},
		{"mon..fri 8-17 0/15", "Monday to Friday on 17 August, every 15 minutes", "2027-08-17 00:00:00", "8-17 is the date 17 August; hours are 8..17"},
		{"*/40", "every hour at minute 0, 40", "2026-11-28 12:40:00", "60 minutes are not a multiple of 40"},
		{"*/7:00", "every day at 00:00, 07:00, 14:00, 21:00", "2026-11-28 14:00:00", "24 hours are not a multiple of 7"},
		{"2023-*-1 02:00", "on day 1 of every month in 2023 at 02:00", "", ""},
		{"27-1-1", "on 1 January in 27 at 00:00", "", ""},
	} {
		event, err := ParseEvent(test.text)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		next := ""
		if at, comes := event.Next(noon, time.UTC); comes {
			next = at.Format(time.DateTime)
		}
		doubt := event.Doubt()
		if event.String() != test.words || next != test.next || !strings.HasPrefix(doubt, test.doubt) || (doubt == "") != (test.doubt == "") || !event.Exists() {
			t.Errorf("%s: got %q, next %q, doubt %q and exists %t, want %q, %q, %q and true", test.text, event, next, doubt, event.Exists(), test.words, test.next, test.doubt)
		}
	}
}

// TestEventNext has the cases of Proxmox's own tests of the next time.
//
// Source: proxmox-rs, proxmox-time/src/test.rs test_compute_next_event.
func TestEventNext(t *testing.T) {
	t.Parallel()
	const hour, day = 3600, 24 * 3600
	const july31, december31 = 1596153600, 1609372800 // of 2020, a Friday and a Thursday
	for _, test := range []struct {
		text       string
		last, next int64
	}{
		{"0", 0, hour},
		{"*", 0, 60},
		{"*:3:5", 0, 185},
		{"mon *:*", 0, 4 * day},
		{"mon 2:*", 0, 4*day + 2*hour},
		{"wed", 0, 6 * day},
		{"thu", 0, 7 * day},
		{"4..10/2:0", 0, 4 * hour},
		{"4..10/2:0", 5 * hour, 6 * hour},
		{"4..10/2:0", 11 * hour, day + 4*hour},
		{"10,5:8,4", 0, 5*hour + 240},
		{"4..10,6:5/5,23", 0, 4*hour + 300},
		{"sat", july31, july31 + day},
		{"fri", july31, july31 + 7*day},
		{"wed", december31, december31 + 6*day},
		{"daily", 1, day},
		{"5/2:0", 9 * hour, 11 * hour},
		{"2020-07-31", 0, july31},
		{"02-29", 0, 2*365*day + 59*day},
		{"1965/5-01-01", -1, 0},
		{"2020-7..9-2/2", july31, july31 + 2*day},
		{"2020,2021-12-31", july31, december31},
		{"quarterly", 0, 90 * day},
		{"semiannually", 0, 181 * day},
		{"yearly", 0, 365 * day},
	} {
		event, err := ParseEvent(test.text + " UTC")
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		if next, comes := event.Next(time.Unix(test.last, 0), time.FixedZone("", 5*hour)); !comes || next.Unix() != test.next {
			t.Errorf("%s after %d: got %d (%t), want %d", test.text, test.last, next.Unix(), comes, test.next)
		}
	}
}

// TestEventExists: of these, no calendar has a day.
func TestEventExists(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"02-30 01:00", "2021-02-29", "4,6,9,11-31", "mon 2027-01-01", "0-1", "*-0", "1-0", "1900-2-29"} {
		event, err := ParseEvent(text)
		if err != nil || event.Exists() {
			t.Errorf("%s: got %v, and a day that exists: %t; want none", text, err, event.Exists())
		}
		if at, comes := event.Next(time.Unix(0, 0), time.UTC); comes {
			t.Errorf("%s: got the next time %s, want none", text, at)
		}
	}
}

// TestEventAtASkippedHour: a daily event does not come on the day that skips its hour.
func TestEventAtASkippedHour(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	event, err := ParseEvent("02:30")
	if err != nil {
		t.Fatal(err)
	}
	next, _ := event.Next(time.Date(2027, 3, 28, 0, 0, 0, 0, zone), zone)
	if want := time.Date(2027, 3, 29, 2, 30, 0, 0, zone); !next.Equal(want) {
		t.Errorf("got %s, want %s", next, want)
	}
}

func BenchmarkEventThatNeverComes(b *testing.B) {
	event, err := ParseEvent("mon 02-30")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, comes := event.Next(time.Unix(0, 0), time.UTC); comes {
			b.Fatal("30 February came")
		}
	}
}
