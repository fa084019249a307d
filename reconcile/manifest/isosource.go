package manifest

import (
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
)

// isoSource is an image to install a virtual machine from.
type isoSource struct{ volume, image, slot opt[string] }

func (i *isoSource) fields() []field {
	return []field{
		{"volume", "", "ISO image, such as local:iso/debian-12.iso. It or image is required.", withExamples(text(&i.volume, volumeID), `"local:iso/debian-12.iso"`)},
		imageField(&i.image),
		{"slot", "", "CD-ROM drive for the image; not a virtio slot. Default: ide2.", slotName(&i.slot, diskSlots)},
	}
}

// source returns the source, and checks that nothing else wants the drive. A manifest may name the same image in its disks, which keeps the image
// there.
func (i *isoSource) source(l *lowering, p place) *guest.ISO {
	slot := "ide2"
	if i.slot.set {
		slot = i.slot.value
	}
	volume, object := l.file(p, i.volume, i.image, "volume", image.ISO)
	if strings.HasPrefix(slot, "virtio") {
		l.problem(i.slot.place, "got a virtio slot for an ISO image, want an ide, sata or scsi slot", "")
	}
	if in := l.intents[slot]; in != nil && volume != "" && in.Sub["volume"] != volume {
		l.problem(p, "got "+slot+" for the image, which "+l.describePlace(l.setBy[slot])+" sets",
			"set source.iso.slot to a free one, or leave source out once the guest is installed")
	}
	return &guest.ISO{Volume: volume, Object: object, Slot: slot}
}
