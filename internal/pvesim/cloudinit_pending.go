package pvesim

import (
	"maps"
	"slices"
	"strings"
)

// isInCloudInitImage reports whether the cloud-init image depends on the key.
func isInCloudInitImage(key string) bool { return key == "name" || isCloudInitKey(key) }

// recordImageValues records what the cloud-init image of a running VM contains, for every key that now differs from the image. Keys
// that the image does not contain are listed under "added". The section is removed when the image is generated again.
func (c *config) recordImageValues(before values) {
	if !c.hasCloudInit() {
		return
	}
	added := listOf(c.imageValues["added"])
	for k := range union(before, c.values) {
		old, had := before[k]
		now, has := c.values[k]
		if !isInCloudInitImage(k) || had == has && old == now {
			continue
		}
		_, recorded := c.imageValues[k]
		switch {
		case recorded || slices.Contains(added, k): // the image is older than the previous change
		case had:
			c.setImageValue(k, old)
		default:
			added = append(added, k)
		}
	}
	c.pruneImageValues(added)
}

func (c *config) setImageValue(key, old string) {
	if c.imageValues == nil {
		c.imageValues = values{}
	}
	c.imageValues[key] = old
}

// pruneImageValues removes the recorded values that the config has again.
func (c *config) pruneImageValues(added []string) {
	maps.DeleteFunc(c.imageValues, func(k, old string) bool { return k != "added" && c.values[k] == old })
	added = slices.DeleteFunc(added, func(k string) bool { _, set := c.values[k]; return !set })
	slices.Sort(added)
	delete(c.imageValues, "added")
	if len(added) > 0 {
		c.setImageValue("added", strings.Join(added, ","))
	}
	if len(c.imageValues) == 0 {
		c.imageValues = nil
	}
}

func union(a, b values) values {
	u := values{}
	maps.Copy(u, a)
	maps.Copy(u, b)
	return u
}

// readCloudInit returns, for every key of the cloud-init image, the value in the image and the value in the next image.
func readCloudInit(c *call) (reply, error) {
	g, err := c.vm()
	if err != nil {
		return reply{}, err
	}
	conf := g.conf
	added := listOf(conf.imageValues["added"])
	var a array
	for _, k := range slices.Sorted(maps.Keys(union(conf.imageValues, conf.values))) {
		old, changed := conf.imageValues[k]
		now, set := conf.values[k]
		if !isCloudInitKey(k) && !changed || k == "added" || !conf.hasDevice(k) {
			continue
		}
		var o object
		o.str("key", k)
		switch {
		case slices.Contains(added, k):
			writeValue(&o, QEMU, k, "pending", now)
		case changed && set:
			writeValue(&o, QEMU, k, "value", old)
			writeValue(&o, QEMU, k, "pending", now)
		case changed:
			writeValue(&o, QEMU, k, "value", old)
			o.num("delete", 1)
		default:
			writeValue(&o, QEMU, k, "value", now)
		}
		a.add(&o)
	}
	return dataReply(a.bytes())
}

// hasDevice reports whether the network device of an ipconfig exists. Other keys need no device.
func (c *config) hasDevice(key string) bool {
	stem, index, ok := splitIndex(key)
	return !ok || stem != "ipconfig" || c.values["net"+itoa(index)] != ""
}
