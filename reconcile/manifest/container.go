package manifest

import (
	"maps"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// container is the spec of a Container.
type container struct {
	common
	hostname     opt[string]
	from         containerSource
	cpu          containerCPU
	memory       containerMemory
	rootfs       rootfs
	mounts       map[string]*opt[mount]
	networks     map[string]*opt[containerNetwork]
	dns          dns
	features     features
	unprivileged opt[bool]
	timezone     opt[string]
	passwordFrom opt[secretRef]
	sshKeys      textList
	entrypoint   opt[string]
	env          textMap
}

func (c *container) fields() []field {
	return append(c.common.fields(), []field{
		{"hostname", "hostname", "Host name. Default: metadata.name, except for adopted guests.", text(&c.hostname, dnsName)},
		{"source", "source", "How to create the guest. Used once: a later edit does not create it again, and is a condition.", withExamples(group(&c.from), `{"template": {"volume": "local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst"}}`)},
		{"cpu", "", "Processors.", withExamples(group(&c.cpu), `{"cores": 2}`)},
		{"memory", "", "Memory.", withExamples(group(&c.memory), `{"size": "1Gi", "swap": "0Mi"}`)},
		{"rootfs", "", "The root file system.", withExamples(group(&c.rootfs), `{"storage": "local-lvm", "size": "8Gi"}`)},
		{"mounts", "", "Mount points by slot.", withExamples(slots(&c.mounts, slotsOf(guest.Container, "mp")), `{"mp0": {"storage": "local-lvm", "size": "4Gi", "path": "/var/lib/data", "backup": true}}`)},
		{"networks", "", "Network interfaces by slot.", withExamples(slots(&c.networks, slotsOf(guest.Container, "net")), `{"net0": {"name": "eth0", "bridge": "vmbr0", "ip4": "10.0.20.53/24", "gw4": "10.0.20.1"}}`)},
		{"dns", "", "Name servers. Default: the host's.", group(&c.dns)},
		{"features", "", "What the container may do. All except nesting need root@pam.", withExamples(group(&c.features), `{"nesting": true}`)},
		{"unprivileged", "unprivileged", "Map root to a user without rights on the host. Used only to create the guest; cannot be changed.", flag(&c.unprivileged)},
		{"timezone", "timezone", "Time zone, or host for the node's.", text(&c.timezone, timeZone)},
		{"passwordFrom", "password", "Root's password, kept on the agent's host or encrypted in the repository. Used only to create the guest.", withExamples(child(&c.passwordFrom), `{"file": "dns-root"}`)},
		{"sshKeys", "ssh-public-keys", "Public keys that may log in as root. Used only to create the guest.", withExamples(byHand(list(&c.sshKeys, sshKey, "\n")), `["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMEXsBt6JGhURlK36Rj2dZ3oVIHElPKYsEQc2G4E2+QK ops@home"]`)},
		{"entrypoint", "entrypoint", "Command to start in place of /sbin/init; Proxmox VE 9.1 and later.", text(&c.entrypoint, commandLine)},
		{"env", "env", "Environment of that command; Proxmox VE 9.1 and later.", withExamples(dictionary(&c.env, variableName), `{"LANG": "C.UTF-8"}`)},
	}...)
}

func (c *container) lower(l *lowering) {
	c.common.lower(l)
	l.secret("password", c.passwordFrom)
	if len(c.sshKeys.value) > 0 {
		l.put("ssh-public-keys", c.sshKeys.place, strings.Join(texts(c.sshKeys), "\n"))
	}
	c.lowerEnvironment(l)
}

// lowerEnvironment joins the variables as Proxmox stores them: NAME=value, separated by NUL.
func (c *container) lowerEnvironment(l *lowering) {
	var set []string
	for _, name := range slices.Sorted(maps.Keys(c.env)) {
		variable := name + "=" + c.env[name].value
		if err := guest.Check(l.kind, "env", variable); err != nil {
			l.problem(c.env[name].place, err.Error(), "")
		}
		set = append(set, variable)
	}
	if len(set) > 0 {
		first := c.env[slices.Min(slices.Collect(maps.Keys(c.env)))]
		l.put("env", place{first.at, "env"}, strings.Join(set, "\x00"))
	}
}

func (c *container) refresh() bool { return false }

func (c *container) defaultName(l *lowering, name opt[string]) {
	if !c.hostname.set && c.adopt.value != "ifUnmanaged" {
		l.put("hostname", name.place, name.value)
	}
}

// containerCPU is the processors of a container.
type containerCPU struct {
	cores, units opt[int]
	limit        opt[float64]
}

func (c *containerCPU) fields() []field {
	return []field{
		{"cores", "cores", "Processors that the container sees.", integer(&c.cores, 1, 8192)},
		{"units", "cpuunits", "Weight against other guests when the processor is busy.", integer(&c.units, 0, 500000)},
		{"limit", "cpulimit", "Processors that may be used at once; 0 means no limit.", number(&c.limit, 8192)},
	}
}

// containerMemory is the memory of a container.
type containerMemory struct{ size, swap opt[int64] }

func (m *containerMemory) fields() []field {
	return []field{
		{"size", "memory", "Memory, such as 1Gi; at least 16Mi.", memory(&m.size, 16*mib)},
		{"swap", "swap", "Swap, such as 512Mi; 0Mi is none.", memory(&m.swap, 0)},
	}
}

// rootfs is the root volume of a container.
type rootfs struct {
	storage          opt[string]
	size             opt[int64]
	replicate, quota opt[bool]
	options          textList
	natives          textMap
}

func (r *rootfs) fields() []field {
	return withRaw(&r.natives, "rootfs.", `{"acl": true}`, []field{
		{"storage", "rootfs.storage", "Storage to create the volume on.", text(&r.storage, storageName)},
		{"size", "rootfs.size", "Minimum size, such as 8Gi. A smaller volume grows; a volume never shrinks.", capacity(&r.size)},
		{"replicate", "rootfs.replicate", "Include the volume in replication.", flag(&r.replicate)},
		{"quota", "rootfs.quota", "User quotas.", flag(&r.quota)},
		{"options", "rootfs.mountoptions", "Mount options, such as noatime.", withExamples(list(&r.options, mountOption, ";"), `["noatime"]`)},
	})
}

// mount is a mount point: a new volume, an existing volume, or a folder of the host.
type mount struct {
	removal
	storage, volume, path              opt[string]
	size                               opt[int64]
	backup, readOnly, replicate, quota opt[bool]
	options                            textList
	natives                            textMap
}

func (m *mount) fields() []field {
	return withRaw(&m.natives, ".", `{"acl": true, "shared": true}`, []field{
		m.row(),
		{"storage", ".storage", "Storage to create the volume on.", text(&m.storage, storageName)},
		{"size", ".size", "Minimum size, such as 8Gi. A smaller volume grows; a volume never shrinks.", capacity(&m.size)},
		{"volume", ".volume", "Existing volume, or a folder of the host (which needs root@pam), in place of storage.", text(&m.volume, mountSource)},
		{"path", ".mp", "Path inside the container. Required for a new mount point.", text(&m.path, folder)},
		{"backup", ".backup", "Include the volume in backups. Proxmox's default: false. A folder of the host is in no backup.", flag(&m.backup)},
		{"readOnly", ".ro", "Read only.", flag(&m.readOnly)},
		{"replicate", ".replicate", "Include the volume in replication.", flag(&m.replicate)},
		{"quota", ".quota", "User quotas.", flag(&m.quota)},
		{"options", ".mountoptions", "Mount options, such as noatime.", list(&m.options, mountOption, ";")},
	})
}

func (m *mount) lower(l *lowering) {
	if m.storage.set && m.volume.set {
		l.problem(m.volume.place, "got both storage and volume, want one", "")
	}
	if (m.storage.set || m.volume.set) && !m.path.set {
		l.missing(l.setBy[l.slot], "got no path, want the path inside the container", "")
	}
}

// features is what a container may do.
type features struct {
	nesting, keyctl, fuse, mknod opt[bool]
	mount                        textList
}

func (f *features) fields() []field {
	return []field{
		{"nesting", "features.nesting", "Run containers inside, and recent systemd.", flag(&f.nesting)},
		{"keyctl", "features.keyctl", "The keyctl system call, for Docker in an unprivileged container.", flag(&f.keyctl)},
		{"fuse", "features.fuse", "FUSE file systems.", flag(&f.fuse)},
		{"mknod", "features.mknod", "Device nodes in an unprivileged container.", flag(&f.mknod)},
		{"mount", "features.mount", "File systems that may be mounted, such as nfs.", list(&f.mount, fileSystem, ";")},
	}
}
