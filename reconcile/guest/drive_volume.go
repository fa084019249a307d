package guest

import "gitops-agent/reconcile/guest/form"

// volumeFor returns the volume that must replace the volume in the slot, "" if the volume stays, and why it cannot be replaced.
func (s *slot) volumeFor(have properties) (volume, obstacle string) {
	live := have.text("volume")
	switch want := s.target; {
	case want.volume == cloudInitVolume:
		return s.cloudInitFor(live)
	case want.volume != "" && want.volume == live, want.volume == "" && want.storage == "":
		return "", ""
	case want.volume != "" && !s.sameMedia(have) && s.running():
		return "", mediaNote
	case want.volume != "":
		return want.volume, ""
	case isDisk(have) && storageOf(live) != "":
		return "", "" // a volume on another storage is moved, see compareStorage
	case isDisk(have), isCloudInit(live):
		return "", occupiedNote
	case s.running():
		return "", mediaNote
	default:
		return s.newVolume()
	}
}

const (
	mediaNote    = "a drive cannot change between disk and CD-ROM while the guest runs"
	occupiedNote = "the slot holds another volume: remove it first"
)

func (s *slot) cloudInitFor(live string) (volume, obstacle string) {
	switch {
	case isCloudInit(live) && (s.target.storage == "" || s.target.storage == storageOf(live)):
		return "", ""
	case isCloudInit(live):
		return "", "move disk: remove the cloud-init drive to create it on another storage"
	case !isTray(live):
		return "", occupiedNote
	default:
		return s.newVolume()
	}
}

// newVolume returns the allocation syntax for a new volume in the slot, or why no volume can be created. The syntax is only written to a slot
// that holds no volume of the guest, since Proxmox allocates a new volume each time.
//
// A slot that held a volume gets the same volume again, if nothing else uses it.
func (s *slot) newVolume() (volume, obstacle string) {
	former, held := s.former()
	switch {
	case s.target.volume != "" && s.target.volume != cloudInitVolume:
		return s.target.volume, ""
	case held && former.Unread:
		return "", former.Volume + " is not attached again yet: the other guests were not read yet"
	case held && former.Taken == "":
		return former.Volume, ""
	case s.row.required && !s.creating:
		return "", "Proxmox creates a root volume only with its container: restore the container from a backup"
	case s.target.storage == "":
		return "", "the slot is empty: set storage to create a volume"
	case s.target.volume == cloudInitVolume:
		return s.target.storage + ":" + cloudInitVolume, ""
	case s.imported() != "":
		return s.target.storage + ":0", "" // of the size of the imported image
	case s.row.key == "efidisk0" || s.row.key == "tpmstate0":
		return s.target.storage + ":1", "" // Proxmox replaces the size with the firmware's own
	case s.target.size == "":
		return "", "the slot is empty: set size to create a volume"
	}
	bytes, err := form.ParseSize(s.target.size)
	if err != nil || bytes == 0 {
		return "", "the size cannot be read, or is 0"
	}
	return s.target.storage + ":" + form.Gibibytes(bytes), ""
}

// imported returns the disk image that is imported into the slot, or the empty string.
func (s *slot) imported() string {
	if image := s.want.Source.Image; s.creating && image != nil && image.Slot == s.in.Key {
		return image.Volume
	}
	return ""
}

// sameMedia reports whether the slot holds the wanted kind of drive, disk or CD-ROM.
func (s *slot) sameMedia(have properties) bool {
	tray := s.target.volume == cloudInitVolume || s.properties.pairs.text("media") == "cdrom"
	return tray != isDisk(have)
}

func isDisk(have properties) bool { return have.text("media") != "cdrom" }

// onOtherStorage reports whether a volume is not on the wanted storage. It is false if the manifest names a volume.
func (s *slot) onOtherStorage(have properties) bool {
	storage := storageOf(have.text("volume"))
	return s.target.volume == "" && s.target.storage != "" && storage != "" && storage != s.target.storage && isDisk(have)
}

// onTargetStorage reports whether a native text of the slot is a disk on the wanted storage.
func (s *slot) onTargetStorage(text string) bool {
	have := s.row.syntax.parse(nil, text)
	return isDisk(have) && storageOf(have.text("volume")) == s.target.storage
}
