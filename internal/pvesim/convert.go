package pvesim

import (
	"slices"
	"strconv"
	"strings"
)

func atoi(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		return 0
	}
	return n
}

func itoa(n int) string { return strconv.Itoa(n) }

func itoa64(n int64) string { return strconv.FormatInt(n, 10) }

func boolToInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func firstLine(s string) string {
	l, _, _ := strings.Cut(s, "\n")
	return l
}

var listSeparators = newPattern(`[;,\s\x00]+`)

// listOf splits a list parameter at commas, semicolons and blanks.
func listOf(s string) []string {
	return slices.DeleteFunc(listSeparators.Split(s, -1), func(p string) bool { return p == "" })
}
