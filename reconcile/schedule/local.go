package schedule

import "time"

// Local returns the time at which it is some minutes after midnight on a day, in a zone. Month and day may be out of their ranges, as for time.Date. A
// time that the day skips because daylight saving time begins is later by what is skipped, and so on the same day: time.Date returns an earlier time
// for it in zones west of Greenwich, which is on the day before if midnight is skipped. Of a time that occurs twice it is one of the two.
func Local(year int, month time.Month, day, minute int, zone *time.Location) time.Time {
	at, _ := local(year, month, day, minute, zone)
	return at
}

// local is Local. It also reports whether the day skips the time.
func local(year int, month time.Month, day, minute int, zone *time.Location) (at time.Time, skipped bool) {
	at = time.Date(year, month, day, minute/60, minute%60, 0, 0, zone)
	wanted := time.Date(year, month, day, minute/60, minute%60, 0, 0, time.UTC)
	shown := time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), 0, 0, time.UTC)
	if early := wanted.Sub(shown); early > 0 {
		at = at.Add(early)
	}
	return at, !shown.Equal(wanted)
}
