package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Event is when something happens again and again, as a calendar event of Proxmox, as in the schedule of a backup job or a replication job. Its text has
// these parts, of which one is enough, and UTC may follow them:
//
//	DAYS   mon, Monday, mon..fri, sat,sun
//	DATE   2027-1..3-1, *-*-01, 12-24
//	TIME   21:00, 8..17/2:0/15, *:30:10, and minutes alone: */15
//
// or it is a word such as hourly. 25:30 is also accepted: 25 is no hour, so it is minute 25 and second 30 of each hour. A Calendar is a small part of these texts.
//
// Source: proxmox-rs, proxmox-time/src/calendar_event.rs. Older releases accept neither dates nor seconds, and refuse them themselves.
type Event struct {
	days                     [7]bool // by time.Weekday; none for every day
	years, months, monthDays values
	hours, minutes, seconds  values
	utc                      bool

	noYear  bool // the text has a date without a year
	noHours int  // how many parts the time has if it begins with minutes, 1 or 2
	isClock bool // the text has hours, minutes and seconds
}

// values is which numbers a part of an event has; none is every number.
type values []span

// span is a number, or every step-th number from first to last.
type span struct{ first, last, step int }

func (v values) has(n int) bool {
	for _, s := range v {
		if n >= s.first && n <= s.last && (n-s.first)%s.step == 0 {
			return true
		}
	}
	return len(v) == 0
}

// single returns the only number of v.
func (v values) single() (int, bool) {
	if len(v) != 1 || v[0].first+v[0].step <= v[0].last {
		return 0, false
	}
	return v[0].first, true
}

// one returns the values that are a number alone.
func one(n int) values { return values{{n, n, 1}} }

// The numbers of a part of an event are below these.
const (
	eventYears, eventMonths, eventMonthDays = 2200, 13, 32
	eventHours, eventMinutes                = 24, 60 // as many seconds as minutes
)

// IsEvent reports whether Proxmox accepts a text as a calendar event.
func IsEvent(text string) bool {
	_, err := ParseEvent(text)
	return err == nil
}

// ParseEvent reads a calendar event as Proxmox does.
func ParseEvent(text string) (Event, error) {
	rest, utc := strings.CutSuffix(strings.TrimSpace(text), "UTC")
	rest = strings.TrimRight(rest, " ")
	if e, known := eventWords[rest]; known {
		e.utc = utc
		return e, nil
	}
	e := eventText{rest: rest, Event: Event{utc: utc}}
	any := false
	if rest != "" && isLetter(rest[0]) {
		if !e.list(e.weekdays) {
			return Event{}, fmt.Errorf("got %q, want a calendar event", text)
		}
		any = true
		e.spaces()
	}
	if e.attempt(e.date) {
		any = true
		e.spaces()
	}
	if e.attempt(e.time) {
		any = true
	} else {
		e.hours, e.minutes, e.seconds = one(0), one(0), one(0)
	}
	if !any || e.rest != "" {
		return Event{}, fmt.Errorf("got %q, want a calendar event", text)
	}
	return e.Event, nil
}

var eventWords = func() map[string]Event {
	midnight := Event{hours: one(0), minutes: one(0), seconds: one(0)}
	in := func(months ...int) Event {
		e := midnight
		e.monthDays = one(1)
		for _, month := range months {
			e.months = append(e.months, one(month)...)
		}
		return e
	}
	weekly := midnight
	weekly.days[time.Monday] = true
	return map[string]Event{
		"minutely": {seconds: one(0)}, "hourly": {minutes: one(0), seconds: one(0)}, "daily": midnight, "weekly": weekly, "monthly": in(), "yearly": in(1), "annually": in(1),
		"quarterly": in(1, 4, 7, 10), "semiannually": in(1, 7), "semi-annually": in(1, 7),
	}
}()

