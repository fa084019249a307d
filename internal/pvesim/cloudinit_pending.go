package pvesim

import (
	"maps"
	"slices"
	"strings"
)

// isInCloudInitImage reports whether the cloud-init image depends on the key.
func isInCloudInitImage(key string) bool { return key == "name" || isNet(key) || isCloudInitKey(key) }

// recordImageValues records what the cloud-init image of a running VM contains, for every key that now differs from the image. Keys
// that the image does not contain are listed under "added". A password is recorded only if it is deleted. The section is removed when the image is
// generated again.
//
// Source: qemu-server, PVE::QemuServer vmconfig_hotplug_pending, cloudinit_record_changed; PVE::API2::Qemu writes cipassword itself.
func recordImageValues(c *config, before values) {
	if !hasCloudInit(c) {
		c.ImageValues = nil
		return
	}
	added := listOf(c.ImageValues["added"])
	changed := false
	for k := range union(before, c.Values) {
		old, had := before[k]
		now, has := c.Values[k]
		if !isInCloudInitImage(k) || had == has && old == now || k == "cipassword" && has {
			continue // Proxmox writes a password past the code that records changes
		}
		changed = true
		_, recorded := c.ImageValues[k]
		switch {
		case recorded || slices.Contains(added, k): // the image is older than the previous change
		case had:
			setImageValue(c, k, old)
		default:
			added = append(added, k)
		}
	}
	if changed {
		pruneImageValues(c, added)
	}
}

func setImageValue(c *config, key, old string) {
	if c.ImageValues == nil {
		c.ImageValues = values{}
	}
	c.ImageValues[key] = old
}

// pruneImageValues removes the recorded values that the config has again. The section itself stays, without values.
func pruneImageValues(c *config, added []string) {
	maps.DeleteFunc(c.ImageValues, func(k, old string) bool { return k != "added" && c.Values[k] == old && k != "cipassword" })
	added = slices.DeleteFunc(added, func(k string) bool { _, set := c.Values[k]; return !set })
	slices.Sort(added)
	delete(c.ImageValues, "added")
	if len(added) > 0 {
		setImageValue(c, "added", strings.Join(added, ","))
	}
	if c.ImageValues == nil {
		c.ImageValues = values{}
	}
}

func union(a, b values) values {
	u := values{}
	maps.Copy(u, a)
	maps.Copy(u, b)
	return u
}

// readCloudInit returns what differs between the image of a running VM and the next image, and the plain settings that do not differ. An ipconfig
// that the image contains is not listed, whether it changes or not.
//
// Source: PVE::API2::Qemu cloudinit_pending.
func readCloudInit(c *call) (reply, error) {
	g, err := c.vm()
	if err != nil {
		return reply{}, err
	}
	conf := g.conf
	added := listOf(conf.ImageValues["added"])
	var a array
	for _, k := range added {
		var o object
		o.str("key", k)
		writeValue(&o, QEMU, k, "pending", conf.Values[k])
		a.add(&o)
	}
	for _, k := range sortedKeys(conf.Values) {
		now := conf.Values[k]
		if !cloudInitKeys[k] || now == "" || now == "0" || slices.Contains(added, k) {
			continue
		}
		var o object
		o.str("key", k)
		if old := conf.ImageValues[k]; old != "" && old != "0" {
			writeValue(&o, QEMU, k, "value", old)
			writeValue(&o, QEMU, k, "pending", now)
		} else {
			writeValue(&o, QEMU, k, "value", now)
		}
		a.add(&o)
	}
	for _, k := range sortedKeys(conf.ImageValues) {
		if v := conf.Values[k]; k == "added" || v != "" && v != "0" {
			continue
		}
		var o object
		o.str("key", k)
		o.num("delete", 1)
		a.add(&o)
	}
	return dataReply(a.bytes())
}
