package schedule

import (
	"slices"
	"strconv"
	"strings"
)

// IsEvent reports whether Proxmox accepts a text as a calendar event, as in the schedule of a backup job or a replication job. A text has these parts, of which one is
// enough, and UTC may follow them:
//
//	DAYS   mon, Monday, mon..fri, sat,sun
//	DATE   2027-1..3-1, *-*-01, 12-24
//	TIME   21:00, 8..17/2:0/15, *:30:10, and minutes alone: */15
//
// or it is a word such as hourly. 25:30 is also accepted: 25 is no hour, so it is minute 25 and second 30 of each hour. A Calendar is a small part of these texts.
//
// Source: proxmox-rs, proxmox-time/src/calendar_event.rs. Older releases accept neither dates nor seconds, and refuse them themselves.
func IsEvent(text string) bool {
	text, _ = strings.CutSuffix(strings.TrimSpace(text), "UTC")
	text = strings.TrimRight(text, " ")
	if slices.Contains(eventWords, text) {
		return true
	}
	e := eventText{rest: text}
	any := false
	if text != "" && isLetter(text[0]) {
		if !e.list(e.days) {
			return false
		}
		any = true
		e.spaces()
	}
	if e.attempt(e.date) {
		any = true
		e.spaces()
	}
	any = e.attempt(e.time) || any
	return any && e.rest == ""
}

var (
	eventWords = []string{"minutely", "hourly", "daily", "weekly", "monthly", "yearly", "annually", "quarterly", "semiannually", "semi-annually"}
	eventDays  = []string{"monday", "mon", "tuesday", "tue", "wednesday", "wed", "thursday", "thu", "friday", "fri", "saturday", "sat", "sunday", "sun"}
)

// The numbers in a date and a time are below these.
const (
	eventYears, eventMonths, eventMonthDays = 2200, 13, 32
	eventHours, eventMinutes                = 24, 60 // as many seconds as minutes
)

// eventText is the rest of a text that is read. A method that returns false may have read a part: attempt gives it back.
type eventText struct{ rest string }

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// attempt reads what read reads, or nothing.
func (e *eventText) attempt(read func() bool) bool {
	before := e.rest
	if read() {
		return true
	}
	e.rest = before
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

func (e *eventText) day() bool { return slices.Contains(eventDays, strings.ToLower(e.while(isLetter))) }

func (e *eventText) days() bool {
	if !e.day() {
		return false
	}
	e.attempt(func() bool { return e.text("..") && e.day() })
	return true
}

// number reads a number below a limit.
func (e *eventText) number(below int) (int, bool) {
	n, err := strconv.Atoi(e.while(isDigit))
	return n, err == nil && n < below
}

// values reads *, */5, or a list of 5, 5..10, 5/10 and 5..20/5, all numbers below a limit.
func (e *eventText) values(below int) bool {
	step := func(least int) bool {
		if !e.text("/") {
			return true
		}
		n, ok := e.number(below)
		return ok && n >= least
	}
	if e.text("*") {
		return step(1)
	}
	return e.list(func() bool {
		first, ok := e.number(below)
		if !ok {
			return false
		}
		last := first
		e.attempt(func() bool {
			if !e.text("..") {
				return false
			}
			n, found := e.number(below)
			if found {
				last = n
			}
			return found
		})
		return last >= first && step(0)
	})
}

// date reads years, months and days, or months and days.
func (e *eventText) date() bool {
	monthDays := func() bool { return e.values(eventMonths) && e.text("-") && e.values(eventMonthDays) }
	return e.attempt(func() bool { return e.values(eventYears) && e.text("-") && monthDays() }) || monthDays()
}

// time reads hours, minutes and seconds. Minutes may stand alone.
func (e *eventText) time() bool {
	e.attempt(func() bool { return e.values(eventHours) && e.text(":") })
	if !e.values(eventMinutes) {
		return false
	}
	e.attempt(func() bool { return e.text(":") && e.values(eventMinutes) })
	return true
}
