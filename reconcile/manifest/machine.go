package manifest

import (
	"math"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// machine is the spec of a VirtualMachine.
type machine struct {
	common
	name           opt[string]
	from           machineSource
	cpu            cpu
	memory         machineMemory
	agent          agent
	osType         opt[string]
	scsiController opt[string]
	firmware       firmware
	display        display
	tablet         opt[bool]
	hotplug        textList
	disks          map[string]*opt[disk]
	networks       map[string]*opt[machineNetwork]
	serial         map[string]*opt[serial]
	devices        map[string]*opt[device]
	directories    map[string]*opt[directory]
	rng            opt[rng]
	watchdog       opt[watchdog]
	audio          opt[audio]
	smbios         smbios
	cloudInit      cloudInit
	boot           boot
}

func (m *machine) fields() []field {
	return append(m.common.fields(), []field{
		{"name", "name", "Name of the virtual machine. Default: metadata.name, except for adopted guests.", text(&m.name, dnsName)},
		{"source", "source", "How to create the guest. Used once: a later edit does not create it again, and is a condition.", withExamples(group(&m.from), `{"clone": {"name": "tmpl-debian-12"}}`, `{"image": {"from": "local:import/debian-12.qcow2"}}`)},
		{"cpu", "", "Processors.", withExamples(group(&m.cpu), `{"cores": 2, "type": "x86-64-v2-AES"}`)},
		{"memory", "", "Memory.", withExamples(group(&m.memory), `{"size": "4Gi"}`, `{"size": "4Gi", "min": "2Gi"}`)},
		{"agent", "", "The QEMU guest agent.", withExamples(group(&m.agent), `{"enabled": true, "fstrim": true}`)},
		{"osType", "ostype", "Operating system of the guest, which determines defaults: l26 is any Linux.", nativeChoice(&m.osType, "ostype", "")},
		{"scsiController", "scsihw", "SCSI controller; iothread needs virtio-scsi-single.", nativeChoice(&m.scsiController, "scsihw", "")},
		{"firmware", "", "BIOS or UEFI, machine type, TPM.", withExamples(group(&m.firmware), `{"bios": "ovmf", "machine": "q35", "efi": {"storage": "local-lvm", "secureBoot": true}, "tpm": {"storage": "local-lvm", "version": "v2.0"}}`)},
		{"display", "", "Graphics.", group(&m.display)},
		{"tablet", "tablet", "A pointer device for the console.", flag(&m.tablet)},
		{"hotplug", "hotplug", "What can be changed while the guest runs: network, disk, usb, memory, cpu, cloudinit. An empty list: nothing.", withExamples(byHand(list(&m.hotplug, hotplugFeature, ",")), `["network", "disk"]`)},
		{"disks", "", "Disks and CD-ROM drives by slot.", withExamples(slots(&m.disks, diskSlots), `{"scsi0": {"storage": "local-lvm", "size": "32Gi", "discard": true}, "ide2": {"iso": "local:iso/debian-12.iso"}}`)},
		{"networks", "", "Network interfaces by slot.", withExamples(slots(&m.networks, networkSlots), `{"net0": {"bridge": "vmbr0", "vlan": 20}}`)},
		{"serial", "", "Serial ports by slot.", withExamples(slots(&m.serial, slotsOf(guest.VirtualMachine, "serial")), `{"serial0": {"port": "socket"}}`)},
		{"devices", "", "PCI and USB devices of the host by slot, through resource mappings.", withExamples(slots(&m.devices, slotsOf(guest.VirtualMachine, "hostpci", "usb")), `{"hostpci0": {"mapping": "gpu", "pcie": true}, "usb0": {"mapping": "zigbee"}}`)},
		{"directories", "", "Folders of the host to mount inside the guest, by slot, through directory mappings.", withExamples(slots(&m.directories, slotsOf(guest.VirtualMachine, "virtiofs")), `{"virtiofs0": {"mapping": "media"}}`)},
		{"rng", "rng0", "A source of random numbers.", withExamples(singleDevice(&m.rng), `{"source": "/dev/urandom"}`)},
		{"watchdog", "watchdog", "A device that restarts a guest which hangs.", withExamples(singleDevice(&m.watchdog), `{"model": "i6300esb", "action": "reset"}`)},
		{"audio", "audio0", "A sound card.", withExamples(singleDevice(&m.audio), `{"device": "ich9-intel-hda", "driver": "none"}`)},
		{"smbios", "", "What the firmware reports about the machine.", withExamples(group(&m.smbios), `{"manufacturer": "Acme", "serial": "42"}`)},
		{"cloudInit", "", "What cloud-init sets up inside the guest.", withExamples(group(&m.cloudInit), `{"storage": "local-lvm", "user": "ops", "ip": {"net0": {"v4": "10.0.20.11/24", "gw4": "10.0.20.1"}}}`)},
		{"boot", "", "Boot devices.", group(&m.boot)},
	}...)
}

func (m *machine) lower(l *lowering) {
	m.common.lower(l)
	if m.hotplug.set {
		features := strings.Join(texts(m.hotplug), ",")
		if features == "" {
			features = "0"
		}
		l.put("hotplug", m.hotplug.place, features)
	}
	for _, item := range m.boot.order.value {
		if in, there := l.intents[item.value]; there && in.Verb == guest.Absent {
			l.problem(item.place, "got "+item.value+" in the boot order, which "+l.describePlace(l.setBy[item.value])+" removes", "")
		}
	}
}

func (m *machine) refresh() bool { return m.cloudInit.onChange.value == "regenerate" }

func (m *machine) defaultName(l *lowering, name opt[string]) {
	if !m.name.set && m.adopt.value != "ifUnmanaged" {
		l.put("name", name.place, name.value)
	}
}

// cpu is the processors of a virtual machine.
type cpu struct {
	cores, sockets, units, hotplugged opt[int]
	model                             opt[string]
	flags                             textList
	limit                             opt[float64]
	numa                              opt[bool]
	natives                           textMap
}

func (c *cpu) fields() []field {
	return withRaw(&c.natives, "cpu.", `{"hidden": true}`, []field{
		{"cores", "cores", "Cores of each socket.", integer(&c.cores, 1, 8192)},
		{"sockets", "sockets", "Sockets.", integer(&c.sockets, 1, 64)},
		{"type", "cpu.cputype", "CPU model, such as host or x86-64-v2-AES.", text(&c.model, cpuType)},
		{"flags", "cpu.flags", "CPU flags to add or to remove, such as +aes.", withExamples(list(&c.flags, cpuFlag, ";"), `["+aes", "-pcid"]`)},
		{"units", "cpuunits", "Weight against other guests when the processor is busy.", integer(&c.units, 1, 262144)},
		{"limit", "cpulimit", "Processors that may be used at once; 0 means no limit.", number(&c.limit, 128)},
		{"numa", "numa", "NUMA.", flag(&c.numa)},
		{"hotplugged", "vcpus", "Processors that are plugged in at the start.", integer(&c.hotplugged, 1, math.MaxInt)},
	})
}

// machineMemory is the memory of a virtual machine.
type machineMemory struct {
	size, least opt[int64]
	shares      opt[int]
}

func (m *machineMemory) fields() []field {
	return []field{
		{"size", "memory", "Memory, such as 4Gi; at least 16Mi.", memory(&m.size, 16*mib)},
		{"min", "balloon", "Minimum memory that ballooning leaves to the guest, such as 2Gi; off removes the balloon device.", balloon(&m.least)},
		{"shares", "shares", "Weight against other guests when ballooning.", integer(&m.shares, 0, 50000)},
	}
}

func (m *machineMemory) lower(l *lowering) {
	if m.size.set && m.least.value > m.size.value {
		l.problem(m.least.place, "got "+describeSize(m.least.value)+", want at most the size of "+describeSize(m.size.value), "")
	}
}

// balloon is the minimum memory. "off" is 0 for Proxmox, which removes the device.
func balloon(into *opt[int64]) value { return scalarValue[int64]{into, balloonCodec{memoryCodec{mib}}} }

type balloonCodec struct{ memoryCodec }

func (c balloonCodec) parse(n *tree.Node) (int64, *rejection) {
	if n.Kind == tree.Scalar && n.Text == "off" {
		return 0, nil
	}
	return c.memoryCodec.parse(n)
}

func (c balloonCodec) form() schema {
	return schema{Type: nullable("string"), Pattern: "^off$|" + sizePattern, Examples: textExamples("2Gi", "off")}
}

// agent is the QEMU guest agent.
type agent struct {
	enabled, fstrim, freeze opt[bool]
	link                    opt[string]
}

func (a *agent) fields() []field {
	return []field{
		{"enabled", "agent.enabled", "Whether Proxmox may talk to the agent inside the guest.", flag(&a.enabled)},
		{"fstrim", "agent.fstrim_cloned_disks", "Trim file systems after a disk was moved or the guest migrated.", flag(&a.fstrim)},
		{"freezeOnBackup", "agent.freeze-fs-on-backup", "Freeze file systems while a backup begins. Proxmox's default: true.", flag(&a.freeze)},
		{"type", "agent.type", "How the agent is connected.", nativeChoice(&a.link, "agent", "type")},
	}
}

// lower sets enabled if only other sub-keys are set: the property string needs it.
func (a *agent) lower(l *lowering) {
	if in, there := l.intents["agent"]; there && !a.enabled.set {
		in.Sub["enabled"] = "1"
	}
}

// boot is the order of boot devices.
type boot struct{ order textList }

func (b *boot) fields() []field {
	return []field{{"order", "boot", "Devices to boot from, the first one first, such as [scsi0, net0].", withExamples(byHand(list(&b.order, bootDevice, ";")), `["scsi0", "net0"]`)}}
}

func (b *boot) lower(l *lowering) {
	if b.order.set && len(b.order.value) == 0 {
		l.missing(b.order.place, "got an empty boot order, want at least one device", "")
		return
	}
	if b.order.set {
		l.put("boot", b.order.place, "order="+strings.Join(texts(b.order), ";"))
	}
}

var hotplugFeatures = guest.Words(guest.VirtualMachine, "hotplug", "")

var hotplugFeature = &textRule{
	want:   "one of " + strings.Join(hotplugFeatures, ", "),
	accept: func(s string) bool { return slices.Contains(hotplugFeatures, s) },
}
