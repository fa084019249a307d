package pvesim

import (
	"strings"
	"time"
)

// calendarParts are the parts of a calendar event: weekdays, years, months, days, hours, minutes and seconds. A part that is "" or * has every value.
type calendarParts struct{ weekdays, years, months, days, hours, minutes, seconds string }

// calendarShorthands are words for calendar events. Weekly events come on Mondays.
var calendarShorthands = map[string]calendarParts{
	"minutely": {seconds: "0"}, "hourly": {minutes: "0", seconds: "0"}, "daily": {hours: "0", minutes: "0", seconds: "0"}, "weekly": {weekdays: "mon", hours: "0", minutes: "0", seconds: "0"},
	"monthly": {days: "1", hours: "0", minutes: "0", seconds: "0"}, "yearly": {months: "1", days: "1", hours: "0", minutes: "0", seconds: "0"},
	"annually": {months: "1", days: "1", hours: "0", minutes: "0", seconds: "0"}, "quarterly": {months: "1,4,7,10", days: "1", hours: "0", minutes: "0", seconds: "0"},
	"semiannually": {months: "1,7", days: "1", hours: "0", minutes: "0", seconds: "0"}, "semi-annually": {months: "1,7", days: "1", hours: "0", minutes: "0", seconds: "0"},
}

var calendarItem = newPattern(`^(\d+)(?:\.\.(\d+))?(?:/(\d+))?$`)

// splitCalendarEvent returns the parts of an event that checkCalendarEvent accepts.
func splitCalendarEvent(text string) calendarParts {
	text = strings.TrimRight(strings.TrimSuffix(strings.TrimSpace(text), "UTC"), " ")
	if parts, is := calendarShorthands[text]; is {
		return parts
	}
	var p calendarParts
	letters := strings.IndexFunc(text, func(r rune) bool { return r >= '0' && r <= '9' || r == '*' || r == ' ' || r == '\t' })
	switch {
	case letters < 0:
		p.weekdays, text = text, ""
	case letters > 0:
		p.weekdays, text = text[:letters], text[letters:]
	}
	words := strings.Fields(text)
	if len(words) > 0 && strings.Contains(words[0], "-") {
		date := strings.Split(words[0], "-")
		if len(date) == 3 {
			p.years = date[0]
		}
		p.months, p.days = date[len(date)-2], date[len(date)-1]
		words = words[1:]
	}
	if len(words) == 0 {
		p.hours, p.minutes, p.seconds = "0", "0", "0"
		return p
	}
	clock := strings.Split(words[0], ":")
	if len(clock) == 2 && !calendarHour(clock[0]) || len(clock) == 1 {
		clock = append([]string{"*"}, clock...)
	}
	p.hours, p.minutes, p.seconds = clock[0], clock[1], "0"
	if len(clock) == 3 {
		p.seconds = clock[2]
	}
	return p
}

// calendarHour reports whether every number of a part is below 24; if not, the part has minutes.
func calendarHour(part string) bool {
	for _, n := range strings.FieldsFunc(part, func(r rune) bool { return r < '0' || r > '9' }) {
		if atoi(n) > 23 {
			return false
		}
	}
	return true
}

// nextRun returns the first time of a calendar event after a time, in seconds, and whether there is one. The clock of the nodes is in UTC.
//
// Source: proxmox-rs, proxmox-time/src/calendar_event.rs compute_next_event.
func nextRun(text string, after time.Time) (int64, bool) {
	p := splitCalendarEvent(text)
	t := after.UTC().Truncate(time.Second).Add(time.Second)
	for t.Year() < 2200 {
		switch year, month, day := t.Date(); {
		case !calendarHas(p.years, 0, t.Year()):
			t = time.Date(year+1, 1, 1, 0, 0, 0, 0, time.UTC)
		case !calendarHas(p.months, 1, int(month)):
			t = time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC)
		case !calendarHas(p.days, 1, day) || !calendarHasWeekday(p.weekdays, t.Weekday()):
			t = time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC)
		case !calendarHas(p.hours, 0, t.Hour()):
			t = t.Truncate(time.Hour).Add(time.Hour)
		case !calendarHas(p.minutes, 0, t.Minute()):
			t = t.Truncate(time.Minute).Add(time.Minute)
		case !calendarHas(p.seconds, 0, t.Second()):
			t = t.Add(time.Second)
		default:
			return t.Unix(), true
		}
	}
	return 0, false
}

// calendarHas reports whether a part such as 1,5..20/5 has a number. The steps of */5 begin at least.
func calendarHas(part string, least, n int) bool {
	if part == "" || part == "*" {
		return true
	}
	if step, is := strings.CutPrefix(part, "*/"); is {
		return (n-least)%atoi(step) == 0
	}
	for item := range strings.SplitSeq(part, ",") {
		m := calendarItem.FindStringSubmatch(item)
		first, last, step := atoi(m[1]), atoi(m[1]), 1
		if m[2] != "" {
			last = atoi(m[2])
		}
		if m[3] != "" {
			if step = atoi(m[3]); step > 0 && m[2] == "" {
				last = 1 << 30
			}
		}
		if n == first || step > 0 && n > first && n <= last && (n-first)%step == 0 {
			return true
		}
	}
	return false
}

// calendarHasWeekday reports whether a part such as mon..fri,sun has a day.
func calendarHasWeekday(part string, day time.Weekday) bool {
	if part == "" {
		return true
	}
	number := func(name string) int {
		return strings.Index("sunmontuewedthufrisat", strings.ToLower(name)[:3]) / 3
	}
	for item := range strings.SplitSeq(part, ",") {
		first, last, _ := strings.Cut(item, "..")
		if last == "" {
			last = first
		}
		days := (number(last) - number(first) + 7) % 7
		if (int(day)-number(first)+7)%7 <= days {
			return true
		}
	}
	return false
}
