package guest

import (
	"fmt"
	"strings"
)

// SubKeys returns the sub-keys of a native key that a manifest can set, in the order of the key table. It leaves out the sub-keys that Proxmox
// fills in, and those that are only used while the device is created. It is empty if the key has no sub-keys or is not in the table.
func SubKeys(kind Kind, key string) []string {
	r, _ := find(kind, key)
	if r.syntax == nil {
		return nil
	}
	var names []string
	for _, known := range r.syntax.subs {
		if !known.owned && !known.once {
			names = append(names, known.name)
		}
	}
	return names
}

// CheckSubKey returns why Proxmox would refuse text as the value of a sub-key, or nil. Text that would be read as more than one value is
// refused.
func CheckSubKey(kind Kind, key, sub, text string) error {
	r, _ := find(kind, key)
	if r.syntax == nil || r.syntax.sub(sub) == &anySub {
		return fmt.Errorf("%w %s of %s", ErrUnknownKey, sub, key)
	}
	if text == "" || strings.TrimSpace(text) != text || strings.ContainsAny(text, ",\r\n\x00") {
		return fmt.Errorf("got %q, want a value on one line, without commas and without blanks around it", text)
	}
	return r.syntax.sub(sub).Check(text)
}

// UnsupportedSubKey returns why the release of a node does not support a sub-key, or "".
func UnsupportedSubKey(kind Kind, key, sub string, node Version) string {
	r, _ := find(kind, key)
	if r.syntax == nil {
		return ""
	}
	return r.syntax.sub(sub).unsupportedBy(node)
}
