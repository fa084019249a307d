package guest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/guest/form"
)

// style is how a property string differs from "name=value,name=value".
type style uint8

const (
	plainStyle  style = iota
	nicStyle          // a card's model is the name of its MAC address: "virtio=BC:24:11:00:00:01"
	driveStyle        // the volume comes first, and Proxmox converts limits in bytes
	smbiosStyle       // values in base64, if a sub-key states that
)

// syntax defines how a property string is written and compared.
type syntax struct {
	style style
	bare  string            // the sub-key that is written without its name; "" if none
	named bool              // Proxmox prints the bare sub-key with its name
	alias map[string]string // other names of sub-keys
	off   bool              // a bare sub-key of 0 makes the others meaningless
	anyOf []string          // sub-keys of which one must name the device
	subs  []sub
}

// sub is one sub-key of a property string.
type sub struct {
	name string
	scalar
	absentValue string // what an absent sub-key means; "" if absence is a value of its own
	required    bool   // Proxmox refuses a value without this sub-key
	needs       string // a sub-key that must be set as well; neither counts if it is 0
	excludes    string // a sub-key that must not be set as well; neither counts if it is 0
	owned       bool   // Proxmox fills it in, so its presence is not a difference
	once        bool   // only used when the device is created, and not read back
	fixed       bool   // cannot change after the device was created
	restart     bool   // of a drive: does not apply to a running guest
	unlisted    bool   // of a disk: likewise, and Proxmox writes it at once
	releases
}

// anySub is used for sub-keys that the table does not contain. They are compared as text, and kept.
var anySub sub

func (s *syntax) sub(name string) *sub {
	for i := range s.subs {
		if s.subs[i].name == name {
			return &s.subs[i]
		}
	}
	return &anySub
}

// parse appends the sub-keys of text to p. It accepts everything that Proxmox may have stored; check refuses bad text.
func (s *syntax) parse(p properties, text string) properties {
	for text != "" {
		var part string
		part, text, _ = strings.Cut(text, ",")
		if part == "" || part == " " {
			continue
		}
		name, value, named := strings.Cut(part, "=")
		switch {
		case !named:
			name, value = s.bare, part
		case s.style == nicStyle && isCardModel(name):
			p = append(p, pair{"model", name})
			name = "macaddr"
		case s.style == driveStyle && isByteRate(name):
			name, value = "m"+name, mebibytes(value)
		default:
			name = s.resolve(name)
		}
		p = append(p, pair{name, value})
	}
	switch s.style {
	case smbiosStyle:
		return decoded(p)
	case driveStyle:
		if volume := p.text("volume"); (volume == "none" || volume == "cdrom") && p.find("media") < 0 {
			return append(p, pair{"media", "cdrom"}) // Proxmox adds it
		}
	case plainStyle, nicStyle:
	}
	return p
}

func (s *syntax) resolve(name string) string {
	if full, ok := s.alias[name]; ok {
		return full
	}
	return name
}

// keepsNames reports whether the sub-keys of an intent are those of the property string, with the same texts.
func (s *syntax) keepsNames() bool { return len(s.alias) == 0 && s.style != smbiosStyle }

// native returns the native text of p: first the bare sub-key, then the others in the order of p.
func (s *syntax) native(p properties) string {
	if s.style == smbiosStyle {
		p = encoded(p)
	}
	var b strings.Builder
	bare, mac := p.text(s.bare), ""
	if s.style == nicStyle && isCardModel(bare) {
		mac = p.text("macaddr")
	}
	if s.named || strings.Contains(bare, "=") || isBlank(bare) {
		bare = "" // must be printed with its name to be read again
	}
	b.Grow(p.size())
	b.WriteString(bare)
	if mac != "" {
		b.WriteString("=" + mac)
	}
	for _, sub := range p {
		if sub.name == s.bare && bare != "" || sub.name == "macaddr" && mac != "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(sub.name + "=" + sub.text)
	}
	return b.String()
}

