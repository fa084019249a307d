package manifest

import (
	"gitops-agent/reconcile/guest"
)

// machineSource is how to create a virtual machine. One of its fields is set.
type machineSource struct {
	clone opt[clone]
	image opt[image]
	blank opt[blank]
}

func (s *machineSource) fields() []field {
	return []field{
		{"clone", "", "Clone a template.", child(&s.clone)},
		{"image", "", "Import a disk image, such as a distribution's cloud image.", child(&s.image)},
		{"blank", "", "Create it with empty disks, to install from an ISO image or the network.", child(&s.blank)},
	}
}

// containerSource is how to create a container. One of its fields is set.
type containerSource struct {
	clone    opt[clone]
	template opt[template]
}

func (s *containerSource) fields() []field {
	return []field{
		{"clone", "", "Clone a template.", child(&s.clone)},
		{"template", "", "Unpack a container template.", child(&s.template)},
	}
}

// clone is a template guest to copy.
type clone struct {
	vmid          opt[int]
	name, storage opt[string]
	full          opt[bool]
}

func (c *clone) fields() []field {
	return []field{
		{"template", "", "Vmid of the template.", integer(&c.vmid, minVMID, maxVMID)},
		{"name", "", "Name of the template, in place of its vmid.", text(&c.name, dnsName)},
		{"full", "", "Copy the disks; false makes a linked clone, which keeps depending on the template. Default: true.", flag(&c.full)},
		{"storage", "", "Storage for the copied disks. Default: the template's.", text(&c.storage, storageName)},
	}
}

func (c *clone) lower(l *lowering) {
	if c.storage.set && c.full.set && !c.full.value {
		l.problem(c.storage.place, "got a storage for a linked clone, whose disks stay with the template's", "leave it out, or set full: true")
	}
}

func (c *clone) source(l *lowering, p place) *guest.Clone {
	if c.vmid.set == c.name.set {
		l.problem(p, "want either the template's vmid (template) or its name (name)", "")
	}
	return &guest.Clone{VMID: c.vmid.value, Name: c.name.value, Full: !c.full.set || c.full.value, Storage: c.storage.value}
}

// image is a disk image to import.
type image struct{ from, slot opt[string] }

func (i *image) fields() []field {
	return []field{
		{"from", "", "Image to import, such as local:import/debian-12.qcow2. Needed.", text(&i.from, volumeID)},
		{"slot", "", "Disk that takes it. Default: scsi0.", slotName(&i.slot, diskSlots)},
	}
}

// blank has nothing to say but that it is there.
type blank struct{}

func (b *blank) fields() []field { return nil }

// template is a container template to unpack.
type template struct{ volume opt[string] }

func (t *template) fields() []field {
	return []field{{"volume", "", "Template, such as local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst. Needed.", text(&t.volume, volumeID)}}
}

// onlyOne reports every source after the first; they may come from different classes.
func onlyOne(l *lowering, sources ...place) {
	var first place
	for _, p := range sources {
		switch {
		case p == (place{}):
		case first == (place{}):
			first = p
		default:
			l.problem(p, "got a second source beside "+l.blame(first), "keep one; null drops an inherited one")
		}
	}
}

func (m *machine) source(l *lowering) guest.Source {
	s := &m.from
	onlyOne(l, s.clone.place, s.image.place, s.blank.place)
	switch {
	case s.clone.set:
		return guest.Source{Clone: s.clone.value.source(l, s.clone.place)}
	case s.image.set:
		slot := "scsi0"
		if s.image.value.slot.set {
			slot = s.image.value.slot.value
		}
		if !s.image.value.from.set {
			l.problem(s.image.place, "got no from, want the image to import", "")
		}
		if d := m.disks[slot]; d == nil || !d.value.storage.set {
			l.problem(s.image.place, "got no storage for the imported disk", "add disks."+slot+".storage")
		}
		m.checkNew(l, s.image.place, slot)
		return guest.Source{Image: &guest.Image{Volume: s.image.value.from.value, Slot: slot}}
	case s.blank.set:
		m.checkNew(l, s.blank.place, "")
		return guest.Source{Blank: true}
	default:
		return guest.Source{}
	}
}

// checkNew checks what a guest that does not come from a template needs: a node, and for every disk the means to make it. The
// imported disk brings its own size.
func (m *machine) checkNew(l *lowering, p place, imported string) {
	m.needNode(l, p)
	for slot, d := range m.disks {
		made := d.value.storage.set && (d.value.size.set || slot == imported)
		if !made && slot != imported && !d.value.volume.set && !d.value.iso.set && !d.value.removed() {
			l.problem(d.place, "got no storage and size, want both for a new disk", "")
		}
	}
}

func (c *common) needNode(l *lowering, p place) {
	if !c.node.set {
		l.problem(p, "got no node, want one to create the guest on", "add node: at the top of the spec")
	}
}

func (c *container) source(l *lowering) guest.Source {
	s := &c.from
	onlyOne(l, s.clone.place, s.template.place)
	switch {
	case s.clone.set:
		return guest.Source{Clone: s.clone.value.source(l, s.clone.place)}
	case s.template.set:
		c.checkNew(l, s.template)
		return guest.Source{Template: &guest.Template{Volume: s.template.value.volume.value}}
	default:
		return guest.Source{}
	}
}

func (c *container) checkNew(l *lowering, t opt[template]) {
	c.needNode(l, t.place)
	if !t.value.volume.set {
		l.problem(t.place, "got no volume, want the container template", "")
	}
	if !c.rootfs.storage.set || !c.rootfs.size.set {
		l.problem(t.place, "got no rootfs.storage and rootfs.size, want both for a new container", "")
	}
	for _, m := range c.mounts {
		if !m.value.volume.set && !m.value.removed() && (!m.value.storage.set || !m.value.size.set) {
			l.problem(m.place, "got no storage and size, want both for a new mount point", "")
		}
	}
}
