package guest

import "gitops-agent/reconcile/guest/form"

// Property strings of keys that are not devices.
var (
	startupSyntax = &syntax{bare: "order", named: true, subs: []sub{
		{name: "order", scalar: whole(0, 0)}, {name: "up", scalar: whole(0, 0)}, {name: "down", scalar: whole(0, 0)},
	}}
	cpuSyntax = &syntax{bare: "cputype", subs: []sub{
		{name: "cputype", absentValue: "kvm64", required: true},
		{name: "flags", scalar: asSet},
		{name: "hidden", scalar: yesNo, absentValue: "0"},
		{name: "hv-vendor-id"},
		{name: "reported-model", absentValue: "kvm64"},
		{name: "phys-bits"},
		{name: "guest-phys-bits", scalar: whole(32, 64), releases: since91},
		{name: "level", scalar: whole(0, 1<<32-1), releases: since91},
	}}
	numaSyntax = &syntax{subs: []sub{
		{name: "cpus", scalar: asRanges, required: true},
		{name: "hostnodes", scalar: asRanges},
		{name: "memory", scalar: fraction(0, 0)},
		{name: "policy", scalar: oneOf("preferred", "bind", "interleave")},
	}}
	memorySyntax = &syntax{bare: "current", subs: []sub{{name: "current", scalar: whole(16, 0), absentValue: "512", required: true}}}
	agentSyntax  = &syntax{bare: "enabled", off: true, subs: []sub{
		{name: "enabled", scalar: yesNo, absentValue: "0", required: true},
		{name: "fstrim_cloned_disks", scalar: yesNo, absentValue: "0"},
		{name: "freeze-fs-on-backup", scalar: yesNo, absentValue: "1"}, // the one name that both 8.x and 9.x accept
		{name: "type", scalar: oneOf("virtio", "isa"), absentValue: "virtio"},
	}, alias: map[string]string{"freeze-fs": "freeze-fs-on-backup", "guest-fsfreeze": "freeze-fs-on-backup"}}
	bootSyntax = &syntax{bare: "legacy", subs: []sub{
		{name: "legacy"}, {name: "order", scalar: asList},
	}}
	machineSyntax = &syntax{bare: "type", subs: []sub{
		{name: "type", scalar: scalar{Form: form.Machine}, absentValue: "pc"},
		{name: "viommu", scalar: oneOf("intel", "virtio")},
		{name: "enable-s3", scalar: yesNo},
		{name: "enable-s4", scalar: yesNo},
		{name: "aw-bits", scalar: fraction(32, 64), releases: since91},
	}}
	vgaSyntax = &syntax{bare: "type", subs: []sub{
		{name: "type", scalar: oneOf("std", "virtio", "virtio-gl", "qxl", "qxl2", "qxl3", "qxl4", "vmware", "cirrus", "serial0", "serial1", "serial2", "serial3", "none"), absentValue: "std"},
		{name: "memory", scalar: whole(4, 512)},
		{name: "clipboard", scalar: oneOf("vnc")},
	}}
	// Proxmox keeps a value without a uuid as it is. The agent creates a guest with one.
	smbiosSyntax = &syntax{style: smbiosStyle, subs: []sub{
		{name: "uuid", scalar: asUUID, owned: true},
		{name: "base64", scalar: yesNo, absentValue: "0"},
		{name: "manufacturer"},
		{name: "product"},
		{name: "version"},
		{name: "serial"},
		{name: "sku"},
		{name: "family"},
	}}
	sevSyntax = &syntax{bare: "type", subs: []sub{
		{name: "type", scalar: oneOf("std", "es", "snp"), required: true},
		{name: "no-debug", scalar: yesNo, absentValue: "0"},
		{name: "no-key-sharing", scalar: yesNo, absentValue: "0"},
		{name: "allow-smt", scalar: yesNo, absentValue: "1"},
		{name: "kernel-hashes", scalar: yesNo, absentValue: "0"},
	}}
	tdxSyntax = &syntax{bare: "type", subs: []sub{
		{name: "type", scalar: oneOf("tdx"), required: true},
		{name: "attestation", scalar: yesNo, required: true},
		{name: "vsock-cid", scalar: whole(2, 0), absentValue: "2"},
		{name: "vsock-port", scalar: whole(0, 0), absentValue: "4050"},
	}}
	spiceSyntax = &syntax{subs: []sub{
		{name: "foldersharing", scalar: yesNo, absentValue: "0"}, {name: "videostreaming", scalar: oneOf("off", "all", "filter"), absentValue: "off"},
	}}
	customSyntax   = &syntax{subs: []sub{{name: "meta"}, {name: "network"}, {name: "user"}, {name: "vendor"}}}
	ipconfigSyntax = &syntax{subs: []sub{
		{name: "ip", scalar: asNetwork},
		{name: "gw", scalar: asAddress, needs: "ip"},
		{name: "ip6", scalar: asNetwork},
		{name: "gw6", scalar: asAddress, needs: "ip6"},
	}}
	featuresSyntax = &syntax{subs: []sub{
		{name: "nesting", scalar: yesNo, absentValue: "0"},
		{name: "keyctl", scalar: yesNo, absentValue: "0"},
		{name: "fuse", scalar: yesNo, absentValue: "0"},
		{name: "mknod", scalar: yesNo, absentValue: "0"},
		{name: "force_rw_sys", scalar: yesNo, absentValue: "0"},
		{name: "mount", scalar: asSet},
	}}
)

