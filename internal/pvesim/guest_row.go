package pvesim

import (
	"strings"
	"time"
)

// row holds the values that lists and status calls show of a guest.
type row struct {
	status   string
	name     string
	template int64
	cpus     int64
	maxmem   int64 // bytes
	maxdisk  int64 // bytes
	maxswap  int64 // bytes
	uptime   int64 // seconds
}

func (s *Sim) rowOf(g *guest) row {
	if g.configRow == nil {
		r := s.baseRow(g)
		g.configRow = &r
	}
	r := *g.configRow
	if g.running {
		r.status = "running"
		r.uptime = int64(time.Since(g.processSince) / time.Second)
		if root := s.rootVolume(g.conf.Values); g.kind == LXC && root != nil && root.Format != "subvol" {
			r.maxdisk = fileSystemSize(root.fileSystem())
		}
	}
	return r
}

// baseRow returns the row of a stopped guest.
func (s *Sim) baseRow(g *guest) row {
	r := row{status: "stopped", name: g.name(), template: boolToInt(g.isTemplate())}
	v := g.conf.Values
	if g.kind == LXC {
		r.cpus, r.maxmem, r.maxswap = intOrDefault(v["cores"], int64(s.opts.CPUs)), intOrDefault(v["memory"], 512)*mib, intOrDefault(v["swap"], 0)*mib
		r.maxdisk = lxcRootSize(v)
		return r
	}
	r.cpus = min(vmCPUs(v), int64(s.opts.CPUs)) // at most the CPUs of the node, unless vcpus is set
	if n := v["vcpus"]; n != "" {
		r.cpus = int64(atoi(n))
	}
	r.maxmem = vmMemory(v) * mib
	r.maxdisk = s.bootDiskSize(g)
	return r
}

func intOrDefault(text string, def int64) int64 {
	if strings.TrimSpace(text) == "" {
		return def
	}
	return int64(atoi(text))
}

// vmCPUs returns the number of CPUs of a VM.
func vmCPUs(v values) int64 { return intOrDefault(v["sockets"], 1) * intOrDefault(v["cores"], 1) }

// vmMemory returns the memory of a VM in MiB.
func vmMemory(v values) int64 {
	if p, err := memoryFormat.parse("memory", v["memory"]); err == nil {
		return int64(atoi(p["current"]))
	}
	return 512
}

func lxcRootSize(v values) int64 {
	if p, err := rootfsFormat.parse("rootfs", v["rootfs"]); err == nil {
		if n, ok := parseSize(p["size"]); ok {
			return n
		}
	}
	return 4 * gib
}

// bootDiskSize returns the size in bytes of the first boot device, or 0 if it is not a disk.
func (s *Sim) bootDiskSize(g *guest) int64 {
	order := bootOrder(g.conf.Values)
	if len(order) == 0 || !isDisk(QEMU, order[0]) {
		return 0
	}
	d, err := parseDrive(order[0], g.conf.Values[order[0]])
	if err != nil || d.isCDROM() {
		return 0
	}
	n, _ := parseSize(d.values["size"])
	return n
}
