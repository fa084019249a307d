//go:build integration

package crash

import (
	"fmt"
	"os"
	"strings"
)

// changes are what a person may do. Each returns what it did, or "" if the world has no guest for it.
var changes = map[string]func(w *world) string{
	"create": func(w *world) string { return w.create(sources[w.rng.IntN(len(sources))]) },
	"destroy": func(w *world) string {
		g := w.pick(func(g *machine) bool { return len(w.present()) > 2 && g.ha == "" && !g.template })
		if g == nil {
			return ""
		}
		g.wanted, g.approve = false, g.destroy == "approve"
		if g.running {
			g.must("stopped")
		}
		g.must("destroyed")
		w.post("/announce", map[string]any{"vmid": g.vmid})
		return "destroy " + g.name
	},
	"dependents": func(w *world) string {
		done := w.create(sources[0])
		on := w.guests[len(w.guests)-1]
		on.service = w.newService()
		done += ", " + w.create(sources[w.rng.IntN(2)])
		g := w.guests[len(w.guests)-1]
		g.dependsOn = on
		if g.assigned { // its effects are counted by vmid
			g.assigned, g.vmid = false, w.freeVMID()
		}
		return done + ", which depends on it"
	},
	"reboot of a node": func(w *world) string {
		node := []string{"pve1", "pve2"}[w.rng.IntN(2)]
		state := w.state()
		var running []*machine
		for _, row := range state.Guests {
			for _, g := range w.present() {
				switch {
				case row.VMID != g.vmid || row.Node != node || !row.Running:
				case g.changed || g.ha != "":
					return ""
				default:
					running = append(running, g)
				}
			}
		}
		if len(running) == 0 || !state.quiet() {
			return ""
		}
		for _, g := range running {
			g.changed = true
			g.must("stopped", "started")
		}
		w.post("/nodes/"+node, map[string]any{"state": "rebooted", "takes": "400ms"})
		var nodes struct {
			Data []struct{ Node, Status string }
		}
		if !w.await(patience, func() bool {
			w.call("GET", "/nodes", "", &nodes)
			return len(nodes.Data) == 2 && nodes.Data[0].Status == "online" && nodes.Data[1].Status == "online"
		}) {
			w.Fatalf("got the nodes %+v after a reboot, want both online", nodes.Data)
		}
		return fmt.Sprintf("reboot of %s with %d guests", node, len(running))
	},
	"memory": func(w *world) string {
		g := w.pick(func(g *machine) bool { return g.running && g.kind == "VirtualMachine" }) // it restarts
		if g == nil {
			g = w.pick(func(g *machine) bool { return !g.template })
		}
		if g == nil {
			return ""
		}
		g.memory += 16
		g.must("config-written")
		if g.running && g.kind == "VirtualMachine" {
			g.must("stopped", "started")
			g.approve = g.reboot == "approve"
		}
		return "memory of " + g.name
	},
	"description": func(w *world) string {
		g := w.pick(func(*machine) bool { return true })
		if g == nil {
			return ""
		}
		g.description = w.text()
		g.must("config-written")
		return "description of " + g.name
	},
	"grow": func(w *world) string {
		g := w.pick(func(g *machine) bool { return g.disk != "" && !g.template })
		if g == nil {
			return ""
		}
		g.size++
		g.must("resized")
		return "grow " + g.name
	},
	"power": func(w *world) string {
		g := w.pick(func(g *machine) bool { return !g.template && g.ha == "" })
		if g == nil {
			return ""
		}
		g.running = !g.running
		g.must(map[bool]string{true: "started", false: "stopped"}[g.running])
		return "power of " + g.name
	},
	"rename": func(w *world) string {
		g := w.pick(func(g *machine) bool { return !g.assigned && !g.adopted })
		if g == nil {
			return ""
		}
		before := g.name
		g.name = w.name()
		g.must("config-written")
		return "rename " + before + " to " + g.name
	},
	"class": func(w *world) string {
		for _, g := range w.present() {
			if g.class && g.changed {
				return ""
			}
		}
		done := ""
		for _, g := range w.present() {
			if g.class {
				g.changed = true
				g.must("config-written")
				done += " " + g.name
			}
		}
		if done == "" {
			return ""
		}
		w.class++
		return "class of" + done
	},
	"migrate": func(w *world) string {
		g := w.pick(func(g *machine) bool {
			return g.kind == "VirtualMachine" && !g.running && !g.template && g.ha == "" && g.node != ""
		})
		if g == nil {
			return ""
		}
		g.node = otherNode(g.node)
		g.must("migrated")
		return "migrate " + g.name
	},
	"move": func(w *world) string {
		g := w.pick(func(g *machine) bool {
			return g.disk != "" && !g.running && !g.template && g.kind == "VirtualMachine" && g.snapshot == "" && g.own == 0 && g.schedule == ""
		})
		if g == nil {
			return ""
		}
		g.storage = map[string]string{"local": "local-lvm", "local-lvm": "local2", "local2": "local"}[g.storage]
		g.snapshots = false
		g.must("moved")
		g.approve = true
		return "move " + g.name
	},
	"template": func(w *world) string {
		g := w.pick(func(g *machine) bool {
			return g.kind == "VirtualMachine" && g.ha == "" && !g.template && !g.running && g.snapshot == "" && g.own == 0 && g.schedule == ""
		})
		if g == nil || len(w.present()) < 3 {
			return ""
		}
		g.template, g.approve = true, true
		g.must("templated")
		return "make a template of " + g.name
	},
	"secret": func(w *world) string {
		g := w.pick(func(g *machine) bool { return g.secret != "" && !g.running })
		if g == nil {
			return ""
		}
		w.write("secrets/"+g.secret, w.text()+"\n")
		g.must("config-written")
		return "secret of " + g.name
	},
	"edit by hand": func(w *world) string {
		g := w.pick(func(g *machine) bool { return !g.template })
		if g == nil {
			return ""
		}
		w.post("/edit", map[string]any{"vmid": g.vmid, "key": "description", "value": w.text()})
		g.must("config-written")
		return "edit by hand of " + g.name
	},
	"power by hand": func(w *world) string {
		g := w.pick(func(g *machine) bool { return !g.template && g.ha == "" && !g.adopted })
		if g == nil {
			return ""
		}
		kind := map[string]string{"VirtualMachine": "qemu", "Container": "lxc"}[g.kind]
		for _, row := range w.state().Guests {
			if row.VMID == g.vmid && g.running {
				w.person(fmt.Sprintf("/nodes/%s/%s/%d/status/stop", row.Node, kind, g.vmid), "")
			} else if row.VMID == g.vmid {
				w.person(fmt.Sprintf("/nodes/%s/%s/%d/status/start", row.Node, kind, g.vmid), "")
			}
		}
		g.must("started", "stopped")
		return "power by hand of " + g.name
	},
	"firewall":     (*world).editFirewall,
	"rule by hand": (*world).editRulesByHand,
	"adopt": func(w *world) string {
		vmid := 10000 + w.names
		w.person("/nodes/pve1/qemu", fmt.Sprintf("vmid=%d&name=foreign-%d&memory=512&scsi0=local:1", vmid, vmid))
		g := w.add("VirtualMachine")
		g.vmid, g.adopted, g.source, g.node, g.destroy = vmid, true, "", "", "approve"
		g.must("created", "config-written")
		return "adopt " + g.name
	},
}

