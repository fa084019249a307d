package schedule

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// String says in words when an event happens: "Monday to Friday at 22:00", "every hour at minute 24".
func (e Event) String() string {
	text := e.timeWords()
	if date := e.dateWords(); date != "" && strings.HasPrefix(text, "every ") {
		text = date + ", " + text
	} else if date != "" {
		text = date + " " + text
	} else if strings.HasPrefix(text, "at ") {
		text = "every day " + text
	}
	if e.utc {
		text += " UTC"
	}
	return text
}

// Doubt says how the event differs from what its spelling suggests, and what to write instead; "" if it does not.
func (e Event) Doubt() string {
	_, oneHour := e.hours.single()
	minute, oneMinute := e.minutes.single()
	second, oneSecond := e.seconds.single()
	month, oneMonth := e.months.single()
	day, oneDay := e.monthDays.single()
	switch {
	case e.noHours == 2 && oneMinute && oneSecond:
		return fmt.Sprintf("%d is no hour, so it is minute %d and second %d; hours are 0 to 23", minute, minute, second)
	case e.noHours == 1 && e.minutes.areLikeHours():
		return fmt.Sprintf("a number alone is a minute; %[1]s:00 is an hour, and *:%[1]s a minute of every hour", e.minutes.text())
	case e.isClock && oneHour && oneSecond && !oneMinute && e.minutes.areLikeHours():
		return "it is an hour with minutes and a second, and not several times of a day; 8,20:00 is 08:00 and 20:00"
	case e.noYear && e.days != [7]bool{} && oneMonth && oneDay && month < day && day <= eventHours:
		return fmt.Sprintf("%d-%d is the date %d %s; hours are %d..%d", month, day, day, monthName(month), month, day)
	}
	if n, uneven := e.minutes.uneven(eventMinutes); uneven {
		return fmt.Sprintf("60 minutes are not a multiple of %d: it begins again in each hour", n)
	}
	if n, uneven := e.hours.uneven(eventHours); uneven {
		return fmt.Sprintf("24 hours are not a multiple of %d: it begins again on each day", n)
	}
	return ""
}

// areLikeHours reports whether all numbers of v, which have no steps, could be hours, and are not 0 alone.
func (v values) areLikeHours() bool {
	for _, s := range v {
		if s.step != 1 || s.last >= eventHours {
			return false
		}
	}
	n, one := v.single()
	return len(v) > 0 && (!one || n > 0)
}

// text returns values without steps as an event has them: "8,20", "0..5".
func (v values) text() string {
	list := make([]string, len(v))
	for i, s := range v {
		if list[i] = strconv.Itoa(s.first); s.last > s.first {
			list[i] += ".." + strconv.Itoa(s.last)
		}
	}
	return strings.Join(list, ",")
}

// uneven returns the step of */7, of which the last is shorter than the others.
func (v values) uneven(of int) (int, bool) {
	if len(v) != 1 || v[0].step == 1 || v[0].last != of-1 {
		return 0, false
	}
	return v[0].step, of%v[0].step != 0
}

func (e Event) timeWords() string {
	minute, oneMinute := e.minutes.single()
	second, oneSecond := e.seconds.single()
	seconds := ""
	switch {
	case !oneSecond && len(e.seconds) == 0:
		seconds = ", in every second"
	case !oneSecond || second != 0:
		seconds = ", second " + e.seconds.words(decimal)
	}
	if clock, few := e.clocks(); few {
		return "at " + clock
	}
	var text string
	switch {
	case len(e.minutes) == 0:
		text = "every minute"
	case len(e.minutes) == 1 && e.minutes[0].first == 0 && e.minutes[0].step > 1 && e.minutes[0].last == eventMinutes-1 && eventMinutes%e.minutes[0].step == 0:
		text = fmt.Sprintf("every %d minutes", e.minutes[0].step)
	case oneMinute && len(e.hours) == 0:
		return fmt.Sprintf("every hour at minute %d", minute) + seconds
	case len(e.hours) == 0:
		return "every hour at minute " + e.minutes.words(decimal) + seconds
	default:
		text = "at minute " + e.minutes.words(decimal)
	}
	if len(e.hours) > 0 {
		text += " of the hours " + e.hours.words(decimal)
	}
	return text + seconds
}

// clocks returns the times of a day if they are few: "02:30, 14:30".
func (e Event) clocks() (string, bool) {
	minute, oneMinute := e.minutes.single()
	second, oneSecond := e.seconds.single()
	if !oneMinute || !oneSecond || len(e.hours) == 0 {
		return "", false
	}
	var list []string
	for hour := range eventHours {
		if !e.hours.has(hour) {
			continue
		}
		clock := fmt.Sprintf("%02d:%02d", hour, minute)
		if second != 0 {
			clock += fmt.Sprintf(":%02d", second)
		}
		list = append(list, clock)
	}
	return strings.Join(list, ", "), len(list) <= 4
}

func (e Event) dateWords() string {
	var weekdays []string
	for n := range 7 {
		if e.days[(n+1)%7] {
			weekdays = append(weekdays, time.Weekday((n+1)%7).String())
		}
	}
	days := strings.Join(weekdays, ", ")
	if len(weekdays) == 7 {
		days = ""
	}
	if len(weekdays) > 2 && days != "" && strings.Contains("Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday", days) {
		days = weekdays[0] + " to " + weekdays[len(weekdays)-1]
	}
	month, oneMonth := e.months.single()
	day, oneDay := e.monthDays.single()
	date := ""
	switch {
	case oneMonth && oneDay:
		date = "on " + strconv.Itoa(day) + " " + monthName(month)
	case len(e.monthDays) > 0 && len(e.months) == 0:
		date = "on day " + e.monthDays.words(decimal) + " of every month"
		if oneDay && day > 28 {
			date += " that has it"
		}
	case len(e.monthDays) > 0:
		date = "on day " + e.monthDays.words(decimal) + " of " + e.months.words(monthName)
	case len(e.months) > 0:
		date = "every day in " + e.months.words(monthName)
	}
	if len(e.years) > 0 {
		date = cmp.Or(date, "every day") + " in " + e.years.words(decimal)
	}
	switch {
	case days == "":
		return date
	case date == "":
		return days
	default:
		return days + " " + strings.TrimPrefix(date, "every day ")
	}
}

// monthName returns "March". Proxmox takes 0 for a month, which does not exist.
func monthName(n int) string {
	if n == 0 {
		return "month 0"
	}
	return time.Month(n).String()
}

func decimal(n int) string { return strconv.Itoa(n) }

// words returns "0, 30", "8 to 17", "0 to 59 in steps of 7".
func (v values) words(name func(int) string) string {
	list := make([]string, 0, len(v))
	for _, s := range v {
		switch n := (s.last-s.first)/s.step + 1; {
		case n > 4 || n > 2 && s.step == 1:
			text := name(s.first) + " to " + name(s.last)
			if s.step > 1 {
				text += " in steps of " + strconv.Itoa(s.step)
			}
			list = append(list, text)
		default:
			for i := range n {
				list = append(list, name(s.first+i*s.step))
			}
		}
	}
	return strings.Join(list, ", ")
}
