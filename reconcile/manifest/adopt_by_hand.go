package manifest

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gitops-agent/reconcile/manifest/tree"
)

// Objects that lower fields by hand also raise them by hand. The methods are in this file.

// raise leaves a cloud-init drive to cloudInit, and returns the iso field and its options for a CD-ROM drive.
func (d *disk) raise(r *raising, rows func() []tree.Entry) []tree.Entry {
	key := r.keys[r.slot]
	volume, media := key.find("volume"), key.find("media")
	switch {
	case volume == nil, cloudInitVolume().MatchString(volume.text):
		return nil
	case media == nil && volume.text != "none", media != nil && media.text != "cdrom":
		return rows()
	case !isoVolume.ok(volume.text):
		return nil // as a disk it would not be a CD-ROM drive
	}
	key.markDriveAs(r.below("iso").path)
	return append([]tree.Entry{{Name: "iso", Value: scalarOf("!!str", volume.text)}}, rows()...)
}

// markDriveAs records the field for the content of a drive: its volume, its media, and the size, which Proxmox fills in.
func (k *liveKey) markDriveAs(path string) {
	for _, name := range []string{"volume", "media", "size"} {
		if p := k.find(name); p != nil {
			p.field = path
		}
	}
}

// cloudInitVolume matches the volume of a cloud-init drive on any type of storage.
var cloudInitVolume = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[^:]+:([0-9]+/)?vm-[0-9]+-cloudinit(\.[a-z0-9]+)?$`)
})

// raise finds the cloud-init drive, and splits the public keys into a list.
func (c *cloudInit) raise(r *raising, rows func() []tree.Entry) []tree.Entry {
	out := r.raiseCloudInitDrive()
	if keys := r.raiseKeys("sshkeys", "sshKeys"); keys != nil {
		out = append(out, tree.Entry{Name: "sshKeys", Value: keys})
	}
	return append(out, rows()...)
}

func (r *raising) raiseCloudInitDrive() []tree.Entry {
	for _, key := range r.drives() {
		volume := key.find("volume")
		if volume == nil || key.field != "" || !cloudInitVolume().MatchString(volume.text) {
			continue
		}
		storage, _ := key.storage() // no other key contains the storage
		key.markDriveAs(r.below("storage").path)
		out := []tree.Entry{{Name: "storage", Value: scalarOf("!!str", storage)}}
		if key.key != "ide2" {
			out = append(out, tree.Entry{Name: "slot", Value: scalarOf("!!str", key.key)})
		}
		return out
	}
	return nil
}

// drives returns the keys of a virtual machine's drives, sorted.
func (r *raising) drives() []*liveKey {
	var out []*liveKey
	for _, name := range slices.SortedFunc(maps.Keys(r.keys), compareSlots) {
		if diskSlots.has(name) {
			out = append(out, r.keys[name])
		}
	}
	return out
}

// raiseKeys returns URL-encoded public keys as a list, or nil if the field does not accept one of them.
func (r *raising) raiseKeys(native, field string) *tree.Node {
	f, found := r.nativeValue(native)
	if !found {
		return nil
	}
	plain, err := url.PathUnescape(f.text)
	if err != nil {
		return nil
	}
	var keys []string
	for line := range strings.Lines(plain) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case !sshKey.ok(line):
			return nil
		default:
			keys = append(keys, line)
		}
	}
	if len(keys) == 0 || len(distinct(keys)) != len(keys) {
		return nil
	}
	f.markAs(r.below(field).path)
	return listOf(keys)
}

func (s *serial) raise(r *raising, _ func() []tree.Entry) []tree.Entry {
	key := r.keys[r.slot]
	if !serialPort.ok(key.text) {
		return nil
	}
	key.field = r.below("port").path
	return []tree.Entry{{Name: "port", Value: scalarOf("!!str", key.text)}}
}

func (b *boot) raise(r *raising, _ func() []tree.Entry) []tree.Entry {
	f, found := r.nativeValue("boot.order")
	if !found || len(f.key.parts) > 1 {
		return nil
	}
	devices := strings.Split(f.text, ";")
	for _, device := range devices {
		if !bootDevice.ok(device) {
			return nil
		}
	}
	f.markAs(r.below("order").path)
	return []tree.Entry{{Name: "order", Value: listOf(devices)}}
}

// raise returns an empty hotplug list if nothing can be changed while the guest runs.
func (m *machine) raise(r *raising, rows func() []tree.Entry) []tree.Entry {
	f, found := r.nativeValue("hotplug")
	if !found || f.text != "0" {
		return rows()
	}
	f.markAs(r.below("hotplug").path)
	return append(rows(), tree.Entry{Name: "hotplug", Value: &tree.Node{Kind: tree.List}})
}

// raise also splits the environment, which a container lowers by hand.
func (c *container) raise(r *raising, rows func() []tree.Entry) []tree.Entry {
	out := rows()
	if variables := r.raiseEnvironment(); variables != nil {
		out = append(out, tree.Entry{Name: "env", Value: variables})
	}
	return out
}

// raiseEnvironment returns the variables of a container, or nil if the field does not accept one of them.
func (r *raising) raiseEnvironment() *tree.Node {
	f, found := r.nativeValue("env")
	if !found {
		return nil
	}
	out := &tree.Node{Kind: tree.Mapping}
	for variable := range strings.SplitSeq(f.text, "\x00") {
		name, value, _ := strings.Cut(variable, "=")
		if !variableName.ok(name) || !anyText.ok(value) || out.Get(name) != nil {
			return nil
		}
		out.Entries = append(out.Entries, tree.Entry{Name: name, Value: scalarOf("!!str", value)})
	}
	f.markAs(r.below("env").path)
	return out
}
