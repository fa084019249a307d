package pvesim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// propertyString is the format of values such as "virtio=AA:..,bridge=vmbr0": comma-separated keys with values, and one default key.
type propertyString map[string]rule

// parse splits and checks a value. Booleans become 0 or 1, and an alias becomes its target key. The error text is Proxmox's.
func (p propertyString) parse(name, value string) (values, error) {
	out := values{}
	for part := range strings.SplitSeq(value, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		if err := p.parsePart(out, part); err != nil {
			return nil, err
		}
	}
	if err := p.verify(name, out); err != nil {
		return nil, err
	}
	return out, nil
}

func (p propertyString) parsePart(out values, part string) error {
	k, v, found := strings.Cut(part, "=")
	switch {
	case !found:
		k, v = p.defaultKey(), part
		if k == "" {
			return errors.New("value without key, but schema does not define a default key")
		}
		if _, dup := out[k]; dup {
			return fmt.Errorf("duplicate key in comma-separated list property: %s", k)
		}
	case k == "" || v == "":
		return errors.New("missing key in comma-separated list property")
	}
	r, known := p[k]
	if known && r.modelFrom != "" {
		out[r.modelFrom] = k
	}
	if known && r.alias != "" {
		k = r.alias
		r = p[k]
	}
	if _, dup := out[k]; dup && found {
		return fmt.Errorf("duplicate key in comma-separated list property: %s", k)
	}
	if r.typ == typeBoolean {
		v = looseBoolean(v)
	}
	out[k] = v
	return nil
}

func looseBoolean(v string) string {
	switch strings.ToLower(v) {
	case "1", "on", "yes", "true":
		return "1"
	case "0", "off", "no", "false":
		return "0"
	}
	return v
}

func (p propertyString) defaultKey() string {
	for k, r := range p {
		if r.defaultKey {
			return k
		}
	}
	return ""
}

func (p propertyString) verify(name string, got values) error {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(got)) {
		r, ok := p[k]
		msg := unknownProperty
		if ok {
			msg = r.verify(got[k])
		}
		if msg != "" {
			fmt.Fprintf(&b, "%s.%s: %s\n", name, k, msg)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(p)) {
		if _, given := got[k]; p[k].required && !given {
			fmt.Fprintf(&b, "%s.%s: property is missing and it is not optional\n", name, k)
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return errors.New("format error\n" + strings.TrimSuffix(b.String(), "\n"))
}

// format writes the default key without its name, then the required keys, then the others. Each group is sorted.
func (p propertyString) format(v values) string {
	var lead, needed, rest []string
	for _, k := range slices.Sorted(maps.Keys(v)) {
		switch r := p[k]; {
		case r.defaultKey:
			lead = append(lead, v[k])
		case r.required:
			needed = append(needed, k+"="+v[k])
		default:
			rest = append(rest, k+"="+v[k])
		}
	}
	return strings.Join(slices.Concat(lead, needed, rest), ",")
}

// propertyRule returns the rule of a parameter with a property-string format.
func propertyRule(name string, p propertyString) rule {
	return checked(func(s string) error {
		_, err := p.parse(name, s)
		return err
	})
}

// optionalPropertyRule returns the rule of a parameter with a property-string format that may also be empty.
func optionalPropertyRule(name string, p propertyString) rule {
	return checked(func(s string) error {
		if strings.TrimSpace(s) == "" {
			return nil
		}
		_, err := p.parse(name, s)
		return err
	})
}
