package schedule

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Calendar is when something happens again and again, in a time zone. Its text is a part of Proxmox's calendar events, with a time zone at the end:
//
//	hourly | daily | weekly | monthly    at minute 0, at 00:00, on Monday at 00:00, on the first of the month at 00:00
//	[DAYS] HH:MM                         on these days; DAYS are names such as sat, mon..fri or mon,wed, and every day without them
//
// The time zone is UTC if the text has none. Proxmox takes the zone of the node instead, which a manifest does not know. The zero Calendar has no times.
type Calendar struct {
	days   [7]bool // by time.Weekday
	minute int     // of the day, or of the hour
	rhythm rhythm
	zone   *time.Location
}

type rhythm int

const (
	onDays rhythm = iota
	everyHour
	everyMonth // on the first
)

// CalendarPattern is the regular expression for the text of a calendar.
const CalendarPattern = `^(hourly|daily|weekly|monthly|([a-z.,]+ )?[0-2][0-9]:[0-5][0-9])( [A-Za-z0-9_+/-]+)?$`

var calendarShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(CalendarPattern) })

// ParseCalendar reads a calendar. The error states what is wanted.
func ParseCalendar(text string) (Calendar, error) {
	match := calendarShape().FindStringSubmatch(text)
	if match == nil {
		return Calendar{}, fmt.Errorf("got %q, want hourly, daily, weekly, monthly, or days and an hour such as mon..fri 02:00, each with or without a time zone such as Europe/Berlin", text)
	}
	c := Calendar{zone: time.UTC}
	if zone := strings.TrimSpace(match[3]); zone != "" {
		var err error
		if c.zone, err = loadZone(zone); err != nil {
			return Calendar{}, err
		}
	}
	every := [7]bool{true, true, true, true, true, true, true}
	switch match[1] {
	case "hourly":
		c.rhythm = everyHour
		return c, nil
	case "daily":
		c.days = every
		return c, nil
	case "weekly":
		c.days[time.Monday] = true
		return c, nil
	case "monthly":
		c.rhythm = everyMonth
		return c, nil
	}
	days, clock, named := strings.Cut(match[1], " ")
	if !named {
		days, clock = "", days
	}
	var err error
	if c.minute, err = minuteOfDay(clock); err != nil {
		return Calendar{}, err
	}
	if c.days = every; named {
		c.days, err = parseCalendarDays(days)
	}
	return c, err
}

// parseCalendarDays reads "mon..fri,sun".
func parseCalendarDays(text string) (days [7]bool, err error) {
	days, known := dayList(text, "..", calendarDay)
	if !known {
		return days, fmt.Errorf("got the days %q, want days such as sat, mon..fri or mon,wed", text)
	}
	return days, nil
}

func calendarDay(name string) int {
	return slices.IndexFunc(weekdays, func(day string) bool { return strings.ToLower(day) == name })
}

// Equal reports whether two calendars have the same times.
func (c Calendar) Equal(other Calendar) bool {
	if c.zone == nil || other.zone == nil {
		return c.zone == other.zone
	}
	return c.days == other.days && c.minute == other.minute && c.rhythm == other.rhythm && c.zone.String() == other.zone.String()
}

// Last returns the newest time of the calendar that is not after a time; the zero time for the zero Calendar. An hour that a day skips because daylight
// saving time begins is an hour later on that day, and one that occurs twice counts once.
func (c Calendar) Last(at time.Time) time.Time {
	for unit := 1; unit >= -8; unit-- {
		if candidate, is := c.in(at, unit); is && !candidate.After(at) {
			return candidate
		}
	}
	return time.Time{}
}

// Next returns the first time of the calendar after a time; the zero time for the zero Calendar.
func (c Calendar) Next(at time.Time) time.Time {
	for unit := -1; unit <= 8; unit++ {
		if candidate, is := c.in(at, unit); is && candidate.After(at) {
			return candidate
		}
	}
	return time.Time{}
}

// in returns the time of the calendar in the hour, the day or the month that is some units after that of a time, and whether there is one.
func (c Calendar) in(at time.Time, unit int) (time.Time, bool) {
	if c.zone == nil {
		return time.Time{}, false
	}
	local := at.In(c.zone)
	switch c.rhythm {
	case everyHour:
		minutes, seconds := time.Duration(local.Minute()), time.Duration(local.Second())
		return local.Add(time.Duration(unit)*time.Hour - minutes*time.Minute - seconds*time.Second - time.Duration(local.Nanosecond())), true
	case everyMonth:
		return Local(local.Year(), local.Month()+time.Month(unit), 1, 0, c.zone), true
	case onDays:
	}
	today := int(local.Weekday())
	candidate := Local(local.Year(), local.Month(), local.Day()+unit, c.minute, c.zone)
	return candidate, c.days[(today+unit+14)%7]
}
