package pvesim

import (
	"maps"
	"slices"
	"strings"
)

// isInCloudInitImage says whether a change of the key makes the cloud-init image stale.
func isInCloudInitImage(key string) bool { return key == "name" || isCloudInitKey(key) }

// recordImageValues keeps what the cloud-init image of a running VM was made from, for every key that differs from it now. The keys that the image knows
// nothing of are listed under "added". The section goes when the image is made anew.
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
		_, known := c.imageValues[k]
		switch {
		case known || slices.Contains(added, k): // the image is older than this change
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

// pruneImageValues forgets what is again as the image has it.
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

// readCloudInit answers, for every key that goes into the cloud-init image, what the image holds and what the next one will.
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

// hasDevice says whether an ipconfig has its network device; other keys need none.
func (c *config) hasDevice(key string) bool {
	stem, index, ok := splitIndex(key)
	return !ok || stem != "ipconfig" || c.values["net"+itoa(index)] != ""
}