// driveAlias are other names of drive sub-keys. The schema of virtual machines calls the volume file.
var driveAlias = map[string]string{
	"file":          "volume",
	"bps_rd_length": "bps_rd_max_length", "bps_wr_length": "bps_wr_max_length",
	"iops_rd_length": "iops_rd_max_length", "iops_wr_length": "iops_wr_max_length",
}

// driveSubs are the sub-keys of the drives of every bus. The sub-keys that wait for a restart follow vmconfig_update_disk in qemu-server's
// QemuServer.pm. It writes those with unlisted at once, and does not tell the running machine.
var driveSubs = []sub{
	subVolume,
	{name: "size", scalar: asSize, owned: true},
	{name: "media", scalar: oneOf("cdrom", "disk"), absentValue: "disk"},
	{name: "format", scalar: asFormat, once: true},
	{name: "import-from", once: true},
	{name: "aio", scalar: oneOf("native", "threads", "io_uring"), restart: true},
	{name: "cache", scalar: oneOf("none", "writethrough", "writeback", "unsafe", "directsync"), absentValue: "none", restart: true},
	{name: "discard", scalar: oneOf("ignore", "on"), absentValue: "ignore", restart: true},
	{name: "backup", scalar: yesNo, absentValue: "1"},
	{name: "replicate", scalar: yesNo, absentValue: "1"},
	{name: "shared", scalar: yesNo, absentValue: "0"},
	{name: "snapshot", scalar: yesNo, absentValue: "0", unlisted: true},
	{name: "detect_zeroes", scalar: yesNo, absentValue: "1", unlisted: true},
	{name: "rerror", scalar: oneOf("ignore", "report", "stop"), unlisted: true},
	{name: "werror", scalar: oneOf("enospc", "ignore", "report", "stop"), unlisted: true},
	{name: "serial", scalar: asEncoded, unlisted: true},
	geometry("cyls"), geometry("heads"), geometry("secs"),
	{name: "trans", scalar: oneOf("none", "lba", "auto"), releases: until90},
	limit("mbps"), limit("mbps_rd").not("mbps"), limit("mbps_wr").not("mbps"),
	limit("mbps_max").with("mbps"), limit("mbps_rd_max").with("mbps_rd"), limit("mbps_wr_max").with("mbps_wr"),
	count("iops"), count("iops_rd").not("iops"), count("iops_wr").not("iops"),
	count("iops_max"), count("iops_rd_max"), count("iops_wr_max"),
	burst("bps_max_length").with("mbps_max"), burst("bps_rd_max_length").with("mbps_rd_max"), burst("bps_wr_max_length").with("mbps_wr_max"),
	burst("iops_max_length").with("iops_max"), burst("iops_rd_max_length").with("iops_rd_max"), burst("iops_wr_max_length").with("iops_wr_max"),
}

