package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// ClusterContext is what stands beside a guest that is planned alone.
type ClusterContext struct {
	Guests map[int]guest.Observed // every guest that was read, by vmid; nil where nobody kept them
}

// holder is a place that names a volume.
type holder struct {
	ref guest.Ref
	at  guest.Attachment
}

// String returns "VirtualMachine/new (202) as scsi1, at new.yaml:9:5".
func (h holder) String() string {
	text := h.ref.String() + " as " + h.at.Key
	if h.at.Origin != (guest.Origin{}) {
		text += ", at " + h.at.Origin.String()
	}
	return text
}

// holders tells who names the volumes that a plan must be careful with: those that go with a guest, and those that a manifest takes from
// another guest. The zero value is of a plan that has none.
type holders struct {
	unread bool // nobody knows the other guests
	by     map[string][]holder
}

// newHolders looks for the volumes at stake in all manifests and in all guests that were read.
func newHolders(want Desired, got cluster.Snapshot) holders {
	stake := AffectedVolumes(want, got)
	if len(stake) == 0 {
		return holders{}
	}
	guests, seen := want.Guests, got.Guests
	if want.ClusterContext != nil {
		guests, seen = want.Others, want.ClusterContext.Guests
	}
	h := holders{unread: seen == nil, by: make(map[string][]holder, len(stake))}
	note := func(ref guest.Ref, list []guest.Attachment) {
		for _, a := range list {
			if key := guest.VolumeKey(a.Volume); stake[key] {
				h.by[key] = append(h.by[key], holder{ref, a})
			}
		}
	}
	for _, d := range guests {
		note(d.Ref, guest.WantedAttachments(d))
	}
	for _, live := range seen {
		note(live.Ref, guest.LiveAttachments(live))
	}
	for _, list := range h.by {
		// A manifest can be changed, so it is named before what it came to.
		slices.SortFunc(list, func(a, b holder) int {
			return cmp.Or(cmp.Compare(b.at.Origin.Line, a.at.Origin.Line), cmp.Compare(a.String(), b.String()))
		})
	}
	return h
}

// VolumesAtStake returns the volumes that a plan may destroy, or attach to a guest whose vmid they do not bear.
func AffectedVolumes(want Desired, got cluster.Snapshot) map[string]bool {
	stake := make(map[string]bool)
	named := make(map[int]bool, len(want.Guests))
	for i := range want.Guests {
		d := &want.Guests[i]
		named[d.VMID] = true
		for _, a := range guest.WantedAttachments(*d) {
			if owner, ok := guest.VolumeOwner(a.Volume); ok && owner != d.VMID {
				stake[guest.VolumeKey(a.Volume)] = true
			}
		}
	}
	for vmid := range want.Owned {
		if live, seen := got.Guests[vmid]; seen && !named[vmid] {
			for _, volume := range guest.Volumes(live) {
				if _, bears := guest.VolumeOwner(volume); bears { // Proxmox frees no other
					stake[guest.VolumeKey(volume)] = true
				}
			}
		}
	}
	return stake
}

// otherHolder returns another guest than vmid that names the volume, and whether there is one.
func (h holders) otherHolder(vmid int, volume string) (holder, bool) {
	for _, by := range h.by[guest.VolumeKey(volume)] {
		if by.ref.VMID != vmid {
			return by, true
		}
	}
	return holder{}, false
}

// destroyBlockedBy returns why a guest must not be destroyed while others name its volumes, or nil.
func (h holders) destroyBlockedBy(live guest.Observed) *Condition {
	volumes := guest.Volumes(live)
	if h.unread && len(volumes) > 0 {
		return &Condition{Type: NotObserved, Reason: ReasonNotObserved, Message: "nobody looked yet whether another guest uses its volumes"}
	}
	var words []string
	for _, volume := range volumes {
		if by, held := h.otherHolder(live.VMID, volume); held {
			words = append(words, fmt.Sprintf("%s is also %s", volume, by))
		}
	}
	if len(words) == 0 {
		return nil
	}
	return &Condition{
		Type: Blocked, Reason: ReasonVolumeInUse, Message: "it is not destroyed, since its volumes would go with it: " + strings.Join(words, "; "),
		Hint: "take the volume out of the other guest and its manifest; one that it needs is given to it in Proxmox first (Reassign Owner), and has another name then",
	}
}

// attachBlockedBy returns why a volume must not be attached to a guest, or the empty string: it bears another vmid, and a slot of another guest
// holds it.
func (h holders) attachBlockedBy(vmid int, volume string) string {
	if owner, ok := guest.VolumeOwner(volume); !ok || owner == vmid {
		return ""
	}
	if h.unread {
		return volume + " may be in use: nobody looked yet at the other guests"
	}
	for _, by := range h.by[guest.VolumeKey(volume)] {
		if by.ref.VMID != vmid && by.at.Origin == (guest.Origin{}) && !by.at.IsUnused() {
			return fmt.Sprintf("%s is still in use by %s", volume, by)
		}
	}
	return ""
}

// blockTakenVolumes makes the changes impossible that attach a volume which another guest uses.
func (h holders) blockTakenVolumes(changes []guest.Change, live guest.Observed) []guest.Change {
	out := slices.Clone(changes)
	for i := range out {
		if volume := guest.AddedVolume(live, out[i]); volume != "" {
			if why := h.attachBlockedBy(live.VMID, volume); why != "" {
				out[i].Class, out[i].Write, out[i].Note = guest.Impossible, guest.WriteNone, why+": detach it there first"
			}
		}
	}
	return out
}

// createBlockedBy returns why a guest must not be made yet, since it begins with a volume that another guest uses, or nil.
func (h holders) createBlockedBy(d *guest.Desired) *Condition {
	for _, a := range guest.WantedAttachments(*d) {
		if why := h.attachBlockedBy(d.VMID, a.Volume); why != "" {
			return &Condition{Type: Blocked, Reason: ReasonVolumeInUse, Message: a.Key + ": " + why, Hint: "detach it there, or name another volume"}
		}
	}
	return nil
}
