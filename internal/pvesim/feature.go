package pvesim

import (
	"slices"
	"strings"
)

// featureRoute tells whether all disks of a guest have a feature: of a VM also the nodes that can run it.
//
// Source: PVE::API2::Qemu vm_feature; PVE::Storage volume_has_feature of the plugins for directories and LVM thin pools.
func featureRoute(kind Kind, path string) *route {
	return readRoute(path+"/feature", func(c *call) (reply, error) {
		g, err := c.sim.find(kind, c.node(), c.vmid())
		if err != nil {
			return reply{}, err
		}
		conf, name := g.conf.Values, c.params["snapname"]
		if name != "" {
			snapshot := g.conf.Snapshot(name)
			if snapshot == nil {
				return reply{}, apiErrorf("snapshot '%s' does not exist", name)
			}
			conf = snapshot.Values
		}
		var o object
		o.num("hasFeature", boolToInt(c.sim.hasFeature(kind, c.params["feature"], conf, name != "")))
		if kind == QEMU {
			o.raw("nodes", stringArray(c.sim.nodesFor(g.node, conf)))
		}
		return dataReply(o.bytes())
	}).withParams(map[string]rule{"feature": enum("snapshot", "clone", "copy").needed(), "snapname": matching(`[a-zA-Z][a-zA-Z0-9_\-]+`).length(0, 40)}).withGuestPrivilege("VM.Audit")
}

// hasFeature reports whether the volumes of all disks can be copied, linked or have snapshots. The state is locked.
func (s *Sim) hasFeature(kind Kind, feature string, conf values, ofSnapshot bool) bool {
	for _, slot := range diskSlots(kind, conf) {
		d, err := parseDisk(kind, slot, conf[slot])
		if err != nil || kind == QEMU && d.values["media"] == "cdrom" {
			continue
		}
		v, st := s.volume(d.file()), s.storage(d.storageOf())
		if v == nil || st == nil || !st.hasFeature(kind, feature, v, ofSnapshot) {
			return false
		}
	}
	return true
}

func (st *storage) hasFeature(kind Kind, feature string, v *Volume, ofSnapshot bool) bool {
	isBase, isFile := strings.Contains(v.ID, "/base-") || strings.Contains(v.ID, ":base-"), st.Type == "dir"
	switch feature {
	case "snapshot":
		return !isBase && (!isFile || v.Format == "qcow2")
	case "clone":
		if isFile {
			return isBase && !ofSnapshot && kind == QEMU
		}
		return isBase || ofSnapshot
	}
	return !isFile || v.Format == "qcow2" || !ofSnapshot && v.Format != "subvol"
}

// nodesFor returns the nodes on which a VM with these disks can run: its own, and all others if every storage is shared. The state is locked.
func (s *Sim) nodesFor(node string, conf values) []string {
	for _, slot := range diskSlots(QEMU, conf) {
		d, err := parseDisk(QEMU, slot, conf[slot])
		if err != nil || !d.ownsVolume() {
			continue
		}
		if st := s.storage(d.storageOf()); st == nil || !st.Shared {
			return []string{node}
		}
	}
	return slices.Clone(s.opts.Nodes)
}
