package pvesim

import (
	"fmt"
	"strconv"
	"strings"
)

// calendarEvent matches calendar events, apart from the order of ranges.
var calendarEvent = func() *pattern {
	values := func(number string) string {
		item := number + `(?:\.\.` + number + `)?(?:/` + number + `)?`
		return `(?:\*(?:/` + number + `)?|` + item + `(?:,` + item + `)*)`
	}
	const (
		hour, minute          = `0*(?:1?\d|2[0-3])`, `0*[1-5]?\d`
		year, month, monthDay = `0*(?:1?\d{1,3}|2[01]\d\d)`, `0*(?:\d|1[0-2])`, `0*(?:[12]?\d|3[01])`
		day                   = `(?:mon(?:day)?|tue(?:sday)?|wed(?:nesday)?|thu(?:rsday)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)`
		days                  = day + `(?:\.\.` + day + `)?`
	)
	date := `(?:` + values(year) + `-)?` + values(month) + `-` + values(monthDay)
	clock := `(?:` + values(hour) + `:)?` + values(minute) + `(?::` + values(minute) + `)?`
	return newPattern(`^(?:minutely|hourly|daily|weekly|monthly|yearly|annually|quarterly|semi-?annually|(?:(?i:` + days + `(?:,` + days + `)*)[ \t]*)?(?:` + date + `(?:[ \t]+|$))?(?:` + clock + `)?)$`)
}()

var (
	calendarRange = newPattern(`(\d+)\.\.(\d+)`)
	everyZero     = newPattern(`\*/0+(\D|$)`)
)

// checkCalendarEvent refuses a text that is no calendar event. The recorded host had a stub in place of Proxmox's parser, so no recording shows this.
// The text is what Proxmox said of a word; of other mistakes it may say more.
//
// Source: PVE::CalendarEvent pve_verify_calendar_event, and proxmox-rs, proxmox-time/src/calendar_event.rs.
func checkCalendarEvent(s string) error {
	text := strings.TrimRight(strings.TrimSuffix(strings.TrimSpace(s), "UTC"), " ")
	valid := text != "" && calendarEvent.MatchString(text) && !everyZero.MatchString(text)
	for _, ends := range calendarRange.FindAllStringSubmatch(text, -1) {
		first, _ := strconv.Atoi(ends[1])
		last, _ := strconv.Atoi(ends[2])
		valid = valid && first <= last
	}
	if !valid {
		return fmt.Errorf("invalid calendar event '%s' - unable to parse calendar event - unexpected value\n", s) //nolint:staticcheck // Proxmox's text
	}
	return nil
}
