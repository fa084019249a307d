package guest

import (
	"slices"
	"strconv"
	"time"

	"gitops-agent/reconcile/schedule"
)

// Snapshots are the snapshot sections of a guest's configuration.
type Snapshots struct {
	Digest   string // of the whole configuration; the same as that of an observation if nothing changed in between
	Sections []SnapshotSection
}

// SnapshotSection is the configuration of a guest when a snapshot was made, with the keys that describe the snapshot itself.
type SnapshotSection struct {
	Name string
	Keys map[string]string
}

// SnapshotName is the pattern of the names of snapshots that Proxmox accepts, without anchors.
//
// Source: PVE::JSONSchema, format pve-configid.
const SnapshotName = `[A-Za-z][A-Za-z0-9_-]{1,39}`

// Names lists the snapshots, sorted.
func (s Snapshots) Names() []string {
	names := make([]string, 0, len(s.Sections))
	for _, section := range s.Sections {
		names = append(names, section.Name)
	}
	slices.Sort(names)
	return names
}

// Section returns the section of a snapshot, and whether there is one. Proxmox distinguishes upper and lower case in its name.
func (s Snapshots) Section(name string) (SnapshotSection, bool) {
	i := slices.IndexFunc(s.Sections, func(section SnapshotSection) bool { return section.Name == name })
	if i < 0 {
		return SnapshotSection{}, false
	}
	return s.Sections[i], true
}

// Taken returns when the snapshot was made, in whole seconds on the clock of its node; the zero time if the section has no time.
func (s SnapshotSection) Taken() time.Time {
	seconds, err := strconv.ParseInt(s.Keys["snaptime"], 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// SnapshotUUID returns the firmware uuid that a virtual machine has after a rollback to a snapshot, in lower case. It is empty if none is set, and for
// containers.
func SnapshotUUID(kind Kind, s SnapshotSection) string {
	if kind == Container {
		return ""
	}
	return uuidOf(s.Keys["smbios1"])
}

// Unfinished returns the state of a snapshot that is being made, deleted or restored, or that such a task left behind: "prepare", "delete" or
// "rollback"; "" if the snapshot is complete.
func (s SnapshotSection) Unfinished() string { return s.Keys["snapstate"] }

// SnapshotSchedule is which snapshots the agent takes of a guest, and how many it keeps.
type SnapshotSchedule struct {
	Text   string // of Times, as the manifest has it
	Times  schedule.Calendar
	Keep   int // at least 1
	Origin Origin
}
