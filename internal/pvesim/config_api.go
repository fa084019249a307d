package pvesim

import (
	"maps"
	"slices"
	"strings"
)

// writeValue writes one config value with the JSON type that the API has for its key.
func writeValue(o *object, kind Kind, key, name, value string) {
	if key == "cipassword" {
		o.str(name, "**********")
		return
	}
	if isNumeric(kind, key) && integerText.MatchString(value) {
		o.raw(name, []byte(strings.TrimPrefix(value, "+")))
		return
	}
	o.str(name, value)
}

// readConfig returns the handler of GET config. It shows the config after the next start, the current config, or a snapshot.
func readConfig(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		g, err := c.sim.find(kind, c.node(), c.vmid())
		if err != nil {
			return reply{}, err
		}
		v := g.conf.values
		switch name := c.params["snapshot"]; {
		case name != "" && c.flag("current"):
			return reply{}, paramErrors(map[string]string{
				"snapshot": "cannot use 'snapshot' parameter with 'current'", "current": "cannot use 'snapshot' parameter with 'current'",
			})
		case name != "":
			snap := g.conf.snap(name)
			if snap == nil {
				return reply{}, apiErrorf("snapshot '%s' does not exist", name)
			}
			v = snap.values
		case !c.flag("current"):
			v = g.conf.merged()
		}
		o := object{buf: make([]byte, 0, 512)}
		for k, x := range v {
			writeValue(&o, kind, k, k, x)
		}
		o.str("digest", g.digest)
		return dataReply(o.bytes())
	}
}

// merged is the config after the next start. A key under pending delete stays visible when its value is false.
func (c *config) merged() values {
	if !c.hasPending() {
		return c.values
	}
	v := maps.Clone(c.values)
	maps.Copy(v, c.pending)
	for _, d := range c.deletes {
		if x := v[d.key]; x != "" && x != "0" {
			delete(v, d.key)
		}
	}
	return v
}

// readPending returns the handler of GET pending. It shows the value, the pending value and the pending delete of every key.
func readPending(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		g, err := c.sim.find(kind, c.node(), c.vmid())
		if err != nil {
			return reply{}, err
		}
		a := array{buf: make([]byte, 0, 1024)}
		conf := g.conf
		for k, v := range conf.values {
			var o object
			o.str("key", k)
			writeValue(&o, kind, k, "value", v)
			if p, ok := conf.pending[k]; ok {
				writePending(&o, kind, k, p)
			}
			if i := slices.IndexFunc(conf.deletes, func(d pendingDelete) bool { return d.key == k }); i >= 0 {
				o.num("delete", deleteLevel(conf.deletes[i]))
			}
			a.add(&o)
		}
		for k, p := range conf.pending {
			if _, set := conf.values[k]; set {
				continue
			}
			var o object
			o.str("key", k)
			writePending(&o, kind, k, p)
			a.add(&o)
		}
		for _, d := range conf.deletes {
			if _, set := conf.values[d.key]; set || conf.pending[d.key] != "" {
				continue
			}
			var o object
			o.str("key", d.key)
			o.num("delete", 2)
			a.add(&o)
		}
		var o object
		o.str("key", "digest")
		o.str("value", g.digest)
		a.add(&o)
		return dataReply(a.bytes())
	}
}

func deleteLevel(d pendingDelete) int64 {
	if d.force {
		return 2
	}
	return 1
}

func writePending(o *object, kind Kind, key, value string) {
	if key == "cipassword" {
		o.str("pending", "********** ") // Proxmox adds the space
		return
	}
	writeValue(o, kind, key, "pending", value)
}
