package manifest

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"sync"
	"time"

	"gitops-agent/reconcile/guest/form"
	"gitops-agent/reconcile/manifest/tree"
)

// Binary units in bytes.
const (
	kib = int64(1) << (10 * (iota + 1))
	mib
	gib
	tib
)

var units = map[string]int64{"Ki": kib, "Mi": mib, "Gi": gib, "Ti": tib}

var sizeShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?([A-Za-z]*)$`) })

// parseSize reads "512Mi", "4Gi" or "1.5Ti" into bytes. Bare returns the likely unit of a number without a unit, for the hint.
func parseSize(n *tree.Node, bare func(number string) string) (int64, *rejection) {
	const want = "a size with a unit, such as 512Mi or 32Gi"
	if n.Kind != tree.Scalar {
		return 0, wanted(n, want)
	}
	match := sizeShape().FindStringSubmatch(n.Text)
	if match == nil {
		return 0, wanted(n, want)
	}
	unit, known := units[match[2]]
	if !known {
		wrong := wanted(n, want)
		if match[2] == "" {
			wrong.hint = didYouMean(match[1] + bare(match[1]))
		} else if unit := sameUnit(match[2]); unit != "" {
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

// sameUnit returns the intended unit for "GB", "gib", "G" and the like.
func sameUnit(unit string) string {
	return map[byte]string{'k': "Ki", 'm': "Mi", 'g': "Gi", 't': "Ti"}[unit[0]|0x20]
}

// bareMemory is the likely unit of a number without a unit: MiB as in Proxmox, unless the result would be very small.
func bareMemory(number string) string {
	const least = 128
	if mib, err := strconv.ParseFloat(number, 64); err == nil && mib >= least {
		return "Mi"
	}
	return "Gi"
}

// bareDisk is the likely unit of a number without a unit, as in Proxmox.
func bareDisk(string) string { return "Gi" }

// describeSize returns the size in its largest unit without a remainder: "4 MiB".
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

// sizePattern is the regular expression of a size in the schema.
const sizePattern = `^[0-9]+(\.[0-9]+)? ?(Ki|Mi|Gi|Ti)$`

// memory is a size in whole MiB, the unit of memory in Proxmox.
func memory(into *opt[int64], least int64) value { return scalarValue[int64]{into, memoryCodec{least}} }

type memoryCodec struct{ least int64 }

func (c memoryCodec) parse(n *tree.Node) (int64, *rejection) { return c.parseBare(n, bareMemory) }

func (c memoryCodec) parseBare(n *tree.Node, bare func(number string) string) (int64, *rejection) {
	bytes, wrong := parseSize(n, bare)
	switch {
	case wrong != nil:
		return 0, wrong
	case bytes < c.least:
		return 0, &rejection{message: fmt.Sprintf("got %s, want at least %s", describeSize(bytes), describeSize(c.least))}
	case bytes%mib != 0:
		return 0, &rejection{message: fmt.Sprintf("got %s, want whole MiB", describeSize(bytes))}
	default:
		return bytes, nil
	}
}

func (c memoryCodec) format(bytes int64) string { return strconv.FormatInt(bytes/mib, 10) }

func (c memoryCodec) form() schema {
	return schema{Type: nullable("string"), Pattern: sizePattern, Examples: textExamples("512Mi", "4Gi")}
}

// capacity is the size of a disk.
func capacity(into *opt[int64]) value {
	return scalarValue[int64]{into, diskSizeCodec{memoryCodec{mib}}}
}

type diskSizeCodec struct{ memoryCodec }

func (c diskSizeCodec) parse(n *tree.Node) (int64, *rejection) { return c.parseBare(n, bareDisk) }

func (c diskSizeCodec) form() schema {
	out := c.memoryCodec.form()
	out.Examples = textExamples("32Gi", "1.5Ti")
	return out
}

func (diskSizeCodec) format(bytes int64) string { return form.FormatSize(bytes) }

// duration is a time span such as "30s" or "5m". Proxmox stores whole seconds.
func duration(into *opt[time.Duration], most time.Duration) value {
	return scalarValue[time.Duration]{into, durationCodec{most}}
}

type durationCodec struct{ most time.Duration }

func (c durationCodec) parse(n *tree.Node) (time.Duration, *rejection) {
	d, err := time.ParseDuration(n.Text)
	if n.Kind != tree.Scalar || err != nil || d < 0 || d > c.most || d%time.Second != 0 {
		wrong := wanted(n, fmt.Sprintf("a time span in whole seconds up to %s, such as 30s or 5m", c.most))
		if seconds, err := strconv.ParseUint(n.Text, 10, 32); err == nil && time.Duration(seconds)*time.Second <= c.most {
			wrong.hint = didYouMean(n.Text + "s")
		}
		return 0, wrong
	}
	return d, nil
}

func (c durationCodec) format(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

func (c durationCodec) form() schema {
	return schema{Type: nullable("string"), Pattern: `^([0-9.]+(h|m|s|ms))+$`, Examples: textExamples("30s", "5m")}
}

// timestamp is a date or a time: "2026-03-01" is midnight UTC.
func timestamp(into *opt[time.Time]) value { return scalarValue[time.Time]{into, timeCodec{}} }

type timeCodec struct{}

func (timeCodec) parse(n *tree.Node) (time.Time, *rejection) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, n.Text); n.Kind == tree.Scalar && err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, wanted(n, "a date or time, such as 2026-03-01 or 2026-03-01T18:00:00Z")
}

func (timeCodec) format(t time.Time) string { return t.Format(time.RFC3339) }

func (timeCodec) form() schema {
	return schema{Type: nullable("string"), Examples: textExamples("2026-03-01", "2026-03-01T18:00:00Z")}
}
