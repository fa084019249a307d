package guest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// form is the way in which a plain value is written.
type form uint8

// Forms of plain values. See canonical.go for the canonical text of each form.
const (
	opaqueForm    form = iota // equal only as text
	boolForm                  // 1, on, yes, true or 0, off, no, false
	intForm                   // of any sign, in decimal
	weightForm                // an integer that the kernel's scheduler clamps to 1..10000
	numberForm                // with an optional fraction
	enumForm                  // one of an enumeration
	nameForm                  // labels of letters, digits and hyphens
	notesForm                 // text whose trailing white space is lost
	tagsForm                  // tags, see Tags
	setForm                   // words whose order does not matter
	listForm                  // words whose order matters
	hotplugForm               // a setForm with the short forms 0 and 1
	macForm                   // a MAC address
	addressForm               // an IP address
	networkForm               // an IP address with its prefix length, or dhcp, auto, manual
	uuidForm                  // of a firmware table
	keysForm                  // public keys, URL-encoded as Proxmox wants them
	encodedForm               // URL-encoded text
	machineForm               // a machine type, with or without its version
	sizeForm                  // see ParseSize
	idForm                    // the name of a resource mapping
	portForm                  // socket, or a device of the host
	volumeForm                // storage:volume, none, cdrom, or a path of the host
	secretForm                // written, and read back as asterisks
	rangesForm                // numbers and ranges of numbers, as a set: 0;2-3
	hexForm                   // a number in hexadecimal
	pciForm                   // PCI addresses, as a set
	usbForm                   // vendor:product, bus-port, or spice
	environForm               // NAME=value, separated by NUL
	generatedForm             // a UUID, 1 to generate one, or 0
)

// scalar is the type of a plain value: its form, and the accepted values.
type scalar struct {
	form      form
	min, max  float64  // of integers and numbers; a max of 0 is no limit
	words     []string // the accepted words of an enumeration or a set; empty accepts any word
	item      form     // of a list's words
	separator string   // joins the words of a set or list; "" is ";"
}

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

func decimal(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

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
