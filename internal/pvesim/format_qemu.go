package pvesim

import "maps"

// The parameters of VM configs, written by hand from the schema that the running API reports.

func mergeFormats(base, more propertyString) propertyString {
	out := maps.Clone(base)
	maps.Copy(out, more)
	return out
}

func throttleKeys() propertyString {
	p := propertyString{}
	for _, unit := range []string{"bps", "iops", "mbps"} {
		for _, dir := range []string{"", "_rd", "_wr"} {
			if unit == "mbps" {
				p[unit+dir], p[unit+dir+"_max"] = number(), number()
				continue
			}
			p[unit+dir], p[unit+dir+"_max_length"] = integer(), integer().atLeast(1)
			if unit == "iops" {
				p[unit+dir+"_max"] = integer()
			}
			if dir != "" {
				p[unit+dir+"_length"] = rule{alias: unit + dir + "_max_length"}
			}
		}
	}
	return p
}

var (
	// base64Text matches a value of smbios1 whether or not base64=1 is set: plain text with other characters is refused too.
	base64Text = matching(`[A-Za-z0-9+/]+={0,2}`)

	imageFormats = []string{"raw", "qcow", "qed", "qcow2", "vmdk", "cloop"}

	driveCommon = mergeFormats(throttleKeys(), propertyString{
		"file": checked(checkVolume).asDefaultKey().needed(), "volume": {alias: "file"},
		"aio": enum("native", "threads", "io_uring"), "backup": boolean(),
		"cache":   enum("none", "writethrough", "writeback", "unsafe", "directsync"),
		"discard": enum("ignore", "on"), "detect_zeroes": boolean(), "format": enum(imageFormats...),
		"media": enum("cdrom", "disk"), "replicate": boolean(), "rerror": enum("ignore", "report", "stop"),
		"serial": checked(checkURLEncoded).length(0, 60), "shared": boolean(), "size": checked(checkSize), "snapshot": boolean(),
		"werror": enum("enospc", "ignore", "report", "stop"), "import-from": text(),
	})
	wwn = matching(`0x[0-9a-fA-F]{16}`)

	ideFormat  = mergeFormats(driveCommon, propertyString{"model": checked(checkURLEncoded).length(0, 120), "ssd": boolean(), "wwn": wwn})
	sataFormat = mergeFormats(driveCommon, propertyString{"ssd": boolean(), "wwn": wwn})
	scsiFormat = mergeFormats(driveCommon, propertyString{
		"iothread": boolean(), "product": matching(`[A-Za-z0-9\-_\s]{0,16}`), "queues": integer().atLeast(2), "ro": boolean(),
		"scsiblock": boolean(), "ssd": boolean(), "vendor": matching(`[A-Za-z0-9\-_\s]{0,8}`), "wwn": wwn,
	})
	virtioFormat = mergeFormats(driveCommon, propertyString{"iothread": boolean(), "ro": boolean()})
	efiFormat    = propertyString{
		"file": checked(checkVolume).asDefaultKey().needed(), "volume": {alias: "file"}, "format": enum(imageFormats...),
		"size": checked(checkSize), "efitype": enum("2m", "4m"), "pre-enrolled-keys": boolean(),
		"ms-cert": enum("2011", "2023", "2023w", "2023k"), "import-from": text(),
	}
	tpmFormat = propertyString{
		"file": checked(checkVolume).asDefaultKey().needed(), "volume": {alias: "file"}, "format": enum("raw", "qcow2", "vmdk"),
		"size": checked(checkSize), "version": enum("v1.2", "v2.0"), "import-from": text(),
	}

	netModels = []string{
		"e1000", "e1000-82540em", "e1000-82544gc", "e1000-82545em", "e1000e", "i82551", "i82557b", "i82559er",
		"ne2k_isa", "ne2k_pci", "pcnet", "rtl8139", "virtio", "vmxnet3",
	}
	qemuNetFormat = qemuNet()

	ipconfigFormat = propertyString{
		"ip": checked(checkIPv4Config), "gw": checked(checkIPv4), "ip6": checked(checkIPv6Config), "gw6": checked(checkIPv6),
	}
	agentFormat = propertyString{
		"enabled": boolean().asDefaultKey().needed(), "freeze-fs": boolean(), "freeze-fs-on-backup": {alias: "freeze-fs"},
		"guest-fsfreeze": {alias: "freeze-fs"}, "fstrim_cloned_disks": boolean(), "type": enum("virtio", "isa"),
	}
	memoryFormat  = propertyString{"current": integer().atLeast(16).asDefaultKey().needed()}
	machineFormat = propertyString{
		"type":   matching(`pc|pc(-i440fx)?-\d+(\.\d+)+(\+pve\d+)?(\.pxe)?|q35|pc-q35-\d+(\.\d+)+(\+pve\d+)?(\.pxe)?|virt(-\d+(\.\d+)+)?(\+pve\d+)?`).length(0, 40).asDefaultKey(),
		"viommu": enum("intel", "virtio"), "aw-bits": number().atLeast(32).atMost(64), "enable-s3": boolean(), "enable-s4": boolean(),
	}
	vgaFormat = propertyString{
		"type": enum("cirrus", "qxl", "qxl2", "qxl3", "qxl4", "none", "serial0", "serial1", "serial2", "serial3", "std", "virtio",
			"virtio-gl", "vmware").asDefaultKey(),
		"memory": integer().atLeast(4).atMost(512), "clipboard": enum("vnc"),
	}
	smbiosFormat = propertyString{
		"uuid": matching(`[a-fA-F0-9]{8}(?:-[a-fA-F0-9]{4}){3}-[a-fA-F0-9]{12}`), "base64": boolean(), "family": base64Text,
		"manufacturer": base64Text, "product": base64Text, "serial": base64Text, "sku": base64Text, "version": base64Text,
	}
	numaFormat = propertyString{
		"cpus": matching(`\d+(?:-\d+)?(?:;\d+(?:-\d+)?)*`).needed(), "hostnodes": matching(`\d+(?:-\d+)?(?:;\d+(?:-\d+)?)*`),
		"memory": number(), "policy": enum("preferred", "bind", "interleave"),
	}
	hostpciFormat = propertyString{
		"host": text().asDefaultKey(), "mapping": text(), "pcie": boolean(), "rombar": boolean(), "romfile": text(), "x-vga": boolean(),
		"mdev": text(), "legacy-igd": boolean(), "vendor-id": text(), "device-id": text(), "sub-vendor-id": text(),
		"sub-device-id": text(), "driver": enum("vfio", "keep"),
	}
	usbFormat      = propertyString{"host": text().asDefaultKey(), "mapping": text(), "usb3": boolean()}
	rngFormat      = propertyString{"source": enum("/dev/urandom", "/dev/random", "/dev/hwrng").asDefaultKey().needed(), "max_bytes": integer(), "period": integer()}
	watchdogFormat = propertyString{"model": enum("i6300esb", "ib700").asDefaultKey(), "action": enum("reset", "shutdown", "poweroff", "pause", "debug", "none")}
	audioFormat    = propertyString{"device": enum("ich9-intel-hda", "intel-hda", "AC97").needed(), "driver": enum("spice", "none")}
	unusedFormat   = propertyString{"file": checked(checkVolumeID).asDefaultKey().needed(), "volume": {alias: "file"}}
	virtiofsFormat = propertyString{
		"dirid": checked(checkConfigID).asDefaultKey().needed(), "cache": enum("auto", "always", "metadata", "never"), "direct-io": boolean(),
		"expose-acl": boolean(), "expose-xattr": boolean(),
	}
	sevFormat = propertyString{
		"type": enum("std", "es", "snp").asDefaultKey().needed(), "allow-smt": boolean(), "kernel-hashes": boolean(), "no-debug": boolean(), "no-key-sharing": boolean(),
	}
	tdxFormat    = propertyString{"type": text().asDefaultKey(), "attestation": boolean().needed(), "quoting-service": text(), "vsock-cid": integer(), "vsock-port": integer()}
	customFormat = propertyString{"meta": checked(checkVolumeID), "network": checked(checkVolumeID), "user": checked(checkVolumeID), "vendor": checked(checkVolumeID)}
)