// with returns a limit that Proxmox accepts only together with another.
//
// Source: PVE::QemuServer::Drive parse_drive.
func (s sub) with(other string) sub { s.needs = other; return s }

// not returns a limit that Proxmox refuses together with another.
func (s sub) not(other string) sub { s.excludes = other; return s }

// geometry is a number that current systems do not use. Proxmox VE 9 removes it when it next writes the drive.
func geometry(name string) sub { return sub{name: name, scalar: whole(0, 0), releases: until90} }

// limit is a rate of a drive in MiB per second; 0 means no limit.
func limit(name string) sub { return sub{name: name, scalar: fraction(0, 0), absentValue: "0"} }

// count is a rate of a drive in operations per second; 0 means no limit.
func count(name string) sub { return sub{name: name, scalar: whole(0, 0), absentValue: "0"} }

// burst is the number of seconds for which a drive may exceed its rate.
func burst(name string) sub { return sub{name: name, scalar: whole(1, 0), absentValue: "1"} }

// driveSyntax returns the syntax of one bus: the sub-keys of every drive and those that the bus adds.
func driveSyntax(added ...sub) *syntax {
	subs := append(append([]sub{}, driveSubs...), added...)
	return &syntax{style: driveStyle, bare: "volume", alias: driveAlias, subs: subs}
}

// subVolume is the volume of a drive. It is compared separately from the options, see slot.
var subVolume = sub{name: "volume", scalar: asVolume, required: true, owned: true}

var (
	subIOThread = sub{name: "iothread", scalar: yesNo, absentValue: "0", restart: true}
	subReadOnly = sub{name: "ro", scalar: yesNo, absentValue: "0", restart: true}
	subSSD      = sub{name: "ssd", scalar: yesNo, absentValue: "0", restart: true}
	subWWN      = sub{name: "wwn", scalar: asHex, unlisted: true}

	scsiSyntax = driveSyntax(subIOThread, subReadOnly, subSSD, subWWN,
		sub{name: "queues", scalar: whole(2, 0), restart: true}, sub{name: "scsiblock", scalar: yesNo, absentValue: "0", unlisted: true},
		sub{name: "product", restart: true}, sub{name: "vendor", restart: true})
	virtioSyntax = driveSyntax(subIOThread, subReadOnly)
	sataSyntax   = driveSyntax(subSSD, subWWN)
	ideSyntax    = driveSyntax(subSSD, subWWN, sub{name: "model", scalar: asEncoded, unlisted: true})

	// Proxmox determines the size of a firmware volume itself.
	efiSyntax = &syntax{style: driveStyle, bare: "volume", alias: driveAlias, subs: []sub{
		subVolume,
		{name: "size", scalar: asSize, owned: true},
		{name: "format", scalar: asFormat, once: true},
		{name: "import-from", once: true},
		{name: "efitype", scalar: oneOf("2m", "4m"), absentValue: "2m", fixed: true},
		{name: "pre-enrolled-keys", scalar: yesNo, absentValue: "0", fixed: true},
		{name: "ms-cert", scalar: oneOf("2011", "2023", "2023w", "2023k"), absentValue: "2011", owned: true, releases: since91},
	}}
	tpmSyntax = &syntax{style: driveStyle, bare: "volume", alias: driveAlias, subs: []sub{
		subVolume,
		{name: "size", scalar: asSize, owned: true},
		{name: "format", scalar: oneOf(newVolumeFormats...), once: true},
		{name: "import-from", once: true},
		{name: "version", scalar: oneOf("v1.2", "v2.0"), absentValue: "v1.2", fixed: true},
	}}
)
