package pvesim

import "maps"

// restoreConfig returns the keys of a restore call, which replace those of the backup. A VM's drives always come from the backup. In Proxmox
// the drives in a container's call replace all drives of the backup; the simulator rejects them. The state is locked.
func (c *call) restoreConfig(kind Kind, vmid int) (values, error) {
	set, own := maps.Clone(c.params), createOnly
	if kind == LXC {
		own = createOnlyCT
	}
	for _, k := range own {
		delete(set, k)
	}
	if slots := diskSlots(kind, set); len(slots) > 0 {
		if kind == LXC {
			return nil, apiErrorf("the simulator does not support '%s' when it restores a container", slots[0])
		}
		return nil, paramError(slots[0], "option conflicts with option 'archive'")
	}
	if kind == LXC {
		return set, c.permitRestoreCT(vmid, set)
	}
	if err := c.normalizeVM(set); err != nil {
		return nil, err
	}
	for _, k := range sortedKeys(set) {
		if err := c.permitKey(vmid, k, set[k]); err != nil {
			return nil, err
		}
	}
	return set, nil
}

func (c *call) permitRestoreCT(vmid int, set values) error {
	for _, k := range sortedKeys(set) {
		if k == "features" || k == "unprivileged" {
			continue // checked below
		}
		if err := c.permitCTKey(vmid, k, set[k]); err != nil {
			return err
		}
	}
	if set["unprivileged"] == "0" {
		if err := c.require("/", "Sys.Modify"); err != nil {
			return err
		}
	}
	c.sim.normalizeCT(set)
	for _, k := range slotsOf(set, isNet) {
		n, err := c.sim.normalizeLXCNet(k, set[k])
		if err != nil {
			return err
		}
		set[k] = n
	}
	return c.permitFeatures(set, nil, nil, set["unprivileged"] != "0")
}
