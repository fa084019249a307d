package pvesim

import (
	"strings"
	"time"
)

// writeRow writes a guest's row of a list.
func (s *Sim) writeRow(o *object, g *guest) {
	r := s.rowOf(g)
	o.num("vmid", int64(g.vmid))
	o.str("name", r.name)
	o.str("status", r.status)
	o.num("cpus", r.cpus)
	o.num("maxmem", r.maxmem)
	o.num("maxdisk", r.maxdisk)
	o.num("uptime", r.uptime)
	for _, k := range []string{"cpu", "mem", "disk", "netin", "netout"} {
		o.num(k, 0)
	}
	if r.template == 1 {
		o.num("template", 1)
	}
	if t := g.conf.Values["tags"]; t != "" {
		o.str("tags", t)
	}
	if l := g.conf.Values["lock"]; l != "" {
		o.str("lock", l)
	}
	if g.kind == LXC {
		o.str("type", "lxc")
		o.num("maxswap", r.maxswap)
		o.num("swap", 0)
		o.num("diskread", 0)
		o.num("diskwrite", 0)
	} else {
		if s.major() >= 9 {
			o.num("memhost", 0)
		}
		writeSerial(o, g.conf.Values)
	}
	if g.running {
		s.writeRunning(o, g)
	}
}

func writeSerial(o *object, v values) {
	for i := range 4 {
		if v["serial"+itoa(i)] != "" {
			o.num("serial", 1)
			return
		}
	}
}

var pressures = []string{"pressurecpufull", "pressurecpusome", "pressureiofull", "pressureiosome", "pressurememoryfull", "pressurememorysome"}

func (s *Sim) writeRunning(o *object, g *guest) {
	o.num("pid", int64(g.pid))
	for _, p := range pressures {
		if s.major() < 9 {
			break
		}
		if g.kind == LXC {
			o.null(p)
		} else {
			o.num(p, 0)
		}
	}
}

// listGuests returns the handler that lists the guests of one node. It leaves out guests that the caller may not see.
func listGuests(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		if kind == QEMU {
			if err := c.checkListRaces(); err != nil {
				return reply{}, err
			}
		}
		var a array
		for _, id := range c.sim.vmids() {
			g := c.sim.guests[id]
			if g.kind != kind || g.node != c.node() || !c.sim.allows(c.caller, "/vms/"+itoa(id), "VM.Audit") {
				continue
			}
			var o object
			c.sim.writeRow(&o, g)
			if kind == QEMU && c.flag("full") {
				c.sim.writeMonitorFields(&o, g)
			}
			a.add(&o)
		}
		return dataReply(a.bytes())
	}
}

func qmpStatus(g *guest) string {
	switch {
	case !g.running:
		return "stopped"
	case g.postmigrate:
		return "postmigrate"
	case g.prelaunch:
		return "prelaunch"
	case g.paused:
		return "paused"
	}
	return "running"
}

// runningMachine returns the machine version of a running VM. Network devices raise the last number by one.
func runningMachine(v values) string {
	for k := range v {
		if isNet(k) {
			return "pc-i440fx-10.0+pve1"
		}
	}
	return "pc-i440fx-10.0+pve0"
}

// writeNICs writes the host side of each network device.
func writeNICs(o *object, g *guest) {
	var nics object
	for _, k := range slotsOf(g.conf.Values, isNet) {
		var n object
		n.num("netin", 0)
		n.num("netout", 0)
		_, index, _ := splitIndex(k)
		nics.raw("tap"+itoa(g.vmid)+"i"+itoa(index), n.bytes())
	}
	if len(nics.buf) > 0 {
		o.raw("nics", nics.bytes())
	}
}

// writeMonitorFields adds the values that come from the monitor of a VM.
func (s *Sim) writeMonitorFields(o *object, g *guest) {
	o.str("qmpstatus", qmpStatus(g))
	if !g.running {
		return
	}
	mem := vmMemory(g.conf.Values) * mib
	o.str("running-machine", runningMachine(g.conf.Values))
	o.str("running-qemu", "10.0.13")
	o.num("balloon", mem)
	o.num("diskread", 0)
	o.num("diskwrite", 0)
	var b object
	b.num("actual", mem)
	b.num("max_mem", mem)
	if g.hasBalloonStats() {
		b.num("free_mem", mem/2)
		o.num("freemem", mem/2)
	}
	o.raw("ballooninfo", b.bytes())
	var p object
	for _, k := range []string{
		"query-bitmap-info", "backup-fleecing", "backup-access-api", "backup-max-workers", "pbs-masterkey",
		"pbs-dirty-bitmap", "pbs-dirty-bitmap-savevm", "pbs-dirty-bitmap-migration",
	} {
		p.raw(k, []byte("true"))
	}
	p.str("pbs-library-version", "")
	o.raw("proxmox-support", p.bytes())
	var bs object
	for _, slot := range diskSlots(QEMU, g.conf.Values) {
		var d object
		for _, k := range []string{"rd_bytes", "rd_operations", "wr_bytes", "wr_operations"} {
			d.num(k, 0)
		}
		bs.raw(slot, d.bytes())
	}
	o.raw("blockstat", bs.bytes())
	writeNICs(o, g)
}

func currentStatus(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		g, err := c.sim.find(kind, c.node(), c.vmid())
		if err != nil {
			return reply{}, err
		}
		var o object
		c.sim.writeRow(&o, g)
		var ha object
		if h := c.sim.ha[g.vmid]; h != nil && h.wish() != haIgnored {
			ha.num("managed", 1)
			if v := c.sim.services[g.vmid]; v == nil {
				ha.null("state") // it is not in the manager's books
			} else {
				ha.str("state", v.state)
			}
		} else {
			ha.num("managed", 0)
		}
		o.raw("ha", ha.bytes())
		if kind == QEMU {
			c.sim.writeMonitorFields(&o, g)
			writeStatusFlags(&o, g.conf.Values)
		}
		return dataReply(o.bytes())
	}
}

func writeStatusFlags(o *object, v values) {
	if a, err := agentFormat.parse("agent", v["agent"]); err == nil && a["enabled"] == "1" {
		o.num("agent", 1)
	}
	vga, err := vgaFormat.parse("vga", v["vga"])
	if err != nil || v["vga"] == "" {
		return
	}
	if strings.HasPrefix(vga["type"], "qxl") {
		o.num("spice", 1)
	}
	if vga["clipboard"] == "" {
		o.null("clipboard")
	} else {
		o.str("clipboard", vga["clipboard"])
	}
}

// bootTime is the time after a start until a guest's system has loaded its drivers.
const bootTime = time.Minute

// hasBalloonStats reports whether the balloon driver in the guest reports free memory: some time after the start, but at once if the guest's memory was
// restored, and never if no system runs in the guest.
func (g *guest) hasBalloonStats() bool {
	return g.resumed || !g.unresponsive && time.Since(g.startedAt) >= bootTime
}
