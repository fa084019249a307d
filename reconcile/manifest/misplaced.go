package manifest

import (
	"cmp"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// newDecoder returns a decoder for the fields of root, with hints for unknown fields.
func newDecoder(r *report, label string, root object) decoder {
	return decoder{report: r, label: label, root: root, unknownField: decoder.unknownFieldHint}
}

// unknownFieldHint returns a hint for an unknown name: the field of this object that has this name in Proxmox; or the only field below this object, or anywhere,
// with this name or this native key; or the field at the top with this name; or a native sub-key that raw accepts; or a field that classes have by kind; or a field
// of this object with similar spelling.
func (d decoder) unknownFieldHint(rows []field, name string) string {
	var names, near, elsewhere []string
	for _, row := range rows {
		if strings.HasSuffix(row.native, "."+name) || slices.Contains(nativeNames[row.native], name) {
			return didYouMean(row.name)
		}
		names = append(names, row.name)
	}
	if hint := cmp.Or(d.hostDeviceHint(name), d.slotHint(name)); hint != "" {
		return hint
	}
	if d.root != nil {
		walkObject(d.root, "", func(path string, row field) {
			if lastSegment(path) != name && row.native != name || strings.HasPrefix(path, "firewall.") && !strings.HasPrefix(d.pathInRoot(), "firewall") {
				return
			}
			elsewhere = append(elsewhere, path)
			if strings.HasPrefix(path, d.pathInRoot()+".") {
				near = append(near, path)
			}
		})
	}
	switch verb := adjective(name, names); {
	case verb != "":
		return didYouMean(verb)
	case len(near) == 1:
		return didYouMean(near[0])
	case len(elsewhere) == 1:
		return didYouMean(elsewhere[0])
	case slices.Contains(elsewhere, name):
		return didYouMean("spec." + name)
	}
	if kinds := inheritedPaths(rows, name); len(kinds) > 0 {
		return didYouMean(strings.Join(kinds, " or "))
	}
	return cmp.Or(d.rawHint(rows, name), d.otherKindHint(name), d.belowSpecHint(rows, name), didYouMean(cmp.Or(synonym(name, names), closest(name, names))))
}

// adjective returns the option of which a word is the adjective, as enabled of enable, or "" if there is none.
func adjective(word string, options []string) string {
	if verb, cut := strings.CutSuffix(word, "d"); cut && slices.Contains(options, verb) {
		return verb
	}
	return ""
}

// nativeNames are further names of native sub-keys: a container has a MAC address as hwaddr, a virtual machine as macaddr, of which people know one.
var nativeNames = map[string][]string{".macaddr": {"hwaddr", "macaddr"}, ".hwaddr": {"hwaddr", "macaddr"}}

// hostDeviceHint returns a hint for a device that is named by its address, which only root may do.
func (d decoder) hostDeviceHint(name string) string {
	switch slot := lastSegment(d.path); {
	case strings.HasPrefix(slot, "hostpci") && (name == "id" || name == "host"):
		return "a device is named by a resource mapping: pvesh create /cluster/mapping/pci --id NAME --map node=NODE,path=ADDRESS,id=VENDOR:DEVICE, and mapping: NAME"
	case strings.HasPrefix(slot, "usb") && (name == "id" || name == "host"):
		return "a device is named by a resource mapping: pvesh create /cluster/mapping/usb --id NAME --map node=NODE,id=VENDOR:DEVICE, and mapping: NAME"
	}
	return ""
}

// slotHint returns a hint for a key that Proxmox has for each slot, such as scsi0 or ipconfig0, in place of the field that has the slots.
func (d decoder) slotHint(name string) string {
	if d.root == nil {
		return ""
	}
	hint := ""
	walkObject(d.root, "", func(path string, row field) {
		found := row.value
		if with, ok := found.(examplesValue); ok {
			found = with.value
		}
		slotted, ok := found.(interface{ slotNames() families })
		if !ok || hint != "" {
			return
		}
		number, isNative := strings.CutPrefix(name, row.native)
		slot := "net" + number
		switch {
		case !strings.Contains(path, ".") && slotted.slotNames().has(name):
			hint = didYouMean(path + "." + name)
		case isNative && row.native != "" && slotted.slotNames().has(slot):
			hint = didYouMean(path + "." + slot)
		}
	})
	return hint
}

// wordHint returns a hint for a word that a field does not take and one other field of the object does.
func (d decoder) wordHint(word string) string {
	if d.root == nil || word == "" {
		return ""
	}
	var takers []string
	walkObject(d.root, "", func(path string, row field) {
		if scalar, ok := row.value.(scalarValue[string]); ok {
			if words, isChoice := scalar.codec.(choiceCodec); isChoice && slices.Contains(words, word) {
				takers = append(takers, path)
			}
		}
	})
	if len(takers) != 1 {
		return ""
	}
	return didYouMean(takers[0] + ": " + word)
}

// inheritedPaths returns the paths of a guest's field in an object that contains the specs of both kinds, such as a class.
func inheritedPaths(rows []field, name string) []string {
	var paths []string
	for _, kind := range []guest.Kind{guest.VirtualMachine, guest.Container} {
		below := inheritedName[kind]
		if find(rows, below) != nil && find(newSpec(kind).fields(), name) != nil {
			paths = append(paths, below+"."+name)
		}
	}
	return paths
}

// pathInRoot returns the path of the decoder relative to its root.
func (d decoder) pathInRoot() string {
	return strings.TrimPrefix(strings.TrimPrefix(d.path, d.base), ".")
}

// counterparts are the fields that a kind of guest has in place of a field of the other kind.
var counterparts = map[guest.Kind]map[string]string{
	guest.VirtualMachine: {"rootfs": "disks", "mounts": "disks", "hostname": "name"},
	guest.Container:      {"disks": "rootfs and mounts", "name": "hostname", "devices": "raw.dev0"},
}

// otherKindHint returns a hint for a name that is a field of the other kind of guest at the same path.
func (d decoder) otherKindHint(name string) string {
	var own, other guest.Kind
	switch root := d.root.(type) {
	case *machine:
		own = guest.VirtualMachine
	case *container:
		own = guest.Container
	case *member:
		own = root.kind
	default:
		return ""
	}
	if other = guest.Container; own == other {
		other = guest.VirtualMachine
	}
	path, there := strings.TrimPrefix(d.pathInRoot()+"."+name, "."), false
	walkObject(newSpec(other), "", func(pattern string, row field) {
		there = there || row.name == name && matches(pattern, path)
	})
	instead := counterparts[own][path]
	switch {
	case !there:
		return ""
	case instead == "":
		return "that is a field of " + string(other)
	default:
		return "that is a field of " + string(other) + "; a " + string(own) + " has " + instead
	}
}

// belowSpecHint returns a hint for a name beside spec that belongs below spec or metadata.
func (d decoder) belowSpecHint(rows []field, name string) string {
	if d.path != "" || find(rows, "spec") == nil {
		return ""
	}
	if find((&metadata{}).fields(), name) != nil {
		return didYouMean("metadata." + name)
	}
	kind, _, _ := strings.Cut(d.label, "/")
	if o := objectOf(kind); o != nil && find(o.fields(), name) != nil {
		return didYouMean("spec." + name)
	}
	return ""
}

// rawHint returns a hint for an unknown field of a device that is a native sub-key.
func (d decoder) rawHint(rows []field, name string) string {
	row := find(rows, "raw")
	if row == nil {
		return ""
	}
	with, _ := row.value.(examplesValue)
	raw, ofDevice := with.value.(rawSubKeys)
	kind := guest.VirtualMachine
	if _, isContainer := d.root.(*container); isContainer {
		kind = guest.Container
	}
	if !ofDevice || !slices.Contains(raw.free(kind, lastSegment(d.path)), name) {
		return ""
	}
	return didYouMean(d.pathInRoot() + ".raw." + name)
}
