package pvesim

import (
	"strings"
	"time"
)

func nodeRoutes() []*route {
	return []*route{
		readRoute("/nodes", nodes),
		indexRoute("/nodes/{node}", "name", strings.Fields(`aplinfo apt capabilities ceph certificates config disks dns firewall hardware
			hosts journal lxc migrateall netstat network qemu query-oci-repo-tags query-url-metadata replication report rrd rrddata
			scan sdn services spiceshell startall status stopall storage subscription suspendall syslog tasks termproxy time version
			vncshell vzdump wakeonlan`)...),
		readRoute("/nodes/{node}/version", version),
		readRoute("/nodes/{node}/status", nodeStatus).withPermission(func(c *call) error { return c.require("/nodes/"+c.node(), "Sys.Audit") }),
		readRoute("/nodes/{node}/network", networkList).withParams(map[string]rule{"type": enum(interfaceTypes...)}),
		readRoute("/nodes/{node}/capabilities/qemu/cpu", cpuModels).withParams(map[string]rule{"arch": enum("x86_64", "aarch64")}).withoutProxy(),
	}
}

type nodeRowKind int

const (
	nodeInResources nodeRowKind = iota
	nodeInList
)

const nodeFingerprint = "DE:34:E5:32:E4:7F:17:B1:3D:67:7C:BF:B5:65:2B:96:6F:83:7F:88:77:15:B9:5B:52:ED:75:C1:19:09:69:BB"

const (
	usedMemory = 1145536512
	usedDisk   = 32861634560
)

func (s *Sim) nodeRow(c *call, name string, in nodeRowKind) *object {
	o := &object{}
	o.str("id", "node/"+name)
	o.str("node", name)
	o.str("type", "node")
	offline := !s.sees(c.local(), name)
	if offline {
		o.str("status", "offline")
	} else {
		o.str("status", "online")
	}
	if offline && s.isExpired(name) {
		if in == nodeInList {
			o.str("ssl_fingerprint", nodeFingerprint)
			return o
		}
		o.num("cgroup-mode", 2)
		if state := s.haNodeState(name); state != "" {
			o.str("hastate", state)
		}
		return o
	}
	o.str("level", "")
	o.num("maxcpu", int64(s.opts.CPUs))
	o.num("maxmem", s.opts.Memory)
	o.num("maxdisk", defaultStorageSize)
	if !offline {
		o.num("mem", usedMemory)
		o.num("disk", usedDisk)
		o.num("uptime", int64(time.Since(s.bootedAt(name))/time.Second))
		o.float("cpu", 0.04)
	}
	if in == nodeInResources {
		o.num("cgroup-mode", 2)
		state := s.haNodeState(name)
		if f := s.frozen[c.local()]; f != nil {
			state = f.nodes[name]
		}
		if state != "" {
			o.str("hastate", state)
		}
	} else {
		o.str("ssl_fingerprint", nodeFingerprint)
	}
	return o
}

func nodes(c *call) (reply, error) {
	var a array
	for _, n := range c.sim.opts.Nodes {
		a.add(c.sim.nodeRow(c, n, nodeInList))
	}
	return dataReply(a.bytes())
}

func nodeStatus(c *call) (reply, error) {
	var o object
	o.str("pveversion", "pve-manager/"+c.sim.release.Load().version+"/"+repoID)
	o.str("kversion", "Linux 6.17.2-1-pve #1 SMP PREEMPT_DYNAMIC")
	o.num("uptime", int64(time.Since(c.sim.bootedAt(c.node()))/time.Second))
	o.num("cpu", 0)
	o.num("wait", 0)
	o.num("idle", 0)
	for _, part := range []struct {
		name              string
		total, used, free int64
	}{{"memory", c.sim.opts.Memory, usedMemory, c.sim.opts.Memory - usedMemory}, {"swap", 0, 0, 0}, {"rootfs", defaultStorageSize, usedDisk, defaultStorageSize - usedDisk}} {
		var p object
		p.num("total", part.total)
		p.num("used", part.used)
		p.num("free", part.free)
		o.raw(part.name, p.bytes())
	}
	var cpu object
	cpu.num("cpus", int64(c.sim.opts.CPUs))
	cpu.num("sockets", 1)
	cpu.num("cores", int64(c.sim.opts.CPUs))
	o.raw("cpuinfo", cpu.bytes())
	o.raw("loadavg", []byte(`["0.00","0.00","0.00"]`))
	return dataReply(o.bytes())
}
