package pvesim

import "strings"

// keyPrivilege maps VM keys to the privilege that setting or deleting them needs.
var keyPrivilege = func() map[string]string {
	m := map[string]string{}
	for priv, keys := range map[string]string{
		"VM.Config.CPU":     "cores cpu cpulimit cpuunits numa smp sockets vcpus",
		"VM.Config.Memory":  "memory balloon shares allow-ksm",
		"VM.Config.HWType":  "acpi hotplug kvm machine scsihw smbios1 tablet vga watchdog audio0 rng0",
		"VM.Config.Options": "agent autostart bios description keyboard localtime migrate_downtime migrate_speed name onboot ostype protection reboot startdate startup tdf template tags",
		"VM.Config.Disk":    "boot bootdisk vmstatestorage efidisk0 tpmstate0",
		"VM.PowerMgmt":      "freeze",
	} {
		for k := range strings.FieldsSeq(keys) {
			m[k] = priv
		}
	}
	return m
}()

var cloudInitKeys = map[string]bool{
	"cicustom": true, "cipassword": true, "citype": true, "ciuser": true, "ciupgrade": true, "nameserver": true, "searchdomain": true, "sshkeys": true,
}

func isCloudInitKey(k string) bool {
	stem, _, ok := splitIndex(k)
	return cloudInitKeys[k] || ok && stem == "ipconfig"
}

// permitKey checks the privilege for one key of a VM config; value is "" for a delete. The state is locked.
func (c *call) permitKey(vmid int, key, value string) error {
	if c.isRoot() {
		return nil
	}
	path := "/vms/" + itoa(vmid)
	stem, _, indexed := splitIndex(key)
	switch {
	case key == "startup":
		if err := c.require("/", "Sys.Modify"); err != nil {
			return err
		}
		return c.require(path, "VM.Config.Options")
	case key == "tags":
		if err := c.require(path, "VM.Config.Options"); err != nil {
			return err
		}
		return c.permitTags(vmid, value)
	case keyPrivilege[key] != "":
		return c.require(path, keyPrivilege[key])
	case isCloudInitKey(key):
		return c.requireAny(path, "VM.Config.Cloudinit", "VM.Config.Network")
	case isDisk(QEMU, key) || isUnused(key):
		return c.permitDisk(path, key, value)
	case isNet(key):
		return c.permitNet(path, value)
	case indexed && stem == "numa":
		return c.require(path, "VM.Config.CPU")
	case indexed && stem == "serial":
		if value == "" || value == "socket" {
			return c.require(path, "VM.Config.HWType")
		}
		return apiErrorf("only root can modify '%s' config for real devices", key)
	case indexed && stem == "usb":
		v, err := usbFormat.parse(key, value)
		switch {
		case value == "" || err == nil && strings.EqualFold(v["host"], "spice"):
			return c.require(path, "VM.Config.HWType")
		case err == nil && v["host"] == "" && v["mapping"] != "":
			return c.permitMapping(path, "usb", v["mapping"])
		}
		return apiErrorf("only root can set '%s' config for real devices", key)
	case indexed && stem == "hostpci":
		if value == "" {
			return c.require(path, "VM.Config.HWType")
		}
		if v, err := hostpciFormat.parse(key, value); err == nil && v["mapping"] != "" && v["host"] == "" {
			if err := c.permitMapping(path, "pci", v["mapping"]); err != nil || v["romfile"] == "" {
				return err
			}
			return paramError(key, "only root@pam can set 'romfile' option")
		}
		return apiErrorf("only root can set '%s' config for non-mapped devices", key)
	case indexed && stem == "virtiofs":
		if v, err := virtiofsFormat.parse(key, value); err == nil && v["dirid"] != "" {
			if err := c.require("/mapping/dir/"+v["dirid"], "Mapping.Use"); err != nil {
				return err
			}
		}
		return c.require(path, "VM.Config.Disk")
	}
	return apiErrorf("only root can set '%s' config", key)
}

// permitMapping requires the privileges for a host device that the cluster has mapped under a name.
func (c *call) permitMapping(path, kind, name string) error {
	if err := c.require(path, "VM.Config.HWType"); err != nil {
		return err
	}
	return c.require("/mapping/"+kind+"/"+name, "Mapping.Use")
}

func (c *call) permitDisk(path, key, value string) error {
	if value != "" && !isUnused(key) {
		d, err := parseDrive(key, value)
		if err != nil {
			return err
		}
		switch {
		case d.isCloudInit():
			return c.require(path, "VM.Config.Cloudinit", "VM.Config.CDROM")
		case d.isCDROM():
			return c.require(path, "VM.Config.CDROM")
		}
	}
	return c.require(path, "VM.Config.Disk")
}

func (c *call) permitNet(path, value string) error {
	if err := c.require(path, "VM.Config.Network"); err != nil {
		return err
	}
	return c.permitBridge(qemuNetFormat, value)
}

// permitBridge requires SDN.Use on the bridge of a network device, or on the VLAN of that bridge.
func (c *call) permitBridge(format propertyString, value string) error {
	v, err := format.parse("net", value)
	if err != nil || v["bridge"] == "" {
		return nil //nolint:nilerr // a delete names no bridge
	}
	path := "/sdn/zones/localnetwork/" + v["bridge"]
	if v["tag"] != "" {
		path += "/" + v["tag"]
	}
	return c.require(path, "SDN.Use")
}
