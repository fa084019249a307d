package manifest

import (
	"regexp"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a revision must read alike on every machine, also on one without zone files
)

var (
	windowShape = regexp.MustCompile(`^([A-Za-z,-]+) ([0-2][0-9]:[0-5][0-9])-([0-2][0-9]:[0-5][0-9]) ([A-Za-z0-9_+/-]+)$`)
	weekdays    = []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}
)

// window is a weekly time to restart in: "Sat 02:00-04:00 Europe/Berlin", "Mon-Fri,Sun 22:00-02:00 UTC" or "daily ...". An end
// before the beginning is on the next day.
func window(into *opt[string]) value { return leaf[string]{into, weekly{}} }

type weekly struct{}

func (weekly) parse(n *node) (string, *complaint) {
	const want = "days, hours and a time zone, such as Sat 02:00-04:00 Europe/Berlin"
	match := windowShape.FindStringSubmatch(n.text)
	if n.kind != scalarNode || match == nil || !hour(match[2]) || !hour(match[3]) || match[2] == match[3] {
		return "", wanted(n, want)
	}
	if !areDays(match[1]) {
		return "", &complaint{message: "got the days " + quote(match[1]) + ", want daily, or days such as Sat or Mon-Fri,Sun"}
	}
	if _, err := time.LoadLocation(match[4]); err != nil || match[4] == "Local" {
		return "", &complaint{message: "got the time zone " + quote(match[4]) + ", want one such as Europe/Berlin or UTC"}
	}
	return n.text, nil
}

func (weekly) format(s string) string { return s }

func (weekly) form() schema { return schema{Type: nullable("string"), Pattern: windowShape.String()} }

func hour(clock string) bool {
	_, err := time.Parse("15:04", clock)
	return err == nil
}

func areDays(days string) bool {
	if days == "daily" {
		return true
	}
	for part := range strings.SplitSeq(days, ",") {
		first, last, ranged := strings.Cut(part, "-")
		if !slices.Contains(weekdays, first) || ranged && !slices.Contains(weekdays, last) {
			return false
		}
	}
	return true
}
