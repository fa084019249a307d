package journal

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	segmentSuffix = ".journal"
	baseSuffix    = ".base"
	tmpSuffix     = ".tmp"
	seqDigits     = 20
)

// segmentName returns the name of the segment whose first record has the given number.
func segmentName(first uint64) string { return fmt.Sprintf("%0*d%s", seqDigits, first, segmentSuffix) }

// baseName returns the name of the base that replaces the records up to the given number.
func baseName(last uint64) string { return fmt.Sprintf("%0*d%s", seqDigits, last, baseSuffix) }

// listing is the files of a journal in a directory. Other files in the directory are ignored.
type listing struct {
	base       string   // the newest base; "" before the first compaction
	segments   []string // after the base, oldest first
	obsolete   []string // replaced by the base, but a compaction was interrupted before it removed them
	unfinished []string // temporary files that never got their names
}

func parseListing(names []string) listing {
	var l listing
	var last uint64
	for _, name := range slices.Sorted(slices.Values(names)) {
		if seq, ok := parseName(name, baseSuffix); ok {
			if l.base != "" {
				l.obsolete = append(l.obsolete, l.base)
			}
			l.base, last = name, seq
		}
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if first, ok := parseName(name, segmentSuffix); ok {
			if l.base != "" && first <= last {
				l.obsolete = append(l.obsolete, name)
			} else {
				l.segments = append(l.segments, name)
			}
		}
		for _, suffix := range []string{segmentSuffix + tmpSuffix, baseSuffix + tmpSuffix} {
			if _, ok := parseName(name, suffix); ok {
				l.unfinished = append(l.unfinished, name)
			}
		}
	}
	return l
}

// files returns the files to read, in order.
func (l listing) files() []string {
	if l.base == "" {
		return slices.Clone(l.segments)
	}
	return append([]string{l.base}, l.segments...)
}

func parseName(name, suffix string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok || len(digits) != seqDigits {
		return 0, false
	}
	seq, err := strconv.ParseUint(digits, 10, 64)
	return seq, err == nil
}

// all returns every file that has its final name.
func (l listing) all() []string { return append(l.files(), l.obsolete...) }

// active returns the segment that commits are written to, or "" if there is none.
func (l listing) active() string {
	if len(l.segments) == 0 {
		return ""
	}
	return l.segments[len(l.segments)-1]
}
