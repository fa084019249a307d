package pvesim

import (
	"maps"
	"slices"
	"strings"
)

// fastPlugKeys are the keys that take effect at once, whether the VM runs or not. So do all cloud-init keys.
var fastPlugKeys = map[string]bool{
	"description": true, "hookscript": true, "lock": true, "migrate_downtime": true, "migrate_speed": true, "name": true, "onboot": true,
	"protection": true, "shares": true, "startup": true, "tags": true, "vmstatestorage": true,
	"hotplug": true, "cpuunits": true, "cpulimit": true, "tablet": true,
}

func hotplugFeatures(v values) map[string]bool {
	set := v["hotplug"]
	switch set {
	case "", "1":
		set = "network,disk,usb"
	case "0":
		set = ""
	}
	out := map[string]bool{}
	for f := range strings.SplitSeq(set, ",") {
		out[strings.TrimSpace(f)] = true
	}
	return out
}

// hotplug applies the pending changes that a running VM can apply. The other changes stay pending. The state is locked.
func (s *Sim) hotplug(g *guest) {
	g.edit(func(conf *config) {
		for k := range conf.Pending {
			if (fastPlugKeys[k] && k != "tablet" || isCloudInitKey(k)) && !waitsForStart(conf, k) {
				s.applyKey(conf, k)
			}
		}
		features := hotplugFeatures(conf.Values)
		for _, d := range slices.Clone(conf.Deletes) {
			if canUnplug(conf, d.Key, features) {
				conf.DropDelete(d.Key)
				s.removeKey(conf, d)
			}
		}
		for _, k := range slices.SortedFunc(maps.Keys(conf.Pending), compareSlots) {
			if canPlug(conf, k, features) {
				s.applyKey(conf, k)
			}
		}
	})
}

// waitsForStart reports whether a change of the key hotplug waits for the next start: it does if memory or cpu is among the current or the
// new features, because the machine is started for them.
func waitsForStart(conf *config, key string) bool {
	if key != "hotplug" {
		return false
	}
	features := conf.Values[key] + "," + conf.Pending[key]
	return strings.Contains(features, "memory") || strings.Contains(features, "cpu")
}

func canUnplug(conf *config, key string, features map[string]bool) bool {
	stem, _, _ := splitIndex(key)
	switch {
	case key == "tablet":
		return features["usb"]
	case waitsForStart(conf, key):
		return false
	case fastPlugKeys[key] || isCloudInitKey(key):
		return true
	case isNet(key):
		return features["network"]
	case key == "vcpus":
		return features["cpu"]
	case key == "memory":
		return features["memory"] && conf.Values["numa"] == "1"
	case stem == "scsi" || stem == "virtio":
		return features["disk"]
	}
	return false
}

func canPlug(conf *config, key string, features map[string]bool) bool {
	value, old := conf.Pending[key], conf.Values[key]
	switch {
	case key == "tablet":
		return features["usb"]
	case key == "vcpus":
		return features["cpu"]
	case key == "memory":
		return features["memory"] && conf.Values["numa"] == "1"
	case key == "balloon":
		return (old == "0") == (value == "0")
	case key == "agent":
		return onlyTrimChanged(old, value)
	case isNet(key):
		return features["network"]
	case isDisk(QEMU, key):
		return canPlugDrive(key, old, value, features)
	}
	return false
}

func onlyTrimChanged(old, value string) bool {
	a, err1 := agentFormat.parse("agent", old)
	b, err2 := agentFormat.parse("agent", value)
	if err1 != nil || err2 != nil {
		return false
	}
	for _, v := range []values{a, b} {
		delete(v, "fstrim_cloned_disks")
		delete(v, "freeze-fs")
		if v["type"] == "virtio" {
			delete(v, "type")
		}
	}
	return maps.Equal(a, b)
}

// fixedDriveKeys are the options of a drive that cannot change while the drive is in use.
var fixedDriveKeys = []string{"aio", "discard", "iothread", "queues", "product", "cache", "ssd", "vendor", "ro", "media"}

func canPlugDrive(key, old, value string, features map[string]bool) bool {
	n, err := parseDrive(key, value)
	if err != nil {
		return false
	}
	stem, _, _ := splitIndex(key)
	pluggable := (stem == "scsi" || stem == "virtio") && features["disk"]
	if old == "" {
		return pluggable
	}
	o, err := parseDrive(key, old)
	switch {
	case err != nil:
		return false
	case o.isCDROM() && n.isCDROM():
		return true // another medium in the same tray
	case o.file() != n.file():
		return pluggable && o.isCDROM() == n.isCDROM()
	}
	for _, k := range fixedDriveKeys {
		if o.values[k] != n.values[k] {
			return false
		}
	}
	return true
}