// beginningWith returns text with the sub-keys that first has, in their order, before the others: as it will be written after first is there.
func (s *syntax) beginningWith(first, text string) string {
	order, all := s.parse(nil, first), s.parse(nil, text)
	at := func(p pair) int {
		if i := order.find(p.name); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(all, func(a, b pair) int { return at(a) - at(b) })
	return s.native(all)
}

// canonical returns the same text for all spellings of a value: first the bare sub-key, then the others sorted, without defaults.
func (s *syntax) canonical(text string) string {
	var buffer [24]pair
	all := s.parse(buffer[:0], text)
	if s.off && s.meaning(all, s.bare) == "0" {
		return "0"
	}
	if all.find("") >= 0 {
		return text
	}
	var room [24]pair
	kept := properties(room[:0])
	for i, sub := range all {
		if sub.name != s.bare && all[:i].find(sub.name) < 0 {
			if value := s.meaning(all, sub.name); value != s.sub(sub.name).absentValue {
				kept = append(kept, pair{sub.name, value})
			}
		}
	}
	slices.SortFunc(kept, func(a, b pair) int { return strings.Compare(a.name, b.name) })
	if value := s.meaning(all, s.bare); value != "" {
		kept = slices.Insert(kept, 0, pair{s.bare, value})
	}
	return s.native(kept)
}

// meaning returns the canonical text of the named sub-key of p, or its default if it is absent.
func (s *syntax) meaning(p properties, name string) string {
	return s.sub(name).meaning(p.text(name))
}

// meaning returns the canonical text of a sub-key, or its default if the text is empty.
func (s *sub) meaning(text string) string {
	if text != "" {
		return s.Canonical(text)
	}
	return s.absentValue
}

// check returns why Proxmox would refuse text, or nil.
func (s *syntax) check(text string) error {
	all := s.parse(nil, text)
	for i, sub := range all {
		known := s.sub(sub.name)
		switch {
		case sub.name == "" || sub.text == "":
			return fmt.Errorf("got %q, want name=value", sub.name+sub.text)
		case known == &anySub:
			return fmt.Errorf("got unknown sub-key %q, want one of %s", sub.name, s.names())
		case all[:i].find(sub.name) >= 0:
			return fmt.Errorf("got %s twice, want it once", sub.name)
		}
		if err := known.Check(sub.text); err != nil {
			return fmt.Errorf("%s: %w", sub.name, err)
		}
	}
	isSet := func(name string) bool { return name != "" && all.text(name) != "" && all.text(name) != "0" }
	for _, known := range s.subs {
		switch {
		case known.required && all.text(known.name) == "":
			return fmt.Errorf("got no %s, want one", known.name)
		case isSet(known.name) && known.needs != "" && !isSet(known.needs):
			return fmt.Errorf("got %s without %s, want both", known.name, known.needs)
		case isSet(known.name) && isSet(known.excludes):
			return fmt.Errorf("got %s and %s, want one of them", known.name, known.excludes)
		}
	}
	return s.checkDeviceNamed(all)
}

// checkDeviceNamed returns an error if p does not name a device.
func (s *syntax) checkDeviceNamed(p properties) error {
	if len(s.anyOf) == 0 || slices.ContainsFunc(s.anyOf, func(name string) bool { return p.text(name) != "" }) {
		return nil
	}
	return fmt.Errorf("got no %s, want one", strings.Join(s.anyOf, " and no "))
}

func (s *syntax) names() string {
	var names []string
	for _, known := range s.subs {
		names = append(names, known.name)
	}
	return strings.Join(names, ", ")
}

// isByteRate reports whether name is a drive limit in bytes per second, which Proxmox stores in MiB per second.
func isByteRate(name string) bool { return name == "bps" || name == "bps_rd" || name == "bps_wr" }

func mebibytes(bytes string) string {
	n, err := strconv.ParseFloat(bytes, 64)
	if err != nil {
		return bytes
	}
	return strconv.FormatFloat(n/form.Mebibyte, 'f', 3, 64)
}

// plainSyntax reads the sub-keys of an intent for a key that the table does not contain.
var plainSyntax syntax
