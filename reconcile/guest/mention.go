package guest

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/guest/form"
)

// Use is what a guest does with something that the parameters of a call name.
type Use string

// The uses. What the guest itself owns is attached too.
const (
	Attach  Use = "attach"   // the volume becomes part of the guest
	Copy    Use = "copy"     // its content becomes part of the guest: an image, a backup, a template
	Read    Use = "read"     // the guest reads it at its boot: a snippet, which belongs to no guest
	Import  Use = "import"   // its content is copied to a new volume of the guest
	RunHost Use = "run-host" // the node runs it: a hook script, arguments of the hypervisor
	HostDir Use = "host"     // a path of the node becomes part of the guest
)

// Mention is a volume, a path of the node or an argument that a call names for a guest.
type Mention struct {
	Key  string // of the parameter
	Name string // "local-lvm:vm-1000-disk-0", "/srv/share"
	Use  Use
}

// Mentions returns what the parameters of a create or config call name, in the order of the keys. It leaves out volumes that Proxmox allocates and
// empty drives.
func Mentions(kind Kind, params map[string]string) []Mention {
	var list []Mention
	for _, key := range slices.Sorted(maps.Keys(params)) {
		for _, r := range mentionsOf(kind, key, params[key]) {
			if r.Name != "" && r.Name != "none" && r.Name != "cdrom" && (r.Use != Attach || !form.Allocates(r.Name)) {
				list = append(list, r)
			}
		}
	}
	return list
}

func mentionsOf(kind Kind, key, text string) []Mention {
	_, known := find(kind, key)
	switch {
	case key == "archive", key == "ostemplate":
		return []Mention{{key, text, Copy}}
	case key == "hookscript", key == "args":
		return []Mention{{key, text, RunHost}}
	case key == "cicustom":
		var list []Mention
		for part := range strings.SplitSeq(text, ",") {
			_, volume, _ := strings.Cut(part, "=")
			list = append(list, Mention{key, volume, Read})
		}
		return list
	case holdsVolume(kind, key):
		return driveMentions(key, text)
	case !known:
		return slices.DeleteFunc(driveMentions(key, text), func(r Mention) bool { return r.Use == Attach && len(VolumeOwners(r.Name)) == 0 })
	}
	return nil
}

// driveMentions returns what the native text of a drive names. A path of the node is not a volume.
func driveMentions(key, text string) []Mention {
	use := func(name string, otherwise Use) Mention {
		switch {
		case strings.HasPrefix(name, "/"):
			return Mention{key, name, HostDir}
		case isTray(name):
			return Mention{key, name, Copy}
		}
		return Mention{key, name, otherwise}
	}
	list := []Mention{use(volumeOf(text), Attach)}
	for part := range strings.SplitSeq(text, ",") {
		if source, imports := strings.CutPrefix(strings.TrimSpace(part), "import-from="); imports {
			list = append(list, use(source, Import))
		}
	}
	return list
}

// ofNoGuest are the folders of a storage whose content belongs to no guest.
var ofNoGuest = []string{"iso/", "vztmpl/", "snippets/", "import/"}

// BelongsToNoGuest reports whether a volume is an image, a template or a snippet that a storage offers to every guest.
func BelongsToNoGuest(volume string) bool {
	_, name, found := strings.Cut(volume, ":")
	return found && slices.ContainsFunc(ofNoGuest, func(folder string) bool { return strings.HasPrefix(name, folder) })
}

// VolumeOwners returns the vmids in the id of a volume or a backup, sorted: that of the folder in which a storage of files keeps the volume, and
// that in its name. Proxmox takes the folder's. For a linked clone, the vmids of its base do not count.
//
// Source: PVE::Storage::Plugin::parse_volname; PVE::Storage::PBSPlugin::parse_volname.
func VolumeOwners(volume string) []int {
	if BelongsToNoGuest(volume) {
		return nil
	}
	_, name, _ := strings.Cut(volume, ":")
	parts := strings.Split(name, "/")
	last := parts[len(parts)-1]
	var owners []int
	for _, part := range slices.Backward(parts[:len(parts)-1]) {
		if vmid, err := strconv.Atoi(part); err == nil {
			owners = append(owners, vmid)
			break
		}
	}
	if vmid, ok := volumeOwner(last); ok {
		owners = append(owners, vmid)
	}
	for _, prefix := range []string{"vzdump-qemu-", "vzdump-lxc-", "vzdump-openvz-"} {
		if rest, found := strings.CutPrefix(last, prefix); found {
			digits, _, _ := strings.Cut(rest, "-")
			if vmid, err := strconv.Atoi(digits); err == nil {
				owners = append(owners, vmid)
			}
		}
	}
	slices.Sort(owners)
	return slices.Compact(owners)
}

// InSlot reports whether the native text of a drive names the volume.
func InSlot(text, volume string) bool { return volumeOf(text) == volume }
