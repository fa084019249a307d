package manifest

import (
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
)

func (m *machine) source(l *lowering) guest.Source {
	s := &m.from
	onlyOne(l, s.clone.place, s.image.place, s.iso.place, s.backup.place, s.blank.place)
	switch {
	case s.clone.set:
		return guest.Source{Clone: s.clone.value.source(l, s.clone.place)}
	case s.image.set:
		return guest.Source{Image: m.imported(l, s.image)}
	case s.iso.set:
		m.checkNew(l, s.iso.place, "")
		return guest.Source{ISO: s.iso.value.source(l, s.iso.place)}
	case s.backup.set:
		m.needNode(l, s.backup.place)
		return guest.Source{Backup: s.backup.value.source(l, s.backup.place)}
	case s.blank.set:
		m.checkNew(l, s.blank.place, "")
		return guest.Source{Blank: true}
	default:
		return guest.Source{}
	}
}

func (m *machine) imported(l *lowering, i opt[importedImage]) *guest.Image {
	slot := "scsi0"
	if i.value.slot.set {
		slot = i.value.slot.value
	}
	volume, object := l.file(i.place, i.value.from, i.value.image, "from", image.Import)
	if d := m.disks[slot]; d == nil || !d.value.storage.set {
		l.missing(i.place, "got no storage for the imported disk", "add disks."+slot+".storage")
	}
	m.checkNew(l, i.place, slot)
	return &guest.Image{Volume: volume, Object: object, Slot: slot}
}

// checkNew checks what a guest without a template needs: a node, and storage and size for every disk. The imported disk has the size of its image.
func (m *machine) checkNew(l *lowering, p place, imported string) {
	m.needNode(l, p)
	if m.adopt.value != "ifUnmanaged" { // an existing guest may have settings without a drive
		m.cloudInit.needDrive(l)
	}
	for slot, d := range m.disks {
		made := d.value.storage.set && (d.value.size.set || slot == imported)
		if !made && slot != imported && !d.value.volume.set && !d.value.iso.set && !d.value.removed() {
			l.missing(d.place, "got no storage and size, want both for a new disk", "")
		}
	}
	for _, n := range m.networks {
		m.needBridge(l, n.place, n.value.link)
	}
	if efi := m.firmware.efi; efi.set && !efi.value.storage.set {
		l.missing(efi.place, "got no storage, want one for the new disk of UEFI variables", "add storage:, such as local-lvm")
	}
	if tpm := m.firmware.tpm; tpm.set && !tpm.value.storage.set {
		l.missing(tpm.place, "got no storage, want one for the state of the new TPM", "add storage:, such as local-lvm")
	}
}
