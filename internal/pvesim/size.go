package pvesim

import (
	"math"
	"strconv"
)

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
	gib = int64(1) << 30
	tib = int64(1) << 40
)

var sizePattern = newPattern(`^(\d+(\.\d+)?)([KMGT])?$`)

// parseSize reads a disk size such as 32G, 4.5G, 512M or plain bytes. It returns bytes.
func parseSize(s string) (int64, bool) {
	m := sizePattern.FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	f, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, false
	}
	unit := map[string]int64{"": 1, "K": kib, "M": mib, "G": gib, "T": tib}[m[3]]
	return int64(math.Floor(f * float64(unit))), true
}

// formatSize prints a size in bytes with the largest unit that divides it.
func formatSize(n int64) string {
	if n == 0 {
		return "0T"
	}
	for _, u := range []struct {
		size int64
		name string
	}{{tib, "T"}, {gib, "G"}, {mib, "M"}, {kib, "K"}} {
		if n >= u.size && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}
