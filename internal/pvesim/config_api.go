package pvesim

import (
	"encoding/json"
	"slices"
	"strings"

	"gitops-agent/internal/pvesim/configtext"
)

// writeValue writes one config value with the JSON type that the API has for its key.
func writeValue(o *object, kind Kind, key, name, value string) {
	if key == "cipassword" {
		o.str(name, "**********")
		return
	}
	if key == configtext.Lines {
		o.raw(name, lxcLines(value))
		return
	}
	if isNumeric(kind, key) && integerText.MatchString(value) {
		o.raw(name, []byte(strings.TrimPrefix(value, "+")))
		return
	}
	o.str(name, value)
}

// lxcLines returns the lines of LXC as pairs of key and value.
func lxcLines(lines string) []byte {
	var pairs [][2]string
	for line := range strings.SplitSeq(lines, "\n") {
		key, value, _ := strings.Cut(line, ": ")
		pairs = append(pairs, [2]string{key, value})
	}
	b, _ := json.Marshal(pairs) // strings cannot fail
	return b
}

// readConfig returns the handler of GET config. It shows the config after the next start, the current config, or a snapshot.
func readConfig(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		g, err := c.sim.find(kind, c.node(), c.vmid())
		if err != nil {
			return reply{}, err
		}
		v := g.conf.Values
		switch name := c.params["snapshot"]; {
		case name != "" && c.flag("current"):
			return reply{}, paramErrors(map[string]string{
				"snapshot": "cannot use 'snapshot' parameter with 'current'", "current": "cannot use 'snapshot' parameter with 'current'",
			})
		case name != "":
			snap := g.conf.Snapshot(name)
			if snap == nil {
				return reply{}, apiErrorf("snapshot '%s' does not exist", name)
			}
			v = snap.Values
		case !c.flag("current"):
			v = g.conf.Merged()
		}
		o := object{buf: make([]byte, 0, 512)}
		for k, x := range v {
			writeValue(&o, kind, k, k, x)
		}
		o.str("digest", g.digest)
		return dataReply(o.bytes())
	}
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
		for k, v := range conf.Values {
			if k == configtext.Lines {
				continue // a list is no value of this call
			}
			var o object
			o.str("key", k)
			writeValue(&o, kind, k, "value", v)
			if p, ok := conf.Pending[k]; ok {
				writePending(&o, kind, k, p)
			}
			if i := slices.IndexFunc(conf.Deletes, func(d configtext.PendingDelete) bool { return d.Key == k }); i >= 0 {
				o.num("delete", deleteLevel(conf.Deletes[i]))
			}
			a.add(&o)
		}
		for k, p := range conf.Pending {
			if _, set := conf.Values[k]; set {
				continue
			}
			var o object
			o.str("key", k)
			writePending(&o, kind, k, p)
			a.add(&o)
		}
		for _, d := range conf.Deletes {
			if _, set := conf.Values[d.Key]; set || conf.Pending[d.Key] != "" {
				continue
			}
			var o object
			o.str("key", d.Key)
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

func deleteLevel(d configtext.PendingDelete) int64 {
	if d.Force {
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
