package guest

import (
	"maps"
	"slices"
)

// HasCloudInit reports whether a virtual machine has a cloud-init drive.
func HasCloudInit(o Observed) bool { return edit{live: &o}.hasCloudInit() }

// IsCloudInit reports whether a key of a virtual machine is used only by its cloud-init drive: the key is written at once, and the drive
// contains it when Proxmox makes the drive next.
func IsCloudInit(key string) bool {
	r, known := find(VirtualMachine, key)
	return known && r.cost == cloudInitRule
}

// blockedByCloudInitDrive reports whether the slot is wanted to hold the cloud-init drive while another slot holds it. Proxmox refuses a
// second drive, also in the call that removes the first one. No change is added if the manifest removes the first drive: the slot is
// compared again after that.
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

// cloudInitSlot returns the slot that holds the cloud-init drive now or after the next start, "" if there is none.
func (c *comparison) cloudInitSlot() string {
	for _, key := range slices.Sorted(maps.Keys(c.live.Keys)) {
		now, next := nowAndNext(c.live.Keys[key])
		if isDriveKey(key) && (isCloudInit(volumeOf(now)) || isCloudInit(volumeOf(next))) {
			return key
		}
	}
	return ""
}

// removesCloudInitFrom reports whether the manifest wants a slot to be empty or to hold something other than a cloud-init drive.
func (c *comparison) removesCloudInitFrom(key string) bool {
	return !c.ignoresKey(key) && slices.ContainsFunc(c.want.Intents, func(in Intent) bool {
		volume := in.Sub["volume"]
		if in.Sub == nil {
			volume = volumeOf(in.Text)
		}
		return in.Key == key && (in.Verb == Absent || volume != "" && volume != cloudInitVolume && !isCloudInit(volume))
	})
}
