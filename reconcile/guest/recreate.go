package guest

import "gitops-agent/reconcile/guest/form"

// DefaultRecreate returns whether a guest that is gone is created again without an approval: only if every volume of the guest comes from
// its source, so that the new guest has the volumes that the first one was created with, and none is empty.
func (d *Desired) DefaultRecreate() Permission {
	if d.Source.Clone == nil && d.Source.Image == nil && d.Source.Template == nil {
		return Approve
	}
	for i := range d.Intents {
		if !d.comesFromSource(&d.Intents[i]) {
			return Approve
		}
	}
	return Allow
}

// comesFromSource reports whether an intent adds no volume to those of the source. CD-ROM drives, cloud-init drives and directories of the
// host are not volumes with data of the guest. A drive of a cloned virtual machine with a storage may be in the template or not: the manifest
// does not show it, so the drive counts as a new one.
func (d *Desired) comesFromSource(in *Intent) bool {
	r, known := find(d.Kind, in.Key)
	if !known || !r.drive || in.Verb != Want {
		return true
	}
	volume, storage, media := in.Sub["volume"], in.Sub["storage"], in.Sub["media"]
	if in.Text != "" {
		volume, media = volumeOf(in.Text), r.syntax.parse(nil, in.Text).text("media")
	}
	switch {
	case volume == "" && storage == "":
		return true // no volume can be created without a storage
	case isTray(volume), isCloudInit(volume), media == "cdrom":
		return true
	case volume != "":
		return storageOf(volume) == "" && !form.Allocates(volume) // a directory of the host
	case d.Source.Image != nil:
		return in.Key == d.Source.Image.Slot
	}
	return in.Key == "rootfs" // of a container, from its template
}
