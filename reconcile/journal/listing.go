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

// segmentName is named for the first record that it may hold.
func segmentName(first uint64) string { return fmt.Sprintf("%0*d%s", seqDigits, first, segmentSuffix) }

// baseName is named for the last record that it stands for.
func baseName(last uint64) string { return fmt.Sprintf("%0*d%s", seqDigits, last, baseSuffix) }

// listing is what a directory holds of a journal. Other files in it are not the journal's business.
type listing struct {
	base     string   // the newest base; "" when nothing was compacted yet
	segments []string // those after it, oldest first
	covered  []string // files that the base stands for: a compaction was interrupted before they were removed
	tmp      []string // files that were never finished
}

func parseListing(names []string) listing {
	var l listing
	var last uint64
	for _, name := range slices.Sorted(slices.Values(names)) {
		if seq, ok := parseName(name, baseSuffix); ok {
			if l.base != "" {
				l.covered = append(l.covered, l.base)
			}
			l.base, last = name, seq
		}
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if first, ok := parseName(name, segmentSuffix); ok {
			if l.base != "" && first <= last {
				l.covered = append(l.covered, name)
			} else {
				l.segments = append(l.segments, name)
			}
		}
		for _, suffix := range []string{segmentSuffix + tmpSuffix, baseSuffix + tmpSuffix} {
			if _, ok := parseName(name, suffix); ok {
				l.tmp = append(l.tmp, name)
			}
		}
	}
	return l
}

// files returns what has to be read, in order.
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

// all returns every finished file.
func (l listing) all() []string { return append(l.files(), l.covered...) }

// growing returns the segment that commits are written to, "" when there is none.
func (l listing) growing() string {
	if len(l.segments) == 0 {
		return ""
	}
	return l.segments[len(l.segments)-1]
}
