package pvesim

// The parameters of container configs.

var (
	mountFormat = propertyString{
		"volume": checked(checkMountSource).asDefaultKey().needed(), "mp": text().needed(), "acl": boolean(), "backup": boolean(),
		"idmap": text(), "keepattrs": boolean(),
		"mountoptions": matching(`(discard|lazytime|noatime|nodev|noexec|nosuid)(;(discard|lazytime|noatime|nodev|noexec|nosuid))*`),
		"quota":        boolean(), "replicate": boolean(), "ro": boolean(), "shared": boolean(), "size": checked(checkSize),
	}
	rootfsFormat = func() propertyString {
		p := mergeFormats(mountFormat, nil)
		delete(p, "mp")
		delete(p, "backup")
		delete(p, "keepattrs")
		return p
	}()
	lxcNetFormat = propertyString{
		"name": matching(`[-_.\w\d]+`).needed(), "bridge": matching(`[-_.\w\d]+`), "firewall": boolean(), "gw": checked(checkIPv4),
		"gw6": checked(checkIPv6), "host-managed": boolean(), "hwaddr": checked(checkMAC),
		"ip": checked(checkIPv4Config), "ip6": checked(checkIPv6Config), "link_down": boolean(),
		"mtu": integer().atLeast(64).atMost(65535), "rate": number(), "tag": integer().atLeast(1).atMost(4094),
		"trunks": matching(`\d+(?:;\d+)*`), "type": enum("veth"),
	}
	featuresFormat = propertyString{
		"force_rw_sys": boolean(), "fuse": boolean(), "keyctl": boolean(), "mknod": boolean(), "mount": matching(`[a-zA-Z0-9_; ]+`),
		"nesting": boolean(),
	}
	deviceFormat = propertyString{
		"path": text().asDefaultKey(), "deny-write": boolean(), "gid": integer().atLeast(0), "uid": integer().atLeast(0),
		"mode": matching(`0[0-7]{3}`),
	}
	lxcUnusedFormat = propertyString{"volume": checked(checkVolumeID).asDefaultKey().needed()}
)

func checkMountSource(string) error { return nil }

var lxcConfig = &schema{rules: map[string]rule{
	"arch": enum("amd64", "i386", "arm64", "armhf", "riscv32", "riscv64"), "cmode": enum("shell", "console", "tty"),
	"console": boolean(), "cores": integer().atLeast(1).atMost(8192), "cpulimit": number().atLeast(0).atMost(8192),
	"cpuunits": integer().atLeast(0).atMost(500000), "debug": boolean(), "description": text().length(0, 8192),
	"entrypoint": text(), "env": text(), "features": optionalPropertyRule("features", featuresFormat), "hookscript": checked(checkVolumeID),
	"hostname": checked(checkDNSName).length(0, 255),
	"lock":     enum("backup", "create", "destroyed", "disk", "fstrim", "migrate", "mounted", "rollback", "snapshot", "snapshot-delete"),
	"memory":   integer().atLeast(16), "nameserver": checked(checkIPList), "onboot": boolean(),
	"ostype": enum("debian", "devuan", "ubuntu", "centos", "fedora", "opensuse", "archlinux", "alpine", "gentoo", "nixos",
		"unmanaged"),
	"protection": boolean(), "rootfs": propertyRule("rootfs", rootfsFormat), "searchdomain": checked(checkDNSNameList),
	"startup": checked(checkStartup), "swap": integer().atLeast(0), "tags": checked(checkTags), "template": boolean(),
	"timezone": checked(checkTimeZone), "tty": integer().atLeast(0).atMost(6), "unprivileged": boolean(),
}}

var lxcFormats = map[string]struct {
	count  int
	format propertyString
}{
	"mp": {256, mountFormat}, "net": {32, lxcNetFormat}, "dev": {256, deviceFormat}, "unused": {256, lxcUnusedFormat},
}

func verifyLXC(s *schema, p values) error {
	plain, bad := values{}, map[string]string{}
	for k, v := range p {
		stem, index, ok := splitIndex(k)
		f, known := lxcFormats[stem]
		if !ok || !known || index >= f.count {
			plain[k] = v
			continue
		}
		if msg := propertyRule(k, f.format).verify(v); msg != "" {
			bad[k] = msg
		}
	}
	return mergeParamErrors(s.verify(plain), bad)
}

func isLXCKey(k string) bool {
	if _, ok := lxcConfig.rules[k]; ok {
		return true
	}
	stem, index, ok := splitIndex(k)
	f, known := lxcFormats[stem]
	return ok && known && index < f.count
}

// isNumeric reports whether the API shows a key of this kind of guest as a JSON number.
func isNumeric(kind Kind, key string) bool {
	s := qemuConfig
	if kind == LXC {
		s = lxcConfig
	}
	switch r := s.rules[key]; r.typ {
	case typeInteger, typeBoolean:
		return true
	case typeNumber, typeString:
	}
	return key == "snaptime"
}
