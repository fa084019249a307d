package guest

import "strings"

// edit is a change of one key, with everything that its cost depends on.
type edit struct {
	live     *Observed
	key      string
	row      *row
	from, to string // native texts; "" is absent
}

// running reports whether the guest has a process that the change affects. A guest of unknown state counts as running, so that the cost is
// not understated.
func (e edit) running() bool { return !e.live.Template && e.live.Status != StatusStopped }

// class returns the cost of the edit and a note on what happens.
func (e edit) class() (Class, string) {
	switch {
	case e.row.drive:
		return driveCost(e)
	case e.row.cost != nil:
		return e.row.cost.cost(e)
	default:
		return e.effectCost()
	}
}

// effectCost returns the cost of an edit if only the effect of its row counts.
func (e edit) effectCost() (Class, string) {
	switch {
	case e.row.effect == atCreate:
		return Impossible, "can only be set when the guest is created"
	case !e.running() || e.appliesLive():
		return Live, ""
	default:
		return Restart, restartNeeded
	}
}

const restartNeeded = "restart needed"

// appliesLive reports whether Proxmox applies the edit to the running guest.
func (e edit) appliesLive() bool {
	switch e.row.effect {
	case atOnce:
		return true
	case plugNetwork:
		return e.hotplugs("network")
	case plugDisk:
		return e.hotplugs("disk")
	case plugUSB:
		return e.hotplugs("usb")
	case plugCPU:
		return e.hotplugs("cpu")
	case plugMemory:
		return e.hotplugs("memory")
	case atStart, atCreate, never:
		return false
	}
	return false
}

// hotplugs reports whether the hotplug key of a virtual machine names a feature.
func (e edit) hotplugs(feature string) bool {
	features := e.live.Keys["hotplug"].Text
	if isBlank(features) || features == "1" {
		features = defaultHotplug
	}
	for word, rest := cutWord(features); word != ""; word, rest = cutWord(rest) {
		if word == feature {
			return true
		}
	}
	return false
}

// blockedBy returns why the API cannot make the edit at all, or "".
func (e edit) blockedBy() string {
	unreleased := e.unsupported()
	switch {
	case e.row.instead != "":
		return "Proxmox stores it as " + e.row.instead + ": set that key"
	case e.row.effect == never:
		return "only Proxmox writes it"
	case unreleased != "":
		return unreleased
	case e.row.rootOnly:
		return rootOnlyNote
	case e.row.syntax != nil && e.from != "" && e.to != "" && e.changesFixed():
		return "can only be set when the device is created"
	case e.row.drive:
		return driveBlocked(e)
	case e.row.blocks != nil:
		return e.row.blocks.reason(e)
	default:
		return ""
	}
}

// changesFixed reports whether the edit changes a sub-key that can only be set when the device is created.
func (e edit) changesFixed() bool {
	for i := range e.row.syntax.subs {
		if sub := &e.row.syntax.subs[i]; sub.fixed && e.differs(sub.name) {
			return true
		}
	}
	return false
}

const rootOnlyNote = "Proxmox lets only root@pam change it, and no API token"

// parts returns the sub-keys before and after the edit.
func (e edit) parts() (from, to properties) {
	return e.row.syntax.parse(nil, e.from), e.row.syntax.parse(nil, e.to)
}

// differs reports whether one of the named sub-keys has another meaning after the edit.
func (e edit) differs(names ...string) bool {
	from, to := e.parts()
	for _, name := range names {
		if e.row.syntax.meaning(from, name) != e.row.syntax.meaning(to, name) {
			return true
		}
	}
	return false
}

// hasCloudInit reports whether the guest has a cloud-init drive.
func (e edit) hasCloudInit() bool {
	for key, value := range e.live.Keys {
		if isDriveKey(key) && isCloudInit(volumeOf(value.Text)) {
			return true
		}
	}
	return false
}

// isDriveKey reports whether a key of a virtual machine may hold a cloud-init drive.
func isDriveKey(key string) bool {
	bus := strings.TrimRight(key, "0123456789")
	return bus == "ide" || bus == "sata" || bus == "scsi"
}
