package manifest

// machineSource is how to create a virtual machine. One of its fields is set.
type machineSource struct {
	clone  opt[machineClone]
	image  opt[importedImage]
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

// importedImage is a disk image to import.
type importedImage struct{ from, image, slot opt[string] }

func (i *importedImage) fields() []field {
	return []field{
		{"from", "", "Image to import, such as local:import/debian-12.qcow2. It or image is required.", withExamples(text(&i.from, volumeID), `"local:import/debian-12-genericcloud-amd64.qcow2"`)},
		imageField(&i.image),
		{"slot", "", "Disk for the image. Default: scsi0.", slotName(&i.slot, diskSlots)},
	}
}

// blank has no fields: its presence is its meaning.
type blank struct{}

func (b *blank) fields() []field { return nil }

// template is a container template to unpack.
type template struct{ volume, image opt[string] }

func (t *template) fields() []field {
	return []field{
		{"volume", "", "Template, such as local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst. It or image is required.", withExamples(text(&t.volume, volumeID), `"local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst"`)},
		imageField(&t.image),
	}
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
