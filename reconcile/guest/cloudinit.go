package guest

import (
	"maps"
	"slices"
)

// HasCloudInit reports whether a virtual machine has a cloud-init drive.
func HasCloudInit(o Observed) bool { return edit{live: &o}.hasCloudInit() }

// IsCloudInit reports whether a virtual machine's key goes into its cloud-init drive and nowhere else: it is written at once, and
// the drive tells of it when it is next made.
func IsCloudInit(key string) bool {
	r, known := find(VirtualMachine, key)
	return known && r.cost == cloudInitRule
}

// blockedByCloudInitDrive reports whether the slot is to hold the cloud-init drive while another one does. Proxmox refuses a second drive, also in the
// call that removes the first. Nothing is added where the manifest removes that one: the slot is compared again afterwards.
func (s *slot) blockedByCloudInitDrive(now, next string) bool {
	wants := s.target.volume == cloudInitVolume || isCloudInit(s.target.volume)
	if !wants || s.creating || isCloudInit(volumeOf(now)) || isCloudInit(volumeOf(next)) {
		return false
	}
	other := s.cloudInitSlot()
	if other == "" {
		return false
	}
	if !s.removesCloudInitFrom(other) {
		s.addImpossible(next, s.target.String(), slotNote+" "+other+": set cloudInit.slot: "+other)
	}
	return true
}

const slotNote = "the cloud-init drive is on"

// cloudInitSlot returns the slot that holds the cloud-init drive, now or after the next start, "" if none does.
func (c *comparison) cloudInitSlot() string {
	for _, key := range slices.Sorted(maps.Keys(c.live.Keys)) {
		now, next := nowAndNext(c.live.Keys[key])
		if isDriveKey(key) && (isCloudInit(volumeOf(now)) || isCloudInit(volumeOf(next))) {
			return key
		}
	}
	return ""
}

// removesCloudInitFrom reports whether the manifest wants no cloud-init drive in a slot.
func (c *comparison) removesCloudInitFrom(key string) bool {
	return !c.ignoresKey(key) && slices.ContainsFunc(c.want.Intents, func(in Intent) bool {
		volume := in.Sub["volume"]
		if in.Sub == nil {
			volume = volumeOf(in.Text)
		}
		return in.Key == key && (in.Verb == Absent || volume != "" && volume != cloudInitVolume && !isCloudInit(volume))
	})
}
