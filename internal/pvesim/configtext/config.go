package configtext

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

// Values are the keys of one section of a config file with their values.
type Values map[string]string

// Lines is the key of a container's own settings of LXC: the lines "lxc.KEY: VALUE" of a section in their order. The API shows them, and no call sets them.
const Lines = "lxc"

// PendingDelete is an entry of the delete list in the pending section. Force means that the volume is freed with the key.
type PendingDelete struct {
	Key   string
	Force bool
}

// Snapshot is one snapshot section of a config file.
type Snapshot struct {
	Name   string
	Values Values
}

// Config is a parsed config file.
type Config struct {
	Values      Values // the current section
	Pending     Values // changes that wait for the guest's next start
	Deletes     []PendingDelete
	ImageValues Values     // values in the cloud-init image that differ from the current section; "added" lists the keys that the image lacks; empty if every change was taken back, nil if there was none
	Snapshots   []Snapshot // in the order of the file
}

// New returns the config of an empty file.
func New() *Config { return &Config{Values: Values{}, Pending: Values{}} }

// Clone returns a copy that shares nothing with c.
func (c *Config) Clone() *Config {
	n := &Config{Values: maps.Clone(c.Values), Pending: maps.Clone(c.Pending), Deletes: slices.Clone(c.Deletes), ImageValues: maps.Clone(c.ImageValues)}
	for _, s := range c.Snapshots {
		n.Snapshots = append(n.Snapshots, Snapshot{Name: s.Name, Values: maps.Clone(s.Values)})
	}
	return n
}

// HasPending reports whether a change waits for the guest's next start.
func (c *Config) HasPending() bool { return len(c.Pending) > 0 || len(c.Deletes) > 0 }

// AddDelete adds a key to the pending deletes, or replaces its entry.
func (c *Config) AddDelete(key string, force bool) {
	c.DropDelete(key)
	c.Deletes = append(c.Deletes, PendingDelete{Key: key, Force: force})
}

// DropDelete removes a key from the pending deletes.
func (c *Config) DropDelete(key string) {
	c.Deletes = slices.DeleteFunc(c.Deletes, func(d PendingDelete) bool { return d.Key == key })
}

// CleanPending drops pending changes that would change nothing.
func (c *Config) CleanPending() {
	maps.DeleteFunc(c.Pending, func(k, v string) bool {
		cur, set := c.Values[k]
		return set && cur == v
	})
	c.Deletes = slices.DeleteFunc(c.Deletes, func(d PendingDelete) bool {
		_, set := c.Values[d.Key]
		return !set
	})
}

// Merged returns the values after the next start. A key with a pending delete stays visible if its value is false.
func (c *Config) Merged() Values {
	if !c.HasPending() {
		return c.Values
	}
	v := maps.Clone(c.Values)
	maps.Copy(v, c.Pending)
	for _, d := range c.Deletes {
		if x := v[d.Key]; x != "" && x != "0" {
			delete(v, d.Key)
		}
	}
	return v
}

// Snapshot returns the snapshot with the name, or nil.
func (c *Config) Snapshot(name string) *Snapshot {
	for i := range c.Snapshots {
		if c.Snapshots[i].Name == name {
			return &c.Snapshots[i]
		}
	}
	return nil
}

// DropSnapshot removes a snapshot that exists. The parent of the snapshot becomes the parent of its children and of the current state.
func (c *Config) DropSnapshot(name string) {
	parent := c.Snapshot(name).Values["parent"]
	replaceParent := func(v Values) {
		if v["parent"] != name {
			return
		}
		delete(v, "parent")
		if parent != "" {
			v["parent"] = parent
		}
	}
	replaceParent(c.Values)
	for _, s := range c.Snapshots {
		replaceParent(s.Values)
	}
	c.Snapshots = slices.DeleteFunc(c.Snapshots, func(s Snapshot) bool { return s.Name == name })
}
