package schedule

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // a manifest must have the same meaning on every machine, also on one without zone files
)

// Window is a weekly period in a time zone: "Sat 02:00-04:00 Europe/Berlin", "Mon-Fri,Sun 22:00-02:00 UTC" or "daily ...". If the end is before
// the beginning, it is on the next day. The zero Window is never open.
type Window struct {
	days     [7]bool // by time.Weekday, on which it opens
	from, to int     // minutes of the day; to is exclusive
	zone     *time.Location
}

// WindowPattern is the regular expression for the text of a window.
const WindowPattern = `^([A-Za-z,-]+) ([0-2][0-9]:[0-5][0-9])-([0-2][0-9]:[0-5][0-9]) ([A-Za-z0-9_+/-]+)$`

var (
	windowShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(WindowPattern) })
	weekdays    = []string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"} // as time.Weekday counts
)

// ParseWindow reads a window. The error states what is wanted.
func ParseWindow(text string) (Window, error) {
	match := windowShape().FindStringSubmatch(text)
	if match == nil {
		return Window{}, fmt.Errorf("got %q, want days, hours and a time zone, such as Sat 02:00-04:00 Europe/Berlin", text)
	}
	var w Window
	var err error
	if w.from, err = minuteOfDay(match[2]); err != nil {
		return Window{}, err
	}
	if w.to, err = minuteOfDay(match[3]); err != nil {
		return Window{}, err
	}
	if w.from == w.to {
		return Window{}, fmt.Errorf("got the hours %s-%s, want an end that differs from the beginning", match[2], match[3])
	}
	if w.days, err = parseDays(match[1]); err != nil {
		return Window{}, err
	}
	if w.zone, err = loadZone(match[4]); err != nil {
		return Window{}, err
	}
	return w, nil
}

// loadZone returns the time zone with a name. The zone of the machine has none that means the same elsewhere.
func loadZone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, fmt.Errorf("got the time zone %q, want one such as Europe/Berlin or UTC", name)
	}
	return zone, nil
}

func minuteOfDay(clock string) (int, error) {
	at, err := time.Parse("15:04", clock)
	if err != nil {
		return 0, fmt.Errorf("got the hour %q, want one such as 02:00", clock)
	}
	return at.Hour()*60 + at.Minute(), nil
}

func parseDays(text string) (days [7]bool, err error) {
	if text == "daily" {
		return [7]bool{true, true, true, true, true, true, true}, nil
	}
	days, known := dayList(text, "-", func(name string) int { return slices.Index(weekdays, name) })
	if !known {
		return days, fmt.Errorf("got the days %q, want daily, or days such as Sat or Mon-Fri,Sun", text)
	}
	return days, nil
}

// dayList reads days and ranges of days with commas between them. Number returns that of the day with a name, -1 for an unknown one. It returns false if a name is
// unknown.
func dayList(text, through string, number func(name string) int) (days [7]bool, known bool) {
	for part := range strings.SplitSeq(text, ",") {
		first, last, ranged := strings.Cut(part, through)
		if !ranged {
			last = first
		}
		from, to := number(first), number(last)
		if from < 0 || to < 0 {
			return days, false
		}
		for day := from; ; day = (day + 1) % 7 {
			days[day] = true
			if day == to {
				break
			}
		}
	}
	return days, true
}

// Contains reports whether the window is open at a time. The hours are local time in the window's zone, also on days when daylight saving time
// begins or ends.
func (w Window) Contains(at time.Time) bool {
	if w.zone == nil {
		return false
	}
	local := at.In(w.zone)
	return w.isOpen(local.Weekday(), local.Hour()*60+local.Minute())
}

// isOpen reports whether the window is open at a minute of a day, in its zone.
func (w Window) isOpen(today time.Weekday, minute int) bool {
	if w.from < w.to {
		return w.days[today] && w.from <= minute && minute < w.to
	}
	yesterday := (today + 6) % 7
	return w.days[today] && minute >= w.from || w.days[yesterday] && minute < w.to
}

// Within reports whether the other window is open whenever this one is. It is false if their zones differ, since the rules of a zone may change.
func (w Window) Within(other Window) bool {
	if w.zone == nil {
		return true
	}
	if other.zone == nil || w.zone.String() != other.zone.String() {
		return false
	}
	for day := range time.Weekday(7) {
		for minute := range 24 * 60 {
			if w.isOpen(day, minute) && !other.isOpen(day, minute) {
				return false
			}
		}
	}
	return true
}

// Next returns when the window opens next: the time itself while the window is open, the zero time if it never opens. It is exact to the minute.
func (w Window) Next(at time.Time) time.Time {
	if w.zone == nil {
		return time.Time{}
	}
	if w.Contains(at) {
		return at
	}
	now := at.In(w.zone)
	for day := range 9 {
		opens, skipped := local(now.Year(), now.Month(), now.Day()+day, w.from, w.zone)
		if skipped {
			opens, _ = opens.ZoneBounds() // the first minute after the hour that the day skips
		}
		if opens.After(at) && w.days[opens.Weekday()] && w.Contains(opens) {
			return opens
		}
	}
	return time.Time{}
}
