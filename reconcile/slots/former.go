package slots

import (
	"fmt"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// Former returns what the empty slots of a guest held before, by slot, for the slots into which the manifest puts a volume. A slot without an entry
// may be filled. Recorded is false for a guest without a record. Whether another guest uses a volume is not known here.
func Former(record journal.Attached, recorded bool, d *guest.Desired, live guest.Observed) map[string]guest.Former {
	if recorded && !hasEmptySlot(record, live) {
		return nil
	}
	former := make(map[string]guest.Former)
	for _, slot := range guest.DataSlots(d) {
		volume, known := record.Volumes[slot]
		filling := slices.Contains(record.Filling, slot)
		switch {
		case guest.DataVolume(live, slot) != "", recorded && !known && !filling:
		case !recorded, volume == "", filling:
			former[slot] = guest.Former{Taken: unknownNote(filling, live)}
		default:
			former[slot] = guest.Former{Volume: volume, Taken: takenBy(volume, record, live)}
		}
	}
	return former
}

// hasEmptySlot reports whether a slot of the record holds no volume.
func hasEmptySlot(record journal.Attached, live guest.Observed) bool {
	for slot := range record.Volumes {
		if guest.DataVolume(live, slot) == "" {
			return true
		}
	}
	return len(record.Filling) > 0
}

// unknownNote states why it is unknown what a slot held.
func unknownNote(filling bool, live guest.Observed) string {
	note := "the agent does not know what the slot held"
	if filling {
		note = "it is unknown whether the last call for this slot created a volume"
	}
	if unused := guest.UnusedVolumes(live); len(unused) > 0 {
		note += "; in no slot are " + strings.Join(unused, ", ")
	}
	return note
}

// takenBy returns why a volume cannot be attached again, "" if the guest has it in no slot and no other volume may be the newer one.
func takenBy(volume string, record journal.Attached, live guest.Observed) string {
	volumes := guest.LiveAttachments(live)
	slices.SortFunc(volumes, func(a, b guest.Attachment) int { return strings.Compare(a.Key, b.Key) })
	unused := false
	for _, a := range volumes {
		switch {
		case !sameVolume(a.Volume, volume):
		case a.IsUnused():
			unused = true
		default:
			return "the guest uses it as " + a.Key
		}
	}
	if !unused {
		return "no key of the guest names it"
	}
	for _, a := range volumes {
		if a.IsUnused() && !isRecorded(a.Volume, record) {
			return fmt.Sprintf("%s=%s appeared since, and may be newer", a.Key, a.Volume)
		}
	}
	return ""
}

// Explains reports whether the record names every volume of the guest: none was created since the record was made.
func Explains(record journal.Attached, live guest.Observed) bool {
	return !slices.ContainsFunc(guest.LiveAttachments(live), func(a guest.Attachment) bool { return !isRecorded(a.Volume, record) })
}

// isRecorded reports whether the record names a volume.
func isRecorded(volume string, record journal.Attached) bool {
	for _, held := range record.Volumes {
		if sameVolume(held, volume) {
			return true
		}
	}
	return slices.ContainsFunc(record.Others, func(old string) bool { return sameVolume(old, volume) })
}

func sameVolume(a, b string) bool { return a == b || guest.VolumeKey(a) == guest.VolumeKey(b) }
