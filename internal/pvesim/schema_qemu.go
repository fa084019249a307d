package pvesim

import (
	"strings"
)

var (
	osTypes = []string{"other", "wxp", "w2k", "w2k3", "w2k8", "wvista", "win7", "win8", "win10", "win11", "l24", "l26", "solaris"}
	keymaps = strings.Fields("de de-ch da en-gb en-us es fi fr fr-be fr-ca fr-ch hu is it ja lt mk nl no pl pt pt-br sv sl tr")
	locks   = []string{"backup", "clone", "create", "migrate", "rollback", "snapshot", "snapshot-delete", "suspending", "suspended"}
)

// qemuConfig lists the keys of a VM config, except the families in qemuFormats.
var qemuConfig = &schema{
	rules: map[string]rule{
		"acpi": boolean(), "affinity": text(), "agent": propertyRule("agent", agentFormat), "allow-ksm": boolean(), "amd-sev": propertyRule("amd-sev", sevFormat),
		"arch": enum("x86_64", "aarch64"), "args": text(), "audio0": propertyRule("audio0", audioFormat), "autostart": boolean(),
		"balloon": integer().atLeast(0), "bios": enum("seabios", "ovmf"), "boot": checked(checkBoot),
		"bootdisk": matching(`(ide|sata|scsi|virtio)\d+`), "cdrom": propertyRule("cdrom", ideFormat),
		"cicustom": optionalPropertyRule("cicustom", customFormat), "cipassword": text(),
		"citype": enum("configdrive2", "nocloud", "opennebula"), "ciupgrade": boolean(), "ciuser": text(),
		"cores": integer().atLeast(1), "cpu": checked(checkCPU), "cpulimit": number().atLeast(0).atMost(128),
		"cpuunits": integer().atLeast(1).atMost(262144), "description": text().length(0, 8192),
		"efidisk0": propertyRule("efidisk0", efiFormat), "freeze": boolean(), "hookscript": checked(checkVolumeID),
		"hotplug": checked(checkHotplug), "hugepages": enum("any", "2", "1024"), "intel-tdx": propertyRule("intel-tdx", tdxFormat), "ivshmem": text(),
		"keephugepages": boolean(), "keyboard": enum(keymaps...), "kvm": boolean(), "localtime": boolean(), "lock": enum(locks...),
		"machine": propertyRule("machine", machineFormat), "memory": propertyRule("memory", memoryFormat),
		"migrate_downtime": number().atLeast(0), "migrate_speed": integer().atLeast(0), "name": checked(checkDNSName),
		"nameserver": checked(checkAddressList), "numa": boolean(), "onboot": boolean(), "ostype": enum(osTypes...),
		"protection": boolean(), "reboot": boolean(), "rng0": propertyRule("rng0", rngFormat),
		"scsihw":       enum("lsi", "lsi53c810", "virtio-scsi-pci", "virtio-scsi-single", "megasas", "pvscsi"),
		"searchdomain": text(), "shares": integer().atLeast(0).atMost(50000),
		"smbios1": propertyRule("smbios1", smbiosFormat).length(0, 512), "smp": integer().atLeast(1), "sockets": integer().atLeast(1),
		"spice_enhancements": text(), "sshkeys": checked(checkURLEncoded),
		"startdate": matching(`now|\d{4}-\d{1,2}-\d{1,2}(T\d{1,2}:\d{1,2}:\d{1,2})?`), "startup": checked(checkStartup),
		"tablet": boolean(), "tags": checked(checkTags), "tdf": boolean(), "template": boolean(),
		"tpmstate0": propertyRule("tpmstate0", tpmFormat), "vcpus": integer().atLeast(1), "vga": optionalPropertyRule("vga", vgaFormat),
		"vmgenid":        matching(`[a-fA-F0-9]{8}(?:-[a-fA-F0-9]{4}){3}-[a-fA-F0-9]{12}|[01]`),
		"vmstatestorage": checked(checkStorageID), "watchdog": propertyRule("watchdog", watchdogFormat),
	},
}

// qemuFormats are the property strings of the indexed keys, both for rules and for reading values.
var qemuFormats = map[string]struct {
	count  int
	format propertyString
}{
	"ide": {4, ideFormat}, "sata": {6, sataFormat}, "scsi": {31, scsiFormat}, "virtio": {16, virtioFormat}, "net": {32, qemuNetFormat},
	"hostpci": {16, hostpciFormat}, "usb": {14, usbFormat}, "numa": {8, numaFormat}, "unused": {256, unusedFormat},
	"virtiofs": {10, virtiofsFormat},
}

// verifyQEMU checks the parameters of a call that takes VM config keys. Error texts contain the name of the key, so families are checked here
// and not in the table.
func verifyQEMU(s *schema, p values) error {
	plain, bad := values{}, map[string]string{}
	for k, v := range p {
		stem, index, ok := splitIndex(k)
		f, known := qemuFormats[stem]
		switch {
		case ok && known && index < f.count:
			if msg := propertyRule(k, f.format).verify(v); msg != "" {
				bad[k] = msg
			}
		case ok && stem == "ipconfig" && index < 32:
			if msg := checked(checkIPConfig(k)).verify(v); msg != "" {
				bad[k] = msg
			}
		case ok && stem == "serial" && index < 4:
			if msg := matching(`/dev/[^,]+|socket`).verify(v); msg != "" {
				bad[k] = msg
			}
		case ok && stem == "parallel" && index < 3:
			if msg := matching(`/dev/parport\d+|/dev/usb/lp\d+`).verify(v); msg != "" {
				bad[k] = msg
			}
		default:
			plain[k] = v
		}
	}
	return mergeParamErrors(s.verify(plain), bad)
}

// ownKeys are the keys that Proxmox writes itself and no call sets.
var ownKeys = map[string]bool{
	"meta": true, "parent": true, "snaptime": true, "vmstate": true, "runningmachine": true, "runningcpu": true, "running-nets-host-mtu": true,
}

// isQEMUKey reports whether a VM config may contain the key.
func isQEMUKey(k string) bool {
	if _, ok := qemuConfig.rules[k]; ok || ownKeys[k] {
		return true
	}
	stem, index, ok := splitIndex(k)
	if !ok {
		return false
	}
	if f, known := qemuFormats[stem]; known {
		return index < f.count
	}
	return stem == "ipconfig" && index < 32 || stem == "serial" && index < 4 || stem == "parallel" && index < 3
}
