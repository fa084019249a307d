package plan

import (
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
)

// withTakenVolumes adds what steps take from other guests: a volume that another guest has as an unused one, and that a step attaches to this one. This guest then writes to it, moves it
// or deletes it. For a guest whose guards stand for its data, that needs an approval. No guest is created with such a volume: the approval names what the guest is.
func withTakenVolumes(p Guest, want Desired, d *guest.Desired, got cluster.Snapshot, volumes holders) Guest {
	for _, a := range guest.WantedAttachments(*d) {
		if slices.Contains(guest.VolumesInSlot(got.Guests[d.VMID], a.Key), a.Volume) {
			continue
		}
		loss, isLoss := volumes.takenFromGuarded(d, a, want.Remembered)
		for i := range p.Steps {
			if isLoss && attaches(&p.Steps[i], a.Key) {
				p.Steps[i].Loses = append(p.Steps[i].Loses, loss)
			}
		}
	}
	return p
}

// takenFromGuarded returns what another guest loses if a guest attaches a volume, and whether it loses anything.
func (h holders) takenFromGuarded(d *guest.Desired, a guest.Attachment, remembered map[int]journal.Guarded) (loss kind.Weakening, isLoss bool) {
	for _, by := range h.by[guest.VolumeKey(a.Volume)] {
		g := remembered[by.ref.VMID]
		if field := guardOfData(g); by.ref.VMID != d.VMID && by.at.IsUnused() && field != "" {
			of := guest.Ref{Kind: guest.Kind(g.Kind), Name: g.Name, VMID: by.ref.VMID}
			return kind.Weakening{Guest: of, Field: field, Old: a.Volume + " of this guest alone", New: "also of " + d.Label() + " as " + a.Key}, true
		}
	}
	return kind.Weakening{}, false
}

// guardOfData returns the guard in force that stands for the data of a guest, "" if none does.
func guardOfData(g journal.Guarded) guest.GuardField {
	switch {
	case g.Rules.Protection == string(guest.ProtectionOn):
		return guest.GuardProtection
	case g.Destroy == string(guest.Deny):
		return guest.GuardDestroy
	case g.Rules.Backup != "":
		return guest.GuardBackup
	}
	return ""
}

// attaches reports whether a step writes a slot of a drive.
func attaches(step *Step, slot string) bool {
	return slices.ContainsFunc(step.Calls, func(call cluster.Call) bool {
		_, writes := call.Params[slot]
		return writes && call.Op == cluster.OpConfig
	})
}
