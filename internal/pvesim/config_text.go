package pvesim

import (
	"maps"
	"slices"
)

// Kind is the type of a guest, spelled as in API paths.
type Kind string

// The two kinds of guests.
const (
	QEMU Kind = "qemu"
	LXC  Kind = "lxc"
)

// values are the keys of one section of a config file.
type values map[string]string

// pendingDelete is an entry of the delete list in the pending section; force asks for the volume to go too.
type pendingDelete struct {
	key   string
	force bool
}

type snapshot struct {
	name   string
	values values
}

// config is a guest's file, parsed. It is always written and read again before anybody sees it, so what a client reads has been
// through the text.
type config struct {
	values
	pending     values
	deletes     []pendingDelete
	imageValues values // what the cloud-init image was made from, where the config says something else by now
	snaps       []snapshot
}

func newConfig() *config { return &config{values: values{}, pending: values{}} }

func (c *config) clone() *config {
	n := &config{values: maps.Clone(c.values), pending: maps.Clone(c.pending), deletes: slices.Clone(c.deletes), imageValues: maps.Clone(c.imageValues)}
	for _, s := range c.snaps {
		n.snaps = append(n.snaps, snapshot{name: s.name, values: maps.Clone(s.values)})
	}
	return n
}

// hasPending says whether a change waits for the guest's next start.
func (c *config) hasPending() bool { return len(c.pending) > 0 || len(c.deletes) > 0 }

func (c *config) addDelete(key string, force bool) {
	c.dropDelete(key)
	c.deletes = append(c.deletes, pendingDelete{key: key, force: force})
}

func (c *config) dropDelete(key string) {
	c.deletes = slices.DeleteFunc(c.deletes, func(d pendingDelete) bool { return d.key == key })
}

// cleanPending drops pending changes that would change nothing.
func (c *config) cleanPending() {
	maps.DeleteFunc(c.pending, func(k, v string) bool {
		cur, set := c.values[k]
		return set && cur == v
	})
	c.deletes = slices.DeleteFunc(c.deletes, func(d pendingDelete) bool {
		_, set := c.values[d.key]
		return !set
	})
}

func (c *config) snap(name string) *snapshot {
	for i := range c.snaps {
		if c.snaps[i].name == name {
			return &c.snaps[i]
		}
	}
	return nil
}