// eventText is the rest of a text that is read, and what was read. A method that returns false may have read a part: attempt gives it back.
type eventText struct {
	Event
	rest string
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// attempt reads what read reads, or nothing.
func (e *eventText) attempt(read func() bool) bool {
	before := *e
	if read() {
		return true
	}
	*e = before
	return false
}

func (e *eventText) spaces() { e.rest = strings.TrimLeft(e.rest, " \t") }

func (e *eventText) text(text string) bool {
	rest, found := strings.CutPrefix(e.rest, text)
	e.rest = rest
	return found
}

// while reads the bytes for which is returns true.
func (e *eventText) while(is func(byte) bool) string {
	n := 0
	for n < len(e.rest) && is(e.rest[n]) {
		n++
	}
	read := e.rest[:n]
	e.rest = e.rest[n:]
	return read
}

// list reads items with commas between them.
func (e *eventText) list(item func() bool) bool {
	if !item() {
		return false
	}
	for e.attempt(func() bool { return e.text(",") && item() }) {
		continue
	}
	return true
}

// weekday reads the name of a day, short or long.
func (e *eventText) weekday() (time.Weekday, bool) {
	name := e.while(isLetter)
	for day := time.Sunday; day <= time.Saturday; day++ {
		if strings.EqualFold(name, day.String()) || strings.EqualFold(name, day.String()[:3]) {
			return day, true
		}
	}
	return 0, false
}

// weekdays reads a day, or the days from one to another: fri..mon is four days.
func (e *eventText) weekdays() bool {
	first, ok := e.weekday()
	if !ok {
		return false
	}
	last := first
	e.attempt(func() bool {
		if !e.text("..") {
			return false
		}
		day, found := e.weekday()
		if found {
			last = day
		}
		return found
	})
	for day := first; ; day = (day + 1) % 7 {
		e.days[day] = true
		if day == last {
			return true
		}
	}
}

// number reads a number below a limit.
func (e *eventText) number(below int) (int, bool) {
	n, err := strconv.Atoi(e.while(isDigit))
	return n, err == nil && n < below
}

// values reads *, */5, or a list of 5, 5..10, 5/10 and 5..20/5, all numbers below a limit. The steps of */5 begin at start.
func (e *eventText) values(into *values, start, below int) bool {
	step := func(least, otherwise int) (int, bool) {
		if !e.text("/") {
			return otherwise, true
		}
		n, ok := e.number(below)
		return n, ok && n >= least
	}
	if e.text("*") {
		n, ok := step(1, 1)
		if *into = nil; n > 1 {
			*into = values{{start, below - 1, n}}
		}
		return ok
	}
	var read values
	ok := e.list(func() bool {
		first, ok := e.number(below)
		if !ok {
			return false
		}
		last, open := first, true
		e.attempt(func() bool {
			if !e.text("..") {
				return false
			}
			n, found := e.number(below)
			if found {
				last, open = n, false
			}
			return found
		})
		n, ok := step(0, -1)
		switch {
		case n == 0: // 5/0 is 5
			last, n = first, 1
		case n < 0:
			n = 1
		case open:
			last = below - 1
		}
		read = append(read, span{first, last, n})
		return ok && last >= first
	})
	*into = read
	return ok
}

// date reads years, months and days, or months and days.
func (e *eventText) date() bool {
	monthDays := func() bool {
		return e.values(&e.months, 1, eventMonths) && e.text("-") && e.values(&e.monthDays, 1, eventMonthDays)
	}
	if e.attempt(func() bool { return e.values(&e.years, 0, eventYears) && e.text("-") && monthDays() }) {
		return true
	}
	e.noYear = true
	return monthDays()
}

// time reads hours, minutes and seconds. Minutes may stand alone.
func (e *eventText) time() bool {
	if !e.attempt(func() bool { return e.values(&e.hours, 0, eventHours) && e.text(":") }) {
		e.hours = nil
		e.noHours = 2
	}
	if !e.values(&e.minutes, 0, eventMinutes) {
		return false
	}
	e.isClock = e.noHours == 0
	if e.seconds = one(0); !e.attempt(func() bool { return e.text(":") && e.values(&e.seconds, 0, eventMinutes) }) {
		e.noHours = min(e.noHours, 1)
		e.isClock = false
	}
	return true
}
