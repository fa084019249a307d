package form

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Truth returns "1" or "0" for each spelling of a boolean that property strings allow, and "" for any other text.
func Truth(text string) string {
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

// Canonical returns the same text for all spellings of a value. Text that does not have the form is returned unchanged, so that a value
// that this agent cannot read is still equal to itself.
func (s *Scalar) Canonical(text string) string {
	switch s.Form {
	case Bool:
		if t := Truth(text); t != "" {
			return t
		}
	case Int, Weight:
		return s.canonicalInteger(text)
	case Number:
		if n, err := strconv.ParseFloat(text, 64); err == nil && isDecimal(text) {
			return strconv.FormatFloat(n, 'f', -1, 64)
		}
	case Notes:
		return strings.TrimRightFunc(strings.ReplaceAll(text, "\r\n", "\n"), unicode.IsSpace)
	case Tags:
		return strings.Join(AppendTags(nil, text), ";")
	case Hotplug:
		return canonicalHotplug(text)
	case Set, List, PCI, Ranges:
		return s.canonicalWords(text)
	case MAC:
		return strings.ToUpper(text)
	case Address, Network:
		return canonicalAddress(text)
	case UUID, Hex, Generated:
		return strings.ToLower(text)
	case USB:
		return canonicalUSB(text)
	case Environ:
		return canonicalEnvironment(text)
	case Keys:
		return canonicalKeys(text)
	case Encoded:
		if plain, err := url.PathUnescape(text); err == nil {
			return escape(plain)
		}
	case Size:
		if bytes, err := ParseSize(text); err == nil {
			return FormatSize(bytes)
		}
	case Secret:
		return "**********"
	case Opaque, Enum, Name, Machine, ID, Port, Volume:
	}
	return text
}

func (s *Scalar) canonicalInteger(text string) string {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return text
	}
	if s.Form == Weight {
		n = min(max(n, 1), 10000)
	}
	return strconv.FormatInt(n, 10)
}
