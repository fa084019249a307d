package guest

import (
	"errors"
	"fmt"
)

// checkSource returns why the create call cannot create the guest, or nil.
func checkSource(d Desired) error {
	s := d.Source
	machine := s.Image != nil || s.ISO != nil || s.Blank
	switch {
	case s.Clone != nil:
		return errors.New("a clone is created by cloning its template")
	case machine && d.Kind == Container:
		return errors.New("a container needs a container template, not a disk image")
	case s.Template != nil && d.Kind != Container:
		return errors.New("a virtual machine needs a disk image, not a container template")
	case s.Backup != nil:
		return nil
	case d.Kind == Container && s.Template == nil:
		return errors.New("a container needs a container template, got none")
	case s.Template == nil && !machine:
		return errors.New("got no source to create the guest from")
	default:
		return nil
	}
}

// add adds the source to the parameters of the create call, and returns the problems.
func (s Source) add(params map[string]string, d Desired) []error {
	switch {
	case s.Template != nil:
		params["ostemplate"] = s.Template.Volume
	case s.Image != nil && params[s.Image.Slot] == "" && !d.Names(s.Image.Slot):
		return []error{fmt.Errorf("import %s: got no storage for slot %s", s.Image.Volume, s.Image.Slot)}
	case s.ISO != nil:
		return s.ISO.add(params)
	case s.Backup != nil:
		return s.Backup.add(params, d)
	}
	return nil
}

// Names reports whether an intent puts something into a slot.
func (d *Desired) Names(slot string) bool {
	for _, in := range d.Intents {
		if in.Key == slot && in.Verb == Want {
			return true
		}
	}
	return false
}

// add puts the image into its drive. If the manifest also sets the drive, it must hold the same image: the drive is compared after the
// creation, the source is not.
func (i *ISO) add(params map[string]string) []error {
	if got := params[i.Slot]; got != "" && volumeOf(got) != i.Volume {
		return []error{fmt.Errorf("insert %s: the manifest puts %[3]s into slot %[2]s", i.Volume, i.Slot, volumeOf(got))}
	}
	if params[i.Slot] == "" {
		params[i.Slot] = i.Volume + ",media=cdrom"
	}
	return nil
}

// add adds the backup to the parameters. The parameter force is never set, so an existing guest is never overwritten. Without a storage, the
// volumes of a virtual machine return to their original storage, and those of a container would go to the storage named local.
//
// Source: PVE API, POST /nodes/{node}/qemu and /nodes/{node}/lxc with restore.
func (b *Backup) add(params map[string]string, d Desired) []error {
	storage := b.Storage
	if d.Kind == Container {
		params["ostemplate"], params["restore"] = b.Volume, "1"
		if storage == "" {
			storage = d.rootStorage()
		}
	} else {
		params["archive"] = b.Volume
	}
	setUnlessEmpty(params, "storage", storage)
	if b.Unique {
		params["unique"] = "1"
	}
	if d.Kind == Container && storage == "" {
		return []error{fmt.Errorf("restore %s: got no storage for the container's volumes", b.Volume)}
	}
	return nil
}

// rootStorage returns the storage that the manifest wants for a container's root volume, or the empty string.
func (d *Desired) rootStorage() string {
	for _, in := range d.Intents {
		if in.Key == "rootfs" && in.Verb == Want {
			return in.Sub["storage"]
		}
	}
	return ""
}

// restores reports whether the call that restores the guest sets a key.
func (d *Desired) restores(key string, r *row) bool {
	return key == "tags" || key == nameKey(d.Kind) || r.effect == atCreate && !r.once
}
