package form

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// versionOf reports whether have is a version of the machine type family.
func versionOf(have, family string) bool {
	switch family {
	case "q35":
		return strings.HasPrefix(have, "pc-q35-")
	case "pc":
		return strings.HasPrefix(have, "pc-i440fx-")
	case "virt":
		return strings.HasPrefix(have, "virt-")
	default:
		return false
	}
}

func decimal(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// Same reports whether two texts have the same meaning.
func (s *Scalar) Same(a, b string) bool {
	if a == b {
		return true
	}
	switch s.Form {
	case Opaque, Name, Enum, ID, Port, Volume:
		return false
	case Tags:
		var left, right [16]string
		return slices.Equal(AppendTags(left[:0], a), AppendTags(right[:0], b))
	case Bool, Int, Weight, Number, Notes, Set, List, Hotplug, MAC, Address, Network, UUID, Keys,
		Encoded, Machine, Size, Secret, Ranges, Hex, PCI, USB, Environ, Generated:
		return s.Canonical(a) == s.Canonical(b)
	}
	return false
}

// Satisfied reports whether have is what want asks for. It is the same as Same, except for values that Proxmox makes more specific.
func (s *Scalar) Satisfied(want, have string) bool {
	if s.Form == Secret {
		return have != "" // reading it back cannot show a difference
	}
	switch {
	case s.Same(want, have):
		return true
	case s.Form == Machine:
		return versionOf(have, want)
	default:
		return s.Form == Generated && want == "1" && isUUID(have)
	}
}

// Native returns text in the form that Proxmox accepts: booleans and numbers in canonical form, everything else unchanged.
func (s *Scalar) Native(text string) string {
	if s.Form == Bool || s.Form == Int || s.Form == Number {
		return s.Canonical(text)
	}
	return text
}

// Check returns why Proxmox would refuse text, or nil. The error states the value and what is wanted.
func (s *Scalar) Check(text string) error {
	switch s.Form {
	case Bool:
		if Truth(text) == "" {
			return fmt.Errorf("got %q, want 0 or 1", text)
		}
	case Int, Weight:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("got %q, want a whole number", text)
		}
		return s.checkRange(float64(n))
	case Number:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || !isDecimal(strings.TrimPrefix(text, "-")) {
			return fmt.Errorf("got %q, want a number", text)
		}
		return s.checkRange(n)
	case Enum:
		if !slices.Contains(s.Words, text) {
			return fmt.Errorf("got %q, want one of %s", text, strings.Join(s.Words, ", "))
		}
	case Opaque, Notes:
		if n := utf8.RuneCountInString(text); s.Max > 0 && float64(n) > s.Max {
			return fmt.Errorf("got %d characters, want at most %s", n, decimal(s.Max))
		}
	case Hotplug, Set, List:
		return s.checkWords(text)
	case Ranges:
		if _, ok := parseRanges(nil, text); !ok {
			return fmt.Errorf("got %q, want numbers and ranges such as 0%s2-3", text, s.wordSeparator())
		}
	case Name, Tags, MAC, Address, Network, UUID, Keys, Encoded, Machine, Size, ID, Port, Volume,
		Secret, Hex, PCI, USB, Environ, Generated:
		return checkSyntax(s.Form, text)
	}
	return nil
}

func (s *Scalar) checkRange(n float64) error {
	switch {
	case n < s.Min:
		return fmt.Errorf("got %s, want at least %s", decimal(n), decimal(s.Min))
	case s.Max > 0 && n > s.Max:
		return fmt.Errorf("got %s, want at most %s", decimal(n), decimal(s.Max))
	default:
		return nil
	}
}

func (s *Scalar) checkWords(text string) error {
	if s.Form == Hotplug && (text == "0" || text == "1") {
		return nil
	}
	for word, rest := CutWord(text); word != ""; word, rest = CutWord(rest) {
		if len(s.Words) > 0 && !slices.Contains(s.Words, word) {
			return fmt.Errorf("got %q, want one of %s", word, strings.Join(s.Words, ", "))
		}
		if err := checkSyntax(s.Item, word); err != nil {
			return err
		}
	}
	return nil
}
