package guest

import (
	"slices"
	"strings"
)

// Attachment is a volume in the slot of a drive.
type Attachment struct {
	Key    string // of the slot, "scsi1"
	Volume string // its id
	Origin Origin // the manifest line that asks for the volume; zero for a volume of a live guest
}

// IsUnused reports whether the volume is in an unused key, and so in none of the slots that the guest uses.
func (a Attachment) IsUnused() bool { return strings.HasPrefix(a.Key, "unused") }

// WantedAttachments returns the volumes that a manifest names and puts into slots. It leaves out images of CD-ROM drives, folders and
// devices of the host, and volumes that Proxmox allocates.
func WantedAttachments(d Desired) []Attachment {
	var list []Attachment
	for i := range d.Intents {
		in := &d.Intents[i]
		volume, named := in.Sub["volume"]
		if !named {
			volume = volumeOf(in.Text)
		}
		if in.Verb == Want && isVolume(volume) && holdsVolume(d.Kind, in.Key) {
			list = append(list, Attachment{in.Key, volume, in.Origin})
		}
	}
	return list
}

// LiveAttachments returns the volumes that the configuration of a guest names, now or after the next start, in no order. It does not check
// who owns a volume.
func LiveAttachments(o Observed) []Attachment {
	var list []Attachment
	for key, value := range o.Keys {
		texts := []string{value.Text}
		if value.Pending != nil {
			texts = append(texts, *value.Pending)
		}
		for _, text := range texts {
			if volume := volumeOf(text); isVolume(volume) && holdsVolume(o.Kind, key) {
				list = append(list, Attachment{Key: key, Volume: volume})
			}
		}
	}
	return list
}

// VolumesInSlot returns the volumes that a slot of the guest names now and after the next start, including CD-ROM images.
func VolumesInSlot(o Observed, key string) []string {
	if !holdsVolume(o.Kind, key) {
		return nil
	}
	var volumes []string
	now, next := nowAndNext(o.Keys[key])
	for _, text := range []string{now, next} {
		if volume := volumeOf(text); volume != "" && (len(volumes) == 0 || volumes[0] != volume) {
			volumes = append(volumes, volume)
		}
	}
	return volumes
}

// AddedVolume returns the volume that a change puts into a slot, or the empty string if the slot names this volume already.
func AddedVolume(o Observed, c Change) string {
	if c.Write != WriteSet || !holdsVolume(o.Kind, c.Key) {
		return ""
	}
	volume := volumeOf(c.Value)
	if slices.Contains(VolumesInSlot(o, c.Key), volume) {
		return ""
	}
	return volume
}

// PinnedMAC returns the MAC address that an intent sets for a network card, in upper case. It returns the empty string if Proxmox chooses the address.
func PinnedMAC(kind Kind, in Intent) string {
	r, _ := find(kind, in.Key)
	if r.syntax == nil || r.key != "net" || in.Verb != Want {
		return ""
	}
	for _, name := range []string{"macaddr", "hwaddr"} {
		if mac := in.Sub[name]; mac != "" {
			return strings.ToUpper(mac)
		}
		if mac := r.syntax.parse(nil, in.Text).text(name); mac != "" {
			return strings.ToUpper(mac)
		}
	}
	return ""
}
