package guest

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// truth returns "1" or "0" for each spelling of a boolean that property strings allow, and "" for any other text.
func truth(text string) string {
	switch strings.ToLower(text) {
	case "1", "on", "yes", "true":
		return "1"
	case "0", "off", "no", "false":
		return "0"
	default:
		return ""
	}
}

// canonicalKeys returns URL-encoded public keys, sorted, without duplicates, one per line, without comments and blank lines. Cloud-init
// installs the set of keys, so their order does not matter.
func canonicalKeys(text string) string {
	plain, err := url.PathUnescape(text)
	if err != nil {
		return text
	}
	var keys []string
	for line := range strings.Lines(plain) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			keys = append(keys, escape(line))
		}
	}
	slices.Sort(keys)
	return strings.Join(slices.Compact(keys), "%0A")
}

// escape URL-encodes every byte that Proxmox does not accept unencoded.
//
// Source: PVE JSON schema, format urlencoded.
func escape(plain string) string {
	const hex, bare = "0123456789ABCDEF", "-_.!~*'()"
	var b strings.Builder
	for i := range len(plain) {
		c := plain[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte(bare, c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}

// canonical returns the same text for all spellings of a value. Text that does not have the form is returned unchanged, so that a value
// that this agent cannot read is still equal to itself.
func (s *scalar) canonical(text string) string {
	switch s.form {
	case boolForm:
		if t := truth(text); t != "" {
			return t
		}
	case intForm, weightForm:
		return s.canonicalInteger(text)
	case numberForm:
		if n, err := strconv.ParseFloat(text, 64); err == nil && isDecimal(text) {
			return strconv.FormatFloat(n, 'f', -1, 64)
		}
	case notesForm:
		return strings.TrimRightFunc(strings.ReplaceAll(text, "\r\n", "\n"), unicode.IsSpace)
	case tagsForm:
		return strings.Join(Tags(text), ";")
	case hotplugForm:
		return canonicalHotplug(text)
	case setForm, listForm, pciForm, rangesForm:
		return s.canonicalWords(text)
	case macForm:
		return strings.ToUpper(text)
	case addressForm, networkForm:
		return canonicalAddress(text)
	case uuidForm, hexForm, generatedForm:
		return strings.ToLower(text)
	case usbForm:
		return canonicalUSB(text)
	case environForm:
		return canonicalEnvironment(text)
	case keysForm:
		return canonicalKeys(text)
	case encodedForm:
		if plain, err := url.PathUnescape(text); err == nil {
			return escape(plain)
		}
	case sizeForm:
		if bytes, err := ParseSize(text); err == nil {
			return FormatSize(bytes)
		}
	case secretForm:
		return "**********"
	case opaqueForm, enumForm, nameForm, machineForm, idForm, portForm, volumeForm:
	}
	return text
}

func (s *scalar) canonicalInteger(text string) string {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return text
	}
	if s.form == weightForm {
		n = min(max(n, 1), 10000)
	}
	return strconv.FormatInt(n, 10)
}
