package pvesim

import (
	"maps"
	"slices"
	"strings"
)

func (c *call) permitUpdateCT(u *update) error {
	for _, k := range slices.Concat(u.deletes, u.reverts) {
		if err := c.permitCTKey(u.vmid, k, ""); err != nil {
			return err
		}
	}
	var cur values
	if g, err := c.ct(); err == nil {
		cur = g.conf.Values
	}
	if err := c.permitFeatures(u.set, u.deletes, cur, cur["unprivileged"] == "1"); err != nil {
		return err
	}
	for _, k := range slices.Sorted(maps.Keys(u.set)) {
		if err := c.permitCTKey(u.vmid, k, u.set[k]); err != nil {
			return err
		}
	}
	return c.checkCTDisks(u.set)
}

// checkListsCT refuses keys in more than one list, and unknown ones. Its texts differ from
// those for virtual machines, and it comes after lock and digest.
func (u *update) checkListsCT() error {
	for _, k := range u.reverts {
		if !isLXCKey(k) {
			return paramError("revert", "unknown option '"+k+"'")
		}
		if _, set := u.set[k]; set {
			return paramError("revert", "you can't use '-"+k+"' and '-revert "+k+"' at the same time")
		}
	}
	for _, k := range u.deletes {
		if !isLXCKey(k) {
			return paramError("delete", "unknown option '"+k+"'")
		}
		if _, set := u.set[k]; set {
			return paramError("delete", "you can't use '-"+k+"' and -delete "+k+"' at the same time")
		}
		if slices.Contains(u.reverts, k) {
			return paramError("delete", "you can't use '-delete "+k+"' and '-revert "+k+"' at the same time")
		}
	}
	return nil
}

// checkCTDisks checks the storages of new volumes only. The value of rootfs is stored without a check.
func (c *call) checkCTDisks(set values) error {
	for _, slot := range diskSlots(LXC, set) {
		d, err := parseMount(slot, set[slot])
		if err != nil {
			return err
		}
		if slot == "rootfs" || !d.isNew() {
			continue
		}
		if err := c.checkDisk(d); err != nil {
			return err
		}
	}
	return nil
}

// permitFeatures rejects changes of feature flags that only root@pam may make: all of a privileged container, and all but nesting of another one. The texts
// are compared as they are, so a flag that is named with its default counts as one that is not named. The state is locked.
//
// Source: PVE::LXC check_ct_modify_config_perm.
func (c *call) permitFeatures(set values, deletes []string, cur values, unprivileged bool) error {
	text, changes := set["features"]
	removed := slices.Contains(deletes, "features")
	if !changes && !removed || c.isRoot() {
		return nil
	}
	if !unprivileged {
		return forbidden("changing feature flags for privileged container is only allowed for root@pam")
	}
	n, err := featuresFormat.parse("features", text)
	if err != nil {
		return paramError("features", "invalid format - "+err.Error()+"\n")
	}
	o, err := featuresFormat.parse("features", cur["features"])
	if err != nil || !removed && cur["features"] == "" {
		o = values{}
	}
	for k := range featuresFormat {
		_, before := o[k]
		_, after := n[k]
		if k != "nesting" && (before != after || n[k] != o[k]) {
			return forbidden("changing feature flags (except nesting) is only allowed for root@pam")
		}
	}
	return nil
}

// permitCTKey checks the privilege for one key; value is "" for a delete. The state is locked.
func (c *call) permitCTKey(vmid int, key, value string) error {
	if c.isRoot() {
		return nil
	}
	path := "/vms/" + itoa(vmid)
	stem, _, _ := splitIndex(key)
	switch {
	case key == "cores" || key == "cpuunits" || key == "cpulimit":
		return c.require(path, "VM.Config.CPU")
	case key == "rootfs" || stem == "mp" || stem == "unused":
		if d, err := parseMount(key, value); err == nil && strings.HasPrefix(d.file(), "/") {
			kind := "bind"
			if strings.HasPrefix(d.file(), "/dev/") {
				kind = "device"
			}
			return forbidden("mount point type " + kind + " is only allowed for root@pam")
		}
		return c.require(path, "VM.Config.Disk")
	case key == "memory" || key == "swap":
		return c.require(path, "VM.Config.Memory")
	case isNet(key):
		if err := c.require(path, "VM.Config.Network"); err != nil {
			return err
		}
		return c.permitBridge(lxcNetFormat, value)
	case key == "tags":
		if err := c.require(path, "VM.Config.Options"); err != nil {
			return err
		}
		return c.permitTags(vmid, value)
	case key == "nameserver" || key == "searchdomain" || key == "hostname":
		return c.require(path, "VM.Config.Network")
	case key == "features":
		return c.require(path, "VM.Allocate")
	case stem == "dev":
		return forbidden("configuring device passthrough is only allowed for root@pam")
	case key == "hookscript":
		return forbidden("changing the hookscript is only allowed for root@pam")
	case key == "startup":
		if err := c.require("/", "Sys.Modify"); err != nil {
			return err
		}
	}
	return c.require(path, "VM.Config.Options")
}
