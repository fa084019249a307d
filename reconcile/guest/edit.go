package guest

import (
	"strings"

	"gitops-agent/reconcile/guest/form"
)

// running reports whether the guest has a process that the change affects. A guest of unknown state counts as running, so that the cost is
// not understated.
func (e edit) running() bool { return !e.live.Template && e.live.Status != StatusStopped }

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
		features = form.DefaultHotplug
	}
	for word, rest := form.CutWord(features); word != ""; word, rest = form.CutWord(rest) {
		if word == feature {
			return true
		}
	}
	return false
}

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

// unsupported returns why the release of the guest's node does not accept the edit, or "". What the guest has already, its node has accepted.
func (e edit) unsupported() string {
	v := e.live.Version
	if why := e.row.unsupportedBy(v); why != "" && e.from == "" {
		return why
	}
	if e.row.syntax == nil || e.to == "" {
		return ""
	}
	from, to := e.parts()
	for _, p := range to {
		if why := e.row.syntax.sub(p.name).unsupportedBy(v); why != "" && from.find(p.name) < 0 {
			return p.name + ": " + why
		}
	}
	return ""
}
