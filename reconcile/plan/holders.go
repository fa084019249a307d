package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
)

// holder is a guest or a manifest that names a volume.
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

// holders maps each affected volume to the guests and manifests that name it. The zero value is for a plan that affects no volume.
type holders struct {
	unread bool // the other guests were not read
	by     map[string][]holder
}

// newHolders finds the affected volumes in all manifests and in all guests that were read.
func newHolders(want Desired, got cluster.Snapshot) holders {
	affected := affectedVolumes(want, got)
	if len(affected) == 0 {
		return holders{}
	}
	guests, seen := want.Guests, got.Guests
	if want.ClusterContext != nil {
		guests, seen = want.Others, want.ClusterContext.Guests
	}
	h := holders{unread: seen == nil, by: make(map[string][]holder, len(affected))}
	note := func(ref guest.Ref, list []guest.Attachment) {
		for _, a := range list {
			if key := guest.VolumeKey(a.Volume); affected[key] {
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
		// A manifest can be changed, so it is listed before the guest that resulted from it.
		slices.SortFunc(list, func(a, b holder) int {
			return cmp.Or(cmp.Compare(b.at.Origin.Line, a.at.Origin.Line), cmp.Compare(a.String(), b.String()))
		})
	}
	return h
}

// affectedVolumes returns the keys of the volumes that a plan may destroy, or attach to a guest although another vmid is in their name.
func affectedVolumes(want Desired, got cluster.Snapshot) map[string]bool {
	affected := make(map[string]bool)
	named := make(map[int]bool, len(want.Guests))
	for i := range want.Guests {
		d := &want.Guests[i]
		named[d.VMID] = true
		for _, a := range guest.WantedAttachments(*d) {
			if owner, ok := guest.VolumeOwner(a.Volume); ok && owner != d.VMID {
				affected[guest.VolumeKey(a.Volume)] = true
			}
		}
		for _, volume := range formerlyAttached(want, d, got) {
			affected[guest.VolumeKey(volume)] = true
		}
	}
	for vmid := range want.Owned {
		if live, seen := got.Guests[vmid]; seen && !named[vmid] {
			for _, volume := range guest.Volumes(live) {
				if _, owned := guest.VolumeOwner(volume); owned { // Proxmox frees only these
					affected[guest.VolumeKey(volume)] = true
				}
			}
		}
	}
	return affected
}

// otherHolder returns a holder of the volume other than the guest vmid, and whether there is one.
func (h holders) otherHolder(vmid int, volume string) (holder, bool) {
	for _, by := range h.by[guest.VolumeKey(volume)] {
		if by.ref.VMID != vmid {
			return by, true
		}
	}
	return holder{}, false
}

// destroyBlockedBy returns the condition that blocks destroying a guest while other holders name its volumes, or nil.
func (h holders) destroyBlockedBy(live guest.Observed) *Condition {
	volumes := guest.Volumes(live)
	if h.unread && len(volumes) > 0 {
		return &Condition{Type: NotObserved, Reason: reason.NotObserved, Message: "it was not checked yet whether another guest uses its volumes"}
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
		Type: Blocked, Reason: reason.InUse, Message: "it is not destroyed, since its volumes would be destroyed too: " + strings.Join(words, "; "),
		Hint: reason.FreeVolume.Text,
	}
}

// attachBlockedBy returns why a volume must not be attached to a guest, or "". A volume is blocked if another vmid is in its name and a slot of
// another guest contains it.
func (h holders) attachBlockedBy(vmid int, volume string) string {
	if owner, ok := guest.VolumeOwner(volume); !ok || owner == vmid {
		return ""
	}
	if h.unread {
		return volume + " may be in use: the other guests were not read yet"
	}
	for _, by := range h.by[guest.VolumeKey(volume)] {
		if by.ref.VMID != vmid && by.at.Origin == (guest.Origin{}) && !by.at.IsUnused() {
			return fmt.Sprintf("%s is still in use by %s", volume, by)
		}
	}
	return ""
}

// blockTakenVolumes marks changes as impossible that attach a volume of another guest, or one that is still in another slot of the guest: in two slots, the guest
// would write to it twice.
func (h holders) blockTakenVolumes(changes []guest.Change, live guest.Observed) []guest.Change {
	out := slices.Clone(changes)
	for i := range out {
		if volume := guest.AddedVolume(live, out[i]); volume != "" {
			if why := h.attachBlockedBy(live.VMID, volume); why != "" {
				out[i].Class, out[i].Write, out[i].Note = guest.Impossible, guest.WriteNone, why+": detach it from that guest first"
			} else if slot := otherSlot(live, out[i].Key, volume); slot != "" {
				out[i].Class, out[i].Write = guest.Impossible, guest.WriteNone
				out[i].Note = fmt.Sprintf("%s is still in %s: it is attached when it has left that slot, which takes %s: {absent: true}", volume, slot, slot)
			}
		}
	}
	return out
}

// otherSlot returns another slot of a guest that contains a volume, now or after the next start, "" if there is none.
func otherSlot(live guest.Observed, key, volume string) string {
	if _, owned := guest.VolumeOwner(volume); !owned { // such as an ISO image, which several drives may contain
		return ""
	}
	var slots []string
	for _, a := range guest.LiveAttachments(live) {
		if a.Key != key && !a.IsUnused() && guest.VolumeKey(a.Volume) == guest.VolumeKey(volume) {
			slots = append(slots, a.Key)
		}
	}
	if len(slots) == 0 {
		return ""
	}
	return slices.Min(slots)
}

// createBlockedBy returns the condition that blocks creating a guest with a volume that another guest uses, or nil.
func (h holders) createBlockedBy(d *guest.Desired, remembered map[int]journal.Guarded) *Condition {
	for _, a := range guest.WantedAttachments(*d) {
		if loss, isLoss := h.takenFromGuarded(d, a, remembered); isLoss {
			return &Condition{
				Type: Blocked, Reason: reason.InUse, Message: fmt.Sprintf("%s: %s is an unused volume of %s, whose guard %s stands for its data", a.Key, a.Volume, loss.Guest, loss.Field),
				Hint: reason.AttachLater.Text,
			}
		}
		if why := h.attachBlockedBy(d.VMID, a.Volume); why != "" {
			return &Condition{Type: Blocked, Reason: reason.InUse, Message: a.Key + ": " + why, Hint: reason.DetachVolume.Text}
		}
	}
	return nil
}
