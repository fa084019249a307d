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
func recordImageValues(c *config, before values) {
	if !hasCloudInit(c) {
		return
	}
	added := listOf(c.ImageValues["added"])
	for k := range union(before, c.Values) {
		old, had := before[k]
		now, has := c.Values[k]
		if !isInCloudInitImage(k) || had == has && old == now {
			continue
		}
		_, recorded := c.ImageValues[k]
		switch {
		case recorded || slices.Contains(added, k): // the image is older than the previous change
		case had:
			setImageValue(c, k, old)
		default:
			added = append(added, k)
		}
	}
	pruneImageValues(c, added)
}

func setImageValue(c *config, key, old string) {
	if c.ImageValues == nil {
		c.ImageValues = values{}
	}
	c.ImageValues[key] = old
}

// pruneImageValues removes the recorded values that the config has again.
func pruneImageValues(c *config, added []string) {
	maps.DeleteFunc(c.ImageValues, func(k, old string) bool { return k != "added" && c.Values[k] == old })
	added = slices.DeleteFunc(added, func(k string) bool { _, set := c.Values[k]; return !set })
	slices.Sort(added)
	delete(c.ImageValues, "added")
	if len(added) > 0 {
		setImageValue(c, "added", strings.Join(added, ","))
	}
	if len(c.ImageValues) == 0 {
		c.ImageValues = nil
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
	added := listOf(conf.ImageValues["added"])
	var a array
	for _, k := range slices.Sorted(maps.Keys(union(conf.ImageValues, conf.Values))) {
		old, changed := conf.ImageValues[k]
		now, set := conf.Values[k]
		if !isCloudInitKey(k) && !changed || k == "added" || !hasDevice(conf, k) {
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
func hasDevice(c *config, key string) bool {
	stem, index, ok := splitIndex(key)
	return !ok || stem != "ipconfig" || c.Values["net"+itoa(index)] != ""
}