func qemuNet() propertyString {
	p := propertyString{
		"model": enum(netModels...).asDefaultKey().needed(), "macaddr": checked(checkMAC), "bridge": checked(checkBridge),
		"firewall": boolean(), "host-tunnel": boolean(), "link_down": boolean(), "mtu": integer().atLeast(1).atMost(65520),
		"queues": integer().atLeast(0).atMost(64), "rate": number().atLeast(0), "tag": integer().atLeast(1).atMost(4094),
		"trunks": matching(`\d+(?:-\d+)?(?:;\d+(?:-\d+)?)*`),
	}
	for _, m := range netModels {
		p[m] = rule{alias: "macaddr", modelFrom: "model"}
	}
	return p
}

func checkIPConfig(name string) func(string) error {
	return func(s string) error {
		if s == "" {
			return nil
		}
		v, err := ipconfigFormat.parse(name, s)
		if err != nil {
			return err
		}
		for _, pair := range [][2]string{{"gw", "ip"}, {"gw6", "ip6"}} {
			if v[pair[0]] != "" && v[pair[1]] == "" {
				return &formatError{name + "." + pair[1] + ": missing property required by '" + name + "." + pair[0] + "'"}
			}
		}
		return nil
	}
}

type formatError struct{ text string }

func (e *formatError) Error() string { return "format error\n" + e.text }
