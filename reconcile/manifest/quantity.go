package manifest

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"

	"gitops-agent/reconcile/guest"
)

// Binary units, as bytes.
const (
	kib = int64(1) << (10 * (iota + 1))
	mib
	gib
	tib
)

var units = map[string]int64{"Ki": kib, "Mi": mib, "Gi": gib, "Ti": tib}

var sizeShape = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?([A-Za-z]*)$`)

// parseSize reads "512Mi", "4Gi" or "1.5Ti" into bytes.
func parseSize(n *node) (int64, *complaint) {
	const want = "a size with a unit, such as 512Mi or 32Gi"
	if n.kind != scalarNode {
		return 0, wanted(n, want)
	}
	match := sizeShape.FindStringSubmatch(n.text)
	if match == nil {
		return 0, wanted(n, want)
	}
	unit, known := units[match[2]]
	if !known {
		wrong := wanted(n, want)
		if unit := sameUnit(match[2]); unit != "" {
			wrong.hint = didYouMean(match[1] + unit)
		}
		return 0, wrong
	}
	number, err := strconv.ParseFloat(match[1], 64)
	bytes := number * float64(unit)
	if err != nil || bytes >= math.MaxInt64/2 || bytes != math.Trunc(bytes) {
		return 0, wanted(n, "a whole number of bytes below 4096 Pi")
	}
	return int64(bytes), nil
}

// sameUnit returns the unit that was meant by "GB", "gib", "G" and the like, and Gi where none was given.
func sameUnit(unit string) string {
	if unit == "" {
		return "Gi"
	}
	return map[byte]string{'k': "Ki", 'm': "Mi", 'g': "Gi", 't': "Ti"}[unit[0]|0x20]
}

// describeSize returns the size in its largest whole unit: "4 MiB".
func describeSize(bytes int64) string {
	for _, u := range []struct {
		bytes int64
		name  string
	}{{tib, "TiB"}, {gib, "GiB"}, {mib, "MiB"}, {kib, "KiB"}} {
		if bytes >= u.bytes && bytes%u.bytes == 0 {
			return fmt.Sprintf("%d %s", bytes/u.bytes, u.name)
		}
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// sizeForm is the shape of a size in the schema.
var sizeForm = schema{Type: nullable("string"), Pattern: `^[0-9]+(\.[0-9]+)? ?(Ki|Mi|Gi|Ti)$`}

// memory is a size in whole MiB, the unit that Proxmox counts memory in.
func memory(into *opt[int64], least int64) value {
	parse := func(n *node) (int64, *complaint) {
		bytes, wrong := parseSize(n)
		switch {
		case wrong != nil:
			return 0, wrong
		case bytes < least:
			return 0, &complaint{message: fmt.Sprintf("got %s, want at least %s", describeSize(bytes), describeSize(least))}
		case bytes%mib != 0:
			return 0, &complaint{message: fmt.Sprintf("got %s, want whole MiB", describeSize(bytes))}
		}
		return bytes, nil
	}
	return leaf[int64]{into, parse, mebibytes, sizeForm}
}

func mebibytes(bytes int64) string { return strconv.FormatInt(bytes/mib, 10) }

// capacity is the size of a disk.
func capacity(into *opt[int64]) value {
	parse := func(n *node) (int64, *complaint) {
		bytes, wrong := parseSize(n)
		switch {
		case wrong != nil:
			return 0, wrong
		case bytes < mib || bytes%mib != 0:
			return 0, &complaint{message: fmt.Sprintf("got %s, want whole MiB, at least 1 MiB", describeSize(bytes))}
		}
		return bytes, nil
	}
	return leaf[int64]{into, parse, guest.FormatSize, sizeForm}
}

// duration is a time span such as "30s" or "5m", in whole seconds to Proxmox.
func duration(into *opt[time.Duration], most time.Duration) value {
	parse := func(n *node) (time.Duration, *complaint) {
		want := fmt.Sprintf("a time span in whole seconds up to %s, such as 30s or 5m", most)
		if n.kind != scalarNode {
			return 0, wanted(n, want)
		}
		d, err := time.ParseDuration(n.text)
		if err != nil || d < 0 || d > most || d%time.Second != 0 {
			return 0, wanted(n, want)
		}
		return d, nil
	}
	format := func(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }
	return leaf[time.Duration]{into, parse, format, schema{Type: nullable("string"), Pattern: `^([0-9.]+(h|m|s|ms))+$`}}
}

// moment is a day or a time: "2026-03-01" is midnight UTC.
func moment(into *opt[time.Time]) value {
	parse := func(n *node) (time.Time, *complaint) {
		for _, layout := range []string{time.RFC3339, time.DateOnly} {
			if t, err := time.Parse(layout, n.text); n.kind == scalarNode && err == nil {
				return t.UTC(), nil
			}
		}
		return time.Time{}, wanted(n, "a date or time, such as 2026-03-01 or 2026-03-01T18:00:00Z")
	}
	format := func(t time.Time) string { return t.Format(time.RFC3339) }
	return leaf[time.Time]{into, parse, format, schema{Type: nullable("string")}}
}
