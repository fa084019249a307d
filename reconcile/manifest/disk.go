package manifest

import (
	"math"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// diskBuses are the families of slots for disks of virtual machines.
var diskBuses = []string{"scsi", "virtio", "sata", "ide"}

var diskSlots = slotsOf(guest.VirtualMachine, diskBuses...)

// busesWith returns the buses whose disks have a native sub-key: "scsi, sata or ide".
func busesWith(sub string) string {
	buses := slices.DeleteFunc(slices.Clone(diskBuses), func(bus string) bool {
		return !slices.Contains(guest.SubKeys(guest.VirtualMachine, bus+"0"), sub)
	})
	return strings.TrimPrefix(strings.Join(buses[:len(buses)-1], ", ")+" or "+buses[len(buses)-1], " or ")
}

// disk is a disk or a CD-ROM drive of a virtual machine.
type disk struct {
	removal
	storage, volume, iso, format, cache, aio, serial    opt[string]
	size                                                opt[int64]
	discard, ssd, iothread, backup, replicate, readOnly opt[bool]
	limits                                              diskLimits
	natives                                             textMap
}

func (d *disk) fields() []field {
	return withRaw(&d.natives, ".", `{"werror": "report", "wwn": "0x5000c500a1b2c3d4"}`, []field{
		d.row(),
		{"storage", ".storage", "Storage to create the disk on.", text(&d.storage, storageName)},
		{"size", ".size", "Least size, such as 32Gi. A smaller disk grows; none shrinks.", capacity(&d.size)},
		{"volume", ".volume", "Existing volume to attach, in place of storage.", withExamples(text(&d.volume, volumeID), `"local-lvm:vm-201-disk-7"`)},
		{"iso", ".volume", "Makes the slot a CD-ROM drive: an ISO image, or none for an empty drive. Not beside storage, volume, size and format.", byHand(text(&d.iso, isoVolume))},
		{"format", ".format", "Image format on a storage that keeps files. Used to create only.", choice(&d.format, guest.ImageFormats()...)},
		{"discard", ".discard", "Pass discards on to the storage.", boolWords(&d.discard, "on", "ignore")},
		{"ssd", ".ssd", "Show the disk as an SSD; not for virtio slots.", flag(&d.ssd)},
		{"iothread", ".iothread", "A thread of its own; scsi and virtio slots only.", flag(&d.iothread)},
		{"cache", ".cache", "Cache mode.", nativeChoice(&d.cache, "scsi0", "cache")},
		{"aio", ".aio", "Asynchronous I/O.", nativeChoice(&d.aio, "scsi0", "aio")},
		{"backup", ".backup", "Include the disk in backups. Proxmox's default: true.", flag(&d.backup)},
		{"replicate", ".replicate", "Include the disk in replication.", flag(&d.replicate)},
		{"readOnly", ".ro", "Read only; scsi and virtio slots only.", flag(&d.readOnly)},
		{"serial", ".serial", "Serial number that the guest sees.", text(&d.serial, diskSerial)},
		{"limits", "", "Throughput limits.", withExamples(group(&d.limits), `{"readMBps": 100, "writeMBps": 50}`)},
	})
}

func (d *disk) lower(l *lowering) {
	if d.iso.set {
		d.lowerDrive(l)
	}
	if d.storage.set && d.volume.set {
		l.problem(d.volume.place, "got both storage and volume, want one", "")
	}
	needsSubKey(l, d.ssd, "ssd")
	needsSubKey(l, d.iothread, "iothread")
	needsSubKey(l, d.readOnly, "ro")
}

// needsSubKey reports a field on a bus whose disks do not have the native sub-key of the field.
func needsSubKey(l *lowering, field opt[bool], sub string) {
	if field.set && !slices.Contains(guest.SubKeys(l.kind, l.slot), sub) {
		l.problem(field.place, "got it on slot "+l.slot+", want a "+busesWith(sub)+" slot", "")
	}
}

func (d *disk) lowerDrive(l *lowering) {
	for _, what := range []place{d.storage.place, d.volume.place, d.size.place, d.format.place} {
		if what.path != "" {
			l.problem(d.iso.place, "got iso beside "+lastSegment(what.path)+", want one: a CD-ROM drive has no disk", "")
			return
		}
	}
	l.put(".volume", d.iso.place, d.iso.value)
	l.put(".media", d.iso.place, "cdrom")
	if bus := strings.TrimRight(l.slot, "0123456789"); bus == "virtio" {
		l.problem(d.iso.place, "got an iso on a virtio slot, want an ide, sata or scsi slot", "")
	}
}

// diskLimits are throughput limits.
type diskLimits struct {
	both, read, write          opt[float64]
	bothOps, readOps, writeOps opt[int]
}

func (d *diskLimits) fields() []field {
	return []field{
		{"mbps", ".mbps", "Megabytes read and written in a second, taken together.", number(&d.both, 1000000)},
		{"readMBps", ".mbps_rd", "Megabytes read in a second.", number(&d.read, 1000000)},
		{"writeMBps", ".mbps_wr", "Megabytes written in a second.", number(&d.write, 1000000)},
		{"iops", ".iops", "Reads and writes in a second, taken together.", integer(&d.bothOps, 0, math.MaxInt32)},
		{"readIOPS", ".iops_rd", "Reads in a second.", integer(&d.readOps, 0, math.MaxInt32)},
		{"writeIOPS", ".iops_wr", "Writes in a second.", integer(&d.writeOps, 0, math.MaxInt32)},
	}
}

// lower refuses a limit for both directions beside a limit for one direction: QEMU does not start with both.
func (d *diskLimits) lower(l *lowering) {
	const message = "got it beside a limit on reading or writing alone, want one or the other"
	if d.both.value > 0 && (d.read.value > 0 || d.write.value > 0) {
		l.problem(d.both.place, message, "")
	}
	if d.bothOps.value > 0 && (d.readOps.value > 0 || d.writeOps.value > 0) {
		l.problem(d.bothOps.place, message, "")
	}
}
