package pvesim

import (
	"maps"
	"slices"
	"strings"
)

func (u *update) checkLists() error {
	for i, k := range u.deletes {
		if k == "cdrom" {
			u.deletes[i], k = "ide2", "ide2"
		}
		if _, set := u.set[k]; set {
			return paramError("delete", "you can't use '-"+k+"' and -delete "+k+"' at the same time")
		}
		if !isQEMUKey(k) {
			return paramError("delete", "unknown option '"+k+"'")
		}
	}
	for _, k := range u.reverts {
		if !isQEMUKey(k) {
			return paramError("revert", "unknown option '"+k+"'")
		}
		if _, set := u.set[k]; set {
			return paramError("delete", "you can't use '-"+k+"' and -revert "+k+"' at the same time")
		}
	}
	return nil
}

// normalizeVM rewrites the values that Proxmox stores in another form.
func (c *call) normalizeVM(set values) error {
	if v, ok := set["sshkeys"]; ok {
		if v == "" {
			delete(set, "sshkeys") // accepted without effect
		} else if err := checkSSHKeys(v); err != nil {
			return err
		}
	}
	if v, ok := set["tags"]; ok {
		set["tags"] = c.sim.normalizeTags(v)
	}
	if v, ok := set["cpuunits"]; ok {
		set["cpuunits"] = clampCPUUnits(v)
	}
	if v, ok := set["vmgenid"]; ok && v == "1" {
		set["vmgenid"] = c.sim.newUUID()
	}
	if v, ok := set["hookscript"]; ok && c.sim.volume(v) == nil {
		return paramError("hookscript", "script '"+v+"' does not exist\n")
	}
	for _, k := range sortedKeys(set) { // in order, so that equal seeds give equal addresses
		v := set[k]
		switch {
		case isNet(k):
			n, err := c.sim.normalizeNet(k, v)
			if err != nil {
				return err
			}
			set[k] = n
		case isDisk(QEMU, k):
			d, err := parseDrive(k, v)
			if err != nil {
				return err
			}
			if _, size := d.newStorage(); d.isImport() && (!d.isNew() || size != 0) {
				return paramError(k, "'import-from' requires special syntax - use <storage ID>:0,import-from=<source>")
			}
			if strings.Contains(d.file(), ":iso/") && !d.isCDROM() {
				return paramError(k, "explicit 'media=cdrom' is required for iso images")
			}
			set[k] = d.text()
		}
	}
	return nil
}

// permitUpdate checks the privileges for a change of a VM's config. A device of the host needs those of the device that the slot has, too.
func (c *call) permitUpdate(u *update) error {
	var cur values
	if g, err := c.vm(); err == nil {
		cur = g.conf.Values
	}
	permitPresent := func(k string) error {
		if stem, _, _ := splitIndex(k); cur[k] == "" || stem != "usb" && stem != "hostpci" && stem != "serial" {
			return nil
		}
		return c.permitKey(u.vmid, k, cur[k])
	}
	for _, k := range slices.Concat(u.deletes, u.reverts) {
		if err := c.permitKey(u.vmid, k, ""); err != nil {
			return err
		}
	}
	for _, k := range u.deletes {
		if err := permitPresent(k); err != nil {
			return err
		}
	}
	for _, k := range slices.Sorted(maps.Keys(u.set)) {
		if err := permitPresent(k); err != nil {
			return err
		}
		if err := c.permitKey(u.vmid, k, u.set[k]); err != nil {
			return err
		}
	}
	return c.checkDisks(QEMU, u.set)
}