// source is a way to create a guest.
type source struct {
	name, kind string
	text       string // of the manifest
	disk       string
	size       int
	effects    []string
	secret     bool
	snapshots  bool // its volumes are on a storage that takes snapshots
}

var sources = []source{
	{name: "blank", kind: "VirtualMachine", text: "{blank: {}}", disk: "scsi0", size: 1, effects: []string{"created"}, snapshots: true},
	{name: "clone", kind: "VirtualMachine", text: "{clone: {name: tmpl-debian-12}}", effects: []string{"cloned", "config-written"}, secret: true, snapshots: true},
	{name: "linked clone", kind: "VirtualMachine", text: "{clone: {name: tmpl-debian-12, full: false}}", effects: []string{"cloned", "config-written"}, snapshots: true},
	{name: "snapshot", kind: "VirtualMachine", text: "{clone: {template: 105, snapshot: before}}", effects: []string{"cloned", "config-written"}},
	{name: "import", kind: "VirtualMachine", text: `{image: {from: "local:import/debian-12-genericcloud-amd64.qcow2", slot: scsi0}}`, disk: "scsi0", size: 4, effects: []string{"created", "resized"}, snapshots: true},
	{name: "backup", kind: "VirtualMachine", text: `{backup: {volume: "ARCHIVE", storage: local}}`, effects: []string{"created", "config-written"}},
	{name: "container", kind: "Container", text: `{template: {volume: "local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst"}}`, disk: "rootfs", size: 2, effects: []string{"created"}, snapshots: true},
}

// create adds a guest with or without a vmid.
func (w *world) create(s source) string {
	g := w.add(s.kind)
	s.text = strings.ReplaceAll(s.text, "ARCHIVE", w.archive)
	g.source, g.disk, g.size, g.storage, g.node = s.text, s.disk, s.size, "local-lvm", "pve1"
	g.must(s.effects...)
	if g.assigned = w.rng.IntN(2) == 0; !g.assigned {
		g.vmid = w.freeVMID()
	}
	if g.running = w.rng.IntN(2) == 0; g.running {
		g.must("started")
		if w.isOfHA() && w.rng.IntN(2) == 0 {
			g.ha = haStarted
		}
	}
	if s.secret {
		g.secret = g.name
		w.ok(os.WriteFile(w.path("secrets/"+g.secret), []byte(w.text()+"\n"), 0o600))
	}
	g.class = w.rng.IntN(2) == 0
	if w.rng.IntN(3) == 0 {
		g.destroy = "approve"
	}
	if w.rng.IntN(3) == 0 {
		g.ports, g.guarded = w.firewallPorts(), w.rng.IntN(2) == 0
	}
	if w.rng.IntN(3) == 0 {
		g.reboot = "approve"
	}
	if g.snapshots = s.snapshots; g.snapshots && w.rng.IntN(3) == 0 {
		w.schedule(g)
	}
	return fmt.Sprintf("create %s (%s, vmid %d, running %t)", g.name, s.name, g.vmid, g.running)
}

// freeVMID returns a vmid that no guest of the world had.
func (w *world) freeVMID() int {
	w.nextVMID++
	return w.nextVMID - 1
}

// add adds a guest to the world.
func (w *world) add(kind string) *machine {
	g := &machine{name: w.name(), kind: kind, memory: 512, description: w.text(), destroy: "allow", wanted: true, changed: true, effects: map[string]int{}, theirs: map[string]bool{}}
	g.file = g.name + ".yaml"
	w.guests = append(w.guests, g)
	return g
}

func (w *world) name() string {
	w.names++
	return fmt.Sprintf("guest-%d", w.names)
}

func (w *world) text() string {
	w.texts++
	return fmt.Sprintf("text %d", w.texts)
}

// present returns the guests that manifests name.
func (w *world) present() []*machine {
	var present []*machine
	for _, g := range w.guests {
		if g.wanted {
			present = append(present, g)
		}
	}
	return present
}
