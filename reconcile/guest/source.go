package guest

import (
	"errors"
	"fmt"
)

// checkSource returns why the guest cannot be made by a create call, or nil.
func checkSource(d Desired) error {
	s := d.Source
	machine := s.Image != nil || s.ISO != nil || s.Blank
	switch {
	case s.Clone != nil:
		return errors.New("make a clone by cloning its template")
	case machine && d.Kind == Container:
		return errors.New("make a container from a container template, not from a disk image")
	case s.Template != nil && d.Kind != Container:
		return errors.New("make a virtual machine from a disk image, not from a container template")
	case s.Backup != nil:
		return nil
	case d.Kind == Container && s.Template == nil:
		return errors.New("make a container from a container template: none is named")
	case s.Template == nil && !machine:
		return errors.New("no source to make the guest from")
	default:
		return nil
	}
}

// add puts the source into the parameters of the call that makes the guest, and returns what stands against it.
func (s Source) add(params map[string]string, d Desired) []error {
	switch {
	case s.Template != nil:
		params["ostemplate"] = s.Template.Volume
	case s.Image != nil && params[s.Image.Slot] == "" && !d.names(s.Image.Slot):
		return []error{fmt.Errorf("import %s: no storage is named for slot %s", s.Image.Volume, s.Image.Slot)}
	case s.ISO != nil:
		return s.ISO.add(params)
	case s.Backup != nil:
		return s.Backup.add(params, d)
	}
	return nil
}

// names reports whether an intent puts something into a slot.
func (d *Desired) names(slot string) bool {
	for _, in := range d.Intents {
		if in.Key == slot && in.Verb == Want {
			return true
		}
	}
	return false
}

// add puts the image into its drive. A drive that the manifest fills by itself has to hold the same image: it is compared ever
// after, while the source's is the guest's own business once it is made.
func (i *ISO) add(params map[string]string) []error {
	if got := params[i.Slot]; got != "" && volumeOf(got) != i.Volume {
		return []error{fmt.Errorf("insert %s: slot %s is wanted to hold %s", i.Volume, i.Slot, volumeOf(got))}
	}
	if params[i.Slot] == "" {
		params[i.Slot] = i.Volume + ",media=cdrom"
	}
	return nil
}

// add puts the backup into the call. An existing guest is never overwritten: force stays out. Where no storage is named, the
// volumes of a virtual machine return to where they were, and those of a container would go to one called local.
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
		return []error{fmt.Errorf("restore %s: no storage is named for the container's volumes", b.Volume)}
	}
	return nil
}

// rootStorage is the storage that a container's root volume is wanted on, if any is named.
func (d *Desired) rootStorage() string {
	for _, in := range d.Intents {
		if in.Key == "rootfs" && in.Verb == Want {
			return in.Sub["storage"]
		}
	}
	return ""
}

// restores reports whether a key is set by the call that restores the guest.
func (d *Desired) restores(key string, r *row) bool {
	return key == "tags" || key == nameKey(d.Kind) || r.effect == atCreate && !r.once
}
