package manifest

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// liveKey is a native key of a live guest that a manifest must express, as a whole or by sub-key.
type liveKey struct {
	kind  guest.Kind
	key   string
	text  string
	parts []livePart // of a property string, in the order of the text; a plain value is one part without a name
	field string     // path of the field that expresses all of it; "" if there is none yet
}

// livePart is one sub-key.
type livePart struct {
	name, text string
	field      string // path of the field that expresses it; "" if there is none yet
	generated  bool   // filled in by Proxmox, so no field needs to express it
	leftOut    bool   // listed in the comment, and expressed by no field
}

func newLiveKey(kind guest.Kind, key, text string) *liveKey {
	k := &liveKey{kind: kind, key: key, text: text}
	for part := range strings.SplitSeq(text, ",") {
		name, value, named := strings.Cut(part, "=")
		switch {
		case part == "":
		case !named:
			k.parts = append(k.parts, livePart{text: part})
		case kind == guest.VirtualMachine && k.family() == "net" && name != "macaddr" && macAddress.ok(value):
			k.parts = append(k.parts, livePart{name: "model", text: name}, livePart{name: "macaddr", text: value})
		default:
			k.parts = append(k.parts, livePart{name: name, text: value})
		}
	}
	for i := range k.parts {
		k.parts[i].generated = slices.Contains(generated[k.family()], k.parts[i].name)
	}
	return k
}

// family returns the key without the number of its slot.
func (k *liveKey) family() string { return strings.TrimRight(k.key, "0123456789") }

// generated are the sub-keys that Proxmox fills in again for every guest, by the family of their key.
var generated = map[string][]string{
	"smbios": {"uuid"}, "efidisk": {"size", "ms-cert"}, "tpmstate": {"size"}, "net": {"type"},
}

// find returns the part for a sub-key, or nil if no part without a field has this name.
func (k *liveKey) find(sub string) *livePart {
	for i := range k.parts {
		if p := &k.parts[i]; p.field == "" && !p.leftOut && k.names(p.name, sub) {
			return p
		}
	}
	return nil
}

// leaveOut marks the parts with a name as listed in the comment.
func (k *liveKey) leaveOut(name string) {
	for i := range k.parts {
		k.parts[i].leftOut = k.parts[i].leftOut || k.parts[i].name == name
	}
}

// count returns the number of parts with a name.
func (k *liveKey) count(name string) int {
	n := 0
	for _, p := range k.parts {
		if p.name == name {
			n++
		}
	}
	return n
}

// names reports whether the name of a part is another spelling of a sub-key: no name at all, or an alias. It asks the key table with a probe value:
// two spellings of one name have the same canonical text.
func (k *liveKey) names(name, sub string) bool {
	const probe = "zzz"
	if name == sub {
		return true
	}
	other := probe
	if name != "" {
		other = name + "=" + probe
	}
	canonical, known := guest.Canonical(k.kind, k.key, sub+"="+probe)
	as, _ := guest.Canonical(k.kind, k.key, other)
	return known && canonical == as && strings.Contains(as, probe)
}

// storage returns the storage of the key's volume, and the part that contains it.
func (k *liveKey) storage() (string, *livePart) {
	p := k.find("volume")
	if p == nil {
		return "", nil
	}
	name, _, found := strings.Cut(p.text, ":")
	if !found || !storageName.ok(name) {
		return "", nil
	}
	return name, p
}

// means reports whether two texts have the same meaning as the value of the key, or of one of its sub-keys.
func (k *liveKey) means(sub, a, b string) bool {
	if sub != "" {
		a, b = sub+"="+a, sub+"="+b
	}
	left, _ := guest.Canonical(k.kind, k.key, a)
	right, _ := guest.Canonical(k.kind, k.key, b)
	return left == right
}

// partsWithoutField returns the parts that no field expresses and that Proxmox does not fill in.
func (k *liveKey) partsWithoutField() []*livePart {
	var out []*livePart
	for i := range k.parts {
		if p := &k.parts[i]; k.field == "" && p.field == "" && !p.generated && !p.leftOut {
			out = append(out, p)
		}
	}
	return out
}

// inAnyField reports whether a field expresses any part of the key.
func (k *liveKey) inAnyField() bool {
	return k.field != "" || slices.ContainsFunc(k.parts, func(p livePart) bool { return p.field != "" })
}

// raw returns the text without the sub-keys that Proxmox fills in.
func (k *liveKey) raw() string {
	kept := slices.DeleteFunc(strings.Split(k.text, ","), func(part string) bool {
		name, _, named := strings.Cut(part, "=")
		return named && k.family() == "smbios" && slices.Contains(generated[k.family()], name)
	})
	return strings.Join(kept, ",")
}
