package guest

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

// same reports whether two texts have the same meaning.
func (s *scalar) same(a, b string) bool {
	if a == b {
		return true
	}
	switch s.form {
	case opaqueForm, nameForm, enumForm, idForm, portForm, volumeForm:
		return false
	case tagsForm:
		var left, right [16]string
		return slices.Equal(appendTags(left[:0], a), appendTags(right[:0], b))
	case boolForm, intForm, weightForm, numberForm, notesForm, setForm, listForm, hotplugForm, macForm, addressForm, networkForm, uuidForm, keysForm,
		encodedForm, machineForm, sizeForm, secretForm, rangesForm, hexForm, pciForm, usbForm, environForm, generatedForm:
		return s.canonical(a) == s.canonical(b)
	}
	return false
}

// satisfied reports whether have is what want asks for. It is the same as same, except for values that Proxmox makes more specific.
func (s *scalar) satisfied(want, have string) bool {
	if s.form == secretForm {
		return have != "" // reading it back cannot show a difference
	}
	switch {
	case s.same(want, have):
		return true
	case s.form == machineForm:
		return versionOf(have, want)
	default:
		return s.form == generatedForm && want == "1" && isUUID(have)
	}
}

// native returns text in the form that Proxmox accepts: booleans and numbers in canonical form, everything else unchanged.
func (s *scalar) native(text string) string {
	if s.form == boolForm || s.form == intForm || s.form == numberForm {
		return s.canonical(text)
	}
	return text
}

// check returns why Proxmox would refuse text, or nil. The error states the value and what is wanted.
func (s *scalar) check(text string) error {
	switch s.form {
	case boolForm:
		if truth(text) == "" {
			return fmt.Errorf("got %q, want 0 or 1", text)
		}
	case intForm, weightForm:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("got %q, want a whole number", text)
		}
		return s.checkRange(float64(n))
	case numberForm:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || !isDecimal(strings.TrimPrefix(text, "-")) {
			return fmt.Errorf("got %q, want a number", text)
		}
		return s.checkRange(n)
	case enumForm:
		if !slices.Contains(s.words, text) {
			return fmt.Errorf("got %q, want one of %s", text, strings.Join(s.words, ", "))
		}
	case opaqueForm, notesForm:
		if n := utf8.RuneCountInString(text); s.max > 0 && float64(n) > s.max {
			return fmt.Errorf("got %d characters, want at most %s", n, decimal(s.max))
		}
	case hotplugForm, setForm, listForm:
		return s.checkWords(text)
	case rangesForm:
		if _, ok := parseRanges(nil, text); !ok {
			return fmt.Errorf("got %q, want numbers and ranges such as 0%s2-3", text, s.wordSeparator())
		}
	case nameForm, tagsForm, macForm, addressForm, networkForm, uuidForm, keysForm, encodedForm, machineForm, sizeForm, idForm, portForm, volumeForm,
		secretForm, hexForm, pciForm, usbForm, environForm, generatedForm:
		return checkSyntax(s.form, text)
	}
	return nil
}

func (s *scalar) checkRange(n float64) error {
	switch {
	case n < s.min:
		return fmt.Errorf("got %s, want at least %s", decimal(n), decimal(s.min))
	case s.max > 0 && n > s.max:
		return fmt.Errorf("got %s, want at most %s", decimal(n), decimal(s.max))
	default:
		return nil
	}
}

func (s *scalar) checkWords(text string) error {
	if s.form == hotplugForm && (text == "0" || text == "1") {
		return nil
	}
	for word, rest := cutWord(text); word != ""; word, rest = cutWord(rest) {
		if len(s.words) > 0 && !slices.Contains(s.words, word) {
			return fmt.Errorf("got %q, want one of %s", word, strings.Join(s.words, ", "))
		}
		if err := checkSyntax(s.item, word); err != nil {
			return err
		}
	}
	return nil
}
