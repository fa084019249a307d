package slots

import (
	"maps"
	"slices"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// Created returns the first record of a guest that the agent is about to create: it holds no volume that was there before.
func Created(owned journal.Owned) journal.Attached {
	return journal.Attached{VMID: owned.VMID, Identity: owned.Identity}
}

// Adopted returns the first record of a guest that the agent adopts. An empty slot may be filled, unless the guest has volumes in no slot: one of
// them may have been in this slot.
func Adopted(owned journal.Owned, d *guest.Desired, live guest.Observed) journal.Attached {
	record, _ := Follow(Created(owned), d, live)
	if len(guest.UnusedVolumes(live)) > 0 {
		return withUnknown(record, d)
	}
	return record
}

// Unrecorded returns the first record of a guest that an older release owned, which recorded no volumes. What its empty slots held is unknown,
// unless the guest was never seen with its marker: the agent has not finished creating it.
func Unrecorded(owned journal.Owned, d *guest.Desired, live guest.Observed) journal.Attached {
	record, _ := Follow(Created(owned), d, live)
	if owned.Claiming {
		return record
	}
	return withUnknown(record, d)
}

// Before returns the record of a guest that was not read since its history began: what its slots held under this manifest is unknown. A
// later manifest can then add a slot that is known to be new.
func Before(owned journal.Owned, d *guest.Desired) journal.Attached {
	return withUnknown(Created(owned), d)
}

// Doubted returns the record of a guest whose history may be longer than the record: the state directory is older than the cluster. What the empty
// slots of the manifest held is unknown.
func Doubted(record journal.Attached, d *guest.Desired) (doubted journal.Attached, changed bool) {
	doubted = withUnknown(record, d)
	return doubted, len(doubted.Volumes) != len(record.Volumes)
}

// withUnknown returns the record with an unknown history for each slot of the manifest of which the record says nothing.
func withUnknown(record journal.Attached, d *guest.Desired) journal.Attached {
	volumes := make(map[string]string)
	for _, slot := range guest.DataSlots(d) {
		volumes[slot] = ""
	}
	maps.Copy(volumes, record.Volumes)
	if len(volumes) > 0 {
		record.Volumes = volumes
	}
	return record
}

// Of returns the record of an owned guest, and whether there is one. A record of another identity says nothing about the guest.
func Of(records map[int]journal.Attached, owned journal.Owned) (journal.Attached, bool) {
	record, found := records[owned.VMID]
	return record, found && owned.Identity != "" && record.Identity == owned.Identity
}

// Follow returns the record after a reading of the guest, and whether it changed. A slot holds the volume that the reading shows, also if a person
// moved or replaced it. An empty slot keeps its history, unless the manifest in force puts no volume into it. The guest has no open step.
func Follow(record journal.Attached, d *guest.Desired, live guest.Observed) (journal.Attached, bool) {
	f := follower{record: record, live: live}
	wanted := guest.DataSlots(d)
	for _, slot := range wanted {
		if volume := guest.DataVolume(live, slot); volume != "" {
			f.hold(slot, volume)
		}
	}
	for slot := range record.Volumes {
		f.forget(slot, wanted, d)
	}
	for _, slot := range record.Filling {
		f.forget(slot, wanted, d)
	}
	f.keepOthers()
	return f.record, f.changed
}

// follower changes a copy of a record. The maps and slices of the original are shared with readers of the journal.
type follower struct {
	record  journal.Attached
	live    guest.Observed
	changed bool
	copied  bool
}

func (f *follower) change() {
	f.changed = true
	if !f.copied {
		f.copied = true
		volumes := make(map[string]string, len(f.record.Volumes)+1)
		maps.Copy(volumes, f.record.Volumes)
		f.record.Volumes, f.record.Filling = volumes, slices.Clone(f.record.Filling)
	}
}

// hold notes the volume in a slot. The history of a slot that held this volume before becomes unknown, so that the volume belongs to one slot.
func (f *follower) hold(slot, volume string) {
	for other, held := range f.record.Volumes {
		if other != slot && sameVolume(held, volume) && guest.DataVolume(f.live, other) == "" {
			f.change()
			f.record.Volumes[other] = ""
		}
	}
	if f.record.Volumes[slot] != volume {
		f.change()
		f.record.Volumes[slot] = volume
	}
	f.filled(slot)
}

// filled removes a slot from those for which a call was begun.
func (f *follower) filled(slot string) {
	if i := slices.Index(f.record.Filling, slot); i >= 0 {
		f.change()
		f.record.Filling = slices.Delete(f.record.Filling, i, i+1)
	}
}

// forget removes a slot from the record if the manifest puts no volume into it and, if it wants something else there, the guest has no volume there.
func (f *follower) forget(slot string, wanted []string, d *guest.Desired) {
	named := slices.ContainsFunc(d.Intents, func(in guest.Intent) bool { return in.Key == slot })
	if slices.Contains(wanted, slot) || named && guest.DataVolume(f.live, slot) != "" {
		return
	}
	if _, known := f.record.Volumes[slot]; known {
		f.change()
		delete(f.record.Volumes, slot)
	}
	f.filled(slot)
}

// keepOthers notes the other volumes of the guest while every slot holds its volume. A volume that appears later may be newer than the one that the
// record names.
func (f *follower) keepOthers() {
	for slot, volume := range f.record.Volumes {
		if volume == "" || guest.DataVolume(f.live, slot) != volume {
			return
		}
	}
	if others := otherVolumes(f.record, f.live); !slices.Equal(others, f.record.Others) {
		f.change()
		f.record.Others = others
	}
}

// otherVolumes returns the ids of the volumes that a guest names, and that the record does not name in a slot, sorted; nil if there are none.
func otherVolumes(record journal.Attached, live guest.Observed) []string {
	var list []string
	for _, a := range guest.LiveAttachments(live) {
		if record.Volumes[a.Key] != a.Volume {
			list = append(list, a.Volume)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Begin returns the record with the slots that a call is about to fill, and the slots that the record did not contain as such before.
func Begin(record journal.Attached, fills []string) (begun journal.Attached, added []string) {
	begun = record
	begun.Filling = slices.Clone(record.Filling)
	for _, slot := range fills {
		if !slices.Contains(begun.Filling, slot) {
			begun.Filling, added = append(begun.Filling, slot), append(added, slot)
		}
	}
	slices.Sort(begun.Filling)
	return begun, added
}

// Revert returns the record without slots that Begin added, for a call that filled none.
func Revert(record journal.Attached, added []string) journal.Attached {
	record.Filling = slices.DeleteFunc(slices.Clone(record.Filling), func(slot string) bool { return slices.Contains(added, slot) })
	return record
}
