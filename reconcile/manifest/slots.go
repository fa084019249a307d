package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// family is the slots of one type of device: {"scsi", 31} is scsi0 to scsi30.
type family struct {
	prefix string
	count  int
}

// families are the slots that a mapping accepts.
type families []family

// slotsOf returns the slots that families of native keys have.
func slotsOf(kind guest.Kind, prefixes ...string) families {
	out := make(families, len(prefixes))
	for i, prefix := range prefixes {
		out[i] = family{prefix, guest.SlotCount(kind, prefix)}
	}
	return out
}

func (f families) has(slot string) bool {
	for _, fam := range f {
		if number, ok := strings.CutPrefix(slot, fam.prefix); ok {
			n, err := strconv.Atoi(number)
			return err == nil && n >= 0 && n < fam.count && strconv.Itoa(n) == number
		}
	}
	return false
}

func (f families) String() string {
	parts := make([]string, len(f))
	for i, fam := range f {
		parts[i] = fam.prefix + "0"
		if fam.count > 1 {
			parts[i] += " to " + fam.prefix + strconv.Itoa(fam.count-1)
		}
	}
	return strings.Join(parts, ", ")
}

// slotHint returns a hint for an unknown slot: the most similar slot, or else all slots.
func (f families) slotHint(slot string) string {
	name := strings.TrimRight(slot, "0123456789")
	prefixes := make([]string, len(f))
	for i, fam := range f {
		prefixes[i] = fam.prefix
	}
	if prefix := closest(name, prefixes); prefix != "" && prefix != name && f.has(prefix+slot[len(name):]) {
		return didYouMean(prefix + slot[len(name):])
	}
	return fmt.Sprintf("slots are %s", f)
}

// pattern returns a regular expression for the slots. It accepts higher numbers than has, to stay short.
func (f families) pattern() string {
	parts := make([]string, len(f))
	for i, fam := range f {
		parts[i] = fam.prefix
	}
	return "^(" + strings.Join(parts, "|") + ")(0|[1-9][0-9]*)$"
}

// slotted is an object in a slot. It may be absent, which removes the slot.
type slotted[T any] interface {
	pointer[T]
	removed() bool
}

// removal is the field absent, which every slot has.
type removal struct{ absent opt[bool] }

func (r *removal) removed() bool { return r.absent.value }

func (r *removal) row() field {
	return field{"absent", "", "Remove the slot: detach the disk, remove the interface. Excludes all other fields.", flag(&r.absent)}
}

// slots is a row that maps slot names to objects. If the native key differs from the slot, native is its prefix: the slot net0 of cloudInit.ip is
// ipconfig0.
func slots[T any, P slotted[T]](into *map[string]*opt[T], names families) value {
	return slotsValue[T, P]{into, names}
}

type slotsValue[T any, P slotted[T]] struct {
	into  *map[string]*opt[T]
	names families
}

func (s slotsValue[T, P]) slotNames() families { return s.names }

func (s slotsValue[T, P]) decode(d decoder, n *tree.Node) {
	if n.Kind != tree.Mapping {
		d.problem(n.At, "got "+n.Describe()+", want a mapping of slots", "")
		return
	}
	*s.into = map[string]*opt[T]{}
	for _, e := range n.Entries {
		below := d.below(segment(e.Name))
		switch {
		case !s.names.has(e.Name):
			below.problem(e.Value.Key, "unknown slot", s.names.slotHint(e.Name))
		case !e.Value.IsNull():
			device := &opt[T]{place: place{e.Value.Key, below.path}, set: true}
			decodeObject(below, e.Value, P(&device.value))
			if P(&device.value).removed() && len(withoutNulls(e.Value).Entries) > 1 {
				below.problem(e.Value.Key, "got absent: true beside other fields, want it alone", "")
			}
			(*s.into)[e.Name] = device
		}
	}
}

func (s slotsValue[T, P]) lower(l *lowering, native string) {
	for _, name := range slices.Sorted(maps.Keys(*s.into)) {
		device := (*s.into)[name]
		key := name
		if native != "" {
			key = native + strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyz")
		}
		if P(&device.value).removed() {
			l.remove(key, device.place)
			continue
		}
		l.open(key, device.place)
		lowerObject(l, P(&device.value))
		l.close()
	}
}

func (s slotsValue[T, P]) schema() *schema {
	var device T
	return &schema{
		Type: nullable("object"), AdditionalProperties: new(bool),
		PatternProperties: map[string]*schema{s.names.pattern(): objectSchema(P(&device))},
	}
}

func (s slotsValue[T, P]) walk(path string, visit func(path string, row field)) {
	var device T
	visit(path+".*", field{})
	walkObject(P(&device), path+".*", visit)
}
