package manifest

import (
	"gitops-agent/reconcile/guest"
)

// machineSource is how to create a virtual machine. One of its fields is set.
type machineSource struct {
	clone  opt[machineClone]
	image  opt[image]
	iso    opt[isoSource]
	backup opt[backupSource]
	blank  opt[blank]
}

func (s *machineSource) fields() []field {
	return []field{
		{"clone", "", "Clone a template.", child(&s.clone)},
		{"image", "", "Import a disk image, such as a distribution's cloud image.", child(&s.image)},
		{"iso", "", "Create it with empty disks and an image to install from in a CD-ROM drive.", child(&s.iso)},
		{"backup", "", "Restore a backup. Other fields of the manifest are written afterwards.", child(&s.backup)},
		{"blank", "", "Create it with empty disks, to install from the network.", child(&s.blank)},
	}
}

// containerSource is how to create a container. One of its fields is set.
type containerSource struct {
	clone    opt[clone]
	template opt[template]
	backup   opt[backupSource]
}

func (s *containerSource) fields() []field {
	return []field{
		{"clone", "", "Clone a template.", child(&s.clone)},
		{"template", "", "Unpack a container template.", child(&s.template)},
		{"backup", "", "Restore a backup. Other fields of the manifest are written afterwards.", child(&s.backup)},
	}
}

// image is a disk image to import.
type image struct{ from, slot opt[string] }

func (i *image) fields() []field {
	return []field{
		{"from", "", "Image to import, such as local:import/debian-12.qcow2. Required.", withExamples(text(&i.from, volumeID), `"local:import/debian-12-genericcloud-amd64.qcow2"`)},
		{"slot", "", "Disk for the image. Default: scsi0.", slotName(&i.slot, diskSlots)},
	}
}

// blank has no fields: its presence is its meaning.
type blank struct{}

func (b *blank) fields() []field { return nil }

// template is a container template to unpack.
type template struct{ volume opt[string] }

func (t *template) fields() []field {
	return []field{{"volume", "", "Template, such as local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst. Required.", withExamples(text(&t.volume, volumeID), `"local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst"`)}}
}

// onlyOne reports every source after the first. They may come from different classes.
func onlyOne(l *lowering, sources ...place) {
	var first place
	for _, p := range sources {
		switch {
		case p == (place{}):
		case first == (place{}):
			first = p
		default:
			l.problem(p, "got a second source beside "+l.describePlace(first), "keep one; null drops an inherited one")
		}
	}
}

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

func (m *machine) imported(l *lowering, i opt[image]) *guest.Image {
	slot := "scsi0"
	if i.value.slot.set {
		slot = i.value.slot.value
	}
	if !i.value.from.set {
		l.missing(i.place, "got no from, want the image to import", "")
	}
	if d := m.disks[slot]; d == nil || !d.value.storage.set {
		l.missing(i.place, "got no storage for the imported disk", "add disks."+slot+".storage")
	}
	m.checkNew(l, i.place, slot)
	return &guest.Image{Volume: i.value.from.value, Slot: slot}
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

func (c *common) needNode(l *lowering, p place) {
	if c.home() == "" {
		l.missing(p, "got no node, want one to create the guest on", "add node: at the top of the spec")
	}
}

func (c *container) source(l *lowering) guest.Source {
	s := &c.from
	onlyOne(l, s.clone.place, s.template.place, s.backup.place)
	switch {
	case s.clone.set:
		return guest.Source{Clone: s.clone.value.source(l, s.clone.place)}
	case s.template.set:
		c.checkNew(l, s.template)
		return guest.Source{Template: &guest.Template{Volume: s.template.value.volume.value}}
	case s.backup.set:
		c.needNode(l, s.backup.place)
		return guest.Source{Backup: s.backup.value.source(l, s.backup.place)}
	default:
		return guest.Source{}
	}
}

func (c *container) checkNew(l *lowering, t opt[template]) {
	c.needNode(l, t.place)
	if !t.value.volume.set {
		l.missing(t.place, "got no volume, want the container template", "")
	}
	if !c.rootfs.storage.set || !c.rootfs.size.set {
		l.missing(t.place, "got no rootfs.storage and rootfs.size, want both for a new container", "")
	}
	for _, n := range c.networks {
		c.needBridge(l, n.place, n.value.link)
	}
	for _, m := range c.mounts {
		if !m.value.volume.set && !m.value.removed() && (!m.value.storage.set || !m.value.size.set) {
			l.missing(m.place, "got no storage and size, want both for a new mount point", "")
		}
	}
}
