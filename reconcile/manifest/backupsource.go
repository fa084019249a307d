package manifest

import (
	"strings"

	"gitops-agent/reconcile/guest"
)

// backupSource is a backup to restore a guest from.
type backupSource struct {
	volume, storage opt[string]
	unique          opt[bool]
}

func (b *backupSource) fields() []field {
	return []field{
		{"volume", "", "Backup, such as pbs:backup/vm/201/2026-01-01T00:00:00Z. Required.", withExamples(text(&b.volume, volumeID), `"pbs:backup/vm/201/2026-01-01T00:00:00Z"`)},
		{"storage", "", "Storage for the restored volumes. Default: of a virtual machine their original storage, of a container rootfs.storage.", text(&b.storage, storageName)},
		{"unique", "", "Generate new MAC addresses, for a copy that runs beside the original. Default: false.", flag(&b.unique)},
	}
}

func (b *backupSource) source(l *lowering, p place) *guest.Backup {
	switch {
	case !b.volume.set:
		l.missing(p, "got no volume, want the backup to restore", "")
	case backupKind(b.volume.value) != "" && backupKind(b.volume.value) != l.kind:
		l.problem(b.volume.place, "got the backup of a "+string(backupKind(b.volume.value))+", want one of a "+string(l.kind), "")
	}
	return &guest.Backup{Volume: b.volume.value, Storage: b.storage.value, Unique: b.unique.value}
}

// backupKind returns the kind of guest in a backup, from its name. It returns "" if the name does not contain the kind.
//
// Source: PVE API, content of a storage: vzdump-qemu-201-….vma.zst, pbs:backup/ct/210/….
func backupKind(volume string) guest.Kind {
	_, path, _ := strings.Cut(volume, ":")
	switch {
	case strings.HasPrefix(path, "backup/vm/"), strings.HasPrefix(path, "backup/vzdump-qemu-"):
		return guest.VirtualMachine
	case strings.HasPrefix(path, "backup/ct/"), strings.HasPrefix(path, "backup/vzdump-lxc-"):
		return guest.Container
	default:
		return ""
	}
}
