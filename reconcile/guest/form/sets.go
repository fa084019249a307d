package form

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// DefaultHotplug is the value of the hotplug key if it is 1 or absent.
const DefaultHotplug = "disk,network,usb"

func canonicalHotplug(text string) string {
	set := Scalar{Form: Set, Separator: ","}
	if words := set.canonicalWords(text); words != "1" {
		return words
	}
	return DefaultHotplug
}

// numberRange is a range of numbers, both ends inclusive.
type numberRange struct{ first, last uint64 }

// parseRanges appends the ranges of text, "0;2-3", in their order. It returns false for anything but numbers, and for a range that ends before
// it begins.
func parseRanges(ranges []numberRange, text string) ([]numberRange, bool) {
	for word, rest := CutWord(text); word != ""; word, rest = CutWord(rest) {
		low, high, ranged := strings.Cut(word, "-")
		if !ranged {
			high = low
		}
		first, errFirst := strconv.ParseUint(low, 10, 32)
		last, errLast := strconv.ParseUint(high, 10, 32)
		if errFirst != nil || errLast != nil || last < first {
			return nil, false
		}
		ranges = append(ranges, numberRange{first, last})
	}
	return ranges, len(ranges) > 0
}

// canonicalPCI returns a PCI address without the default domain, in lower case.
func canonicalPCI(text string) string {
	text = strings.ToLower(text)
	if rest, ok := strings.CutPrefix(text, "0000:"); ok && strings.Contains(rest, ":") {
		return rest
	}
	return text
}

// canonicalUSB returns a USB device in lower case, with vendor and product without 0x.
func canonicalUSB(text string) string {
	text = strings.ToLower(text)
	vendor, product, ok := strings.Cut(text, ":")
	if !ok {
		return text
	}
	return strings.TrimPrefix(vendor, "0x") + ":" + strings.TrimPrefix(product, "0x")
}

// canonicalEnvironment returns the variables sorted by name. If two variables have the same name, the last one counts, so they keep their
// order.
func canonicalEnvironment(text string) string {
	variables := slices.DeleteFunc(strings.Split(text, "\x00"), func(v string) bool { return v == "" })
	slices.SortStableFunc(variables, func(a, b string) int { return strings.Compare(variableName(a), variableName(b)) })
	return strings.Join(slices.Compact(variables), "\x00")
}

func variableName(variable string) string {
	name, _, _ := strings.Cut(variable, "=")
	return name
}

// checkEnvironment accepts NAME=value, separated by NUL.
func checkEnvironment(text string) error {
	for variable := range strings.SplitSeq(text, "\x00") {
		name, value, ok := strings.Cut(variable, "=")
		if !ok || name == "" || strings.IndexFunc(name, isOutsideName) >= 0 || strings.ContainsFunc(value, isControl) {
			return fmt.Errorf("got %q, want NAME=value", variable)
		}
	}
	return nil
}

func isOutsideName(r rune) bool { return r != '_' && (r > 'z' || !isAlphanumeric(byte(r))) }

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// canonicalAddress returns the shortest spelling of an IP address, with or without a prefix length. Any other text is a word, such as
// dhcp, and is returned unchanged.
func canonicalAddress(text string) string {
	if strings.IndexByte(text, ':') < 0 && strings.IndexByte(text, '.') < 0 {
		return text
	}
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return prefix.String()
	}
	if addr, err := netip.ParseAddr(text); err == nil {
		return addr.String()
	}
	return text
}

// canonicalWords returns the words of a set or list. The words of a set are sorted and without duplicates.
func (s *Scalar) canonicalWords(text string) string {
	if s.Form == Ranges {
		return s.canonicalRanges(text)
	}
	var words []string
	for word, rest := CutWord(text); word != ""; word, rest = CutWord(rest) {
		if s.Form == PCI {
			word = canonicalPCI(word)
		} else {
			word = canonicalAddress(word)
		}
		words = append(words, word)
	}
	if s.Form != List {
		slices.Sort(words)
		words = slices.Compact(words)
	}
	return strings.Join(words, s.wordSeparator())
}

// wordSeparator returns the text between two words.
func (s *Scalar) wordSeparator() string {
	if s.Separator == "" {
		return ";"
	}
	return s.Separator
}

// canonicalRanges returns the smallest number of ranges for the same numbers, sorted.
func (s *Scalar) canonicalRanges(text string) string {
	var buffer [8]numberRange
	ranges, ok := parseRanges(buffer[:0], text)
	if !ok {
		return text
	}
	slices.SortFunc(ranges, func(a, b numberRange) int { return cmp.Compare(a.first, b.first) })
	merged := ranges[:1]
	for _, next := range ranges[1:] {
		if last := &merged[len(merged)-1]; next.first <= last.last+1 {
			last.last = max(last.last, next.last)
		} else {
			merged = append(merged, next)
		}
	}
	words := make([]string, len(merged))
	for i, r := range merged {
		words[i] = strconv.FormatUint(r.first, 10)
		if r.last > r.first {
			words[i] += "-" + strconv.FormatUint(r.last, 10)
		}
	}
	return strings.Join(words, s.wordSeparator())
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
