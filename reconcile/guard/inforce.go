package guard

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// Of returns the guards that a manifest asks for.
func Of(d *guest.Desired) journal.Guarded {
	l := &d.Lifecycle
	g := journal.Guarded{
		VMID: d.VMID, Kind: string(d.Kind), Name: d.Name, File: d.Origin.File,
		Destroy: string(cmp.Or(l.Destroy, guest.Approve)), Recreate: string(cmp.Or(l.Recreate, guest.Approve)),
		Rules: journal.GuardRules{
			RebootPolicy: string(cmp.Or(l.RebootPolicy, guest.RebootNever)), Window: l.Window,
			ShutdownSeconds: int(cmp.Or(max(l.ShutdownTimeout, 0), guest.DefaultShutdownTimeout).Seconds()),
			ForceStop:       l.ForceStop, Suspended: suspensionOf(d.Suspend),
			DependsOn: strings.Join(slices.Sorted(slices.Values(d.DependsOn)), " "),
		},
	}
	if p := d.WantedProtection(); p != guest.ProtectionUnmanaged {
		g.Rules.Protection = string(p)
	}
	g.Rules.RecreateDefault = d.SetAt(guest.GuardRecreate) == (guest.Origin{})
	if d.Observe {
		g.Rules.Mode = modeObserve
	}
	if d.Adopt {
		g.Rules.Adopt = adoptIfUnmanaged
	}
	if d.Backup {
		g.Rules.Backup = backupRequired
	}
	g.Rules.Firewall, g.Rules.Rollout = d.FirewallGuard(), d.Rollout.Encode()
	return g
}

// InForce returns the guards of a guest in the journal. A guest that the agent never owned has none: false. An adopted guest whose guards were
// recorded before the adoption is not destroyed without an approval.
func InForce(state journal.State, vmid int) (journal.Guarded, bool) {
	g := state.Guarded[vmid]
	owned, isOwned := state.Owned[vmid]
	switch {
	case !isOwned:
		return g, g.Gone
	case g.VMID == 0: // ownership without guards counts as approve
		g = journal.Guarded{VMID: vmid, Kind: owned.Kind, Name: owned.Name, Destroy: string(guest.Approve), Recreate: string(guest.Approve)}
	case g.Identity != owned.Identity && owned.Origin != journal.Created && isComplete(g):
		g = withApprovals(g, owned.Origin)
	}
	g.Identity = owned.Identity
	if owned.Claiming && owned.Origin == journal.Created {
		g.Rules.Adopt = adoptIfUnmanaged // the guest was not made yet: another one may have its vmid, and a manifest may ask for that one
	}
	return g, true
}

// isComplete reports whether a record has all guards. Older releases recorded Destroy and Recreate only, and the oldest only Destroy.
func isComplete(g journal.Guarded) bool { return g.Rules.RebootPolicy != "" }

// completed returns the guards in force of a guest whose record an older release wrote: what the record lacks is as the manifest wants it. Older
// releases recorded approve instead of allow for a guest that its manifest keeps from being changed.
func completed(now, want journal.Guarded) journal.Guarded {
	if isComplete(now) {
		return now
	}
	moved := now.Rules.MovedTo
	now.Rules, now.Recreate = want.Rules, cmp.Or(now.Recreate, want.Recreate)
	now.Rules.MovedTo = moved
	if now.Destroy == string(guest.Approve) && want.Destroy == string(guest.Allow) && isResting(want) {
		now.Destroy = want.Destroy
	}
	return now
}

// IsSuspended reports whether a suspension is in force at a time.
func IsSuspended(g journal.Guarded, at time.Time) bool {
	end := suspendedUntil(g.Rules.Suspended)
	return g.Rules.Suspended != "" && (end.IsZero() || at.Before(end))
}

// isResting reports whether a manifest keeps the agent from changing the guest.
func isResting(g journal.Guarded) bool { return g.Rules.Mode == modeObserve || g.Rules.Suspended != "" }

// Accept returns the guards of a guest that the journal records with the acceptance of a revision: the stronger ones of its manifest and of those in
// force.
func Accept(d *guest.Desired, state journal.State, at time.Time) journal.Guarded {
	want := Of(d)
	now, known := InForce(state, d.VMID)
	if !known {
		return want
	}
	return strengthen(want, completed(now, want), at)
}

// Resume returns the guards of a guest that the journal records when the revision in force is resumed. If an older release wrote the record, or
// none, the guards of this revision are in force: an upgrade of the agent holds nothing.
func Resume(d *guest.Desired, state journal.State, at time.Time) journal.Guarded {
	if g := state.Guarded[d.VMID]; isComplete(g) {
		return Accept(d, state, at)
	}
	want := Of(d)
	want.Identity = state.Owned[d.VMID].Identity
	return want
}

// Begin returns the guards of a guest that the agent begins to own, with its new identity: those of its manifest. A guest that is adopted or
// recovered begins with destroy: approve and its own protection, whatever its manifest allows, and a recovered one also with recreate: approve. A guest that is created again keeps the guards in force.
func Begin(d *guest.Desired, owned journal.Owned, live guest.Observed, state journal.State, at time.Time) journal.Guarded {
	next := Of(d)
	switch {
	case owned.Origin != journal.Created:
		next = withApprovals(next, owned.Origin)
		if live.IsProtected() && next.Rules.Protection == string(guest.ProtectionOff) {
			next.Rules.Protection = string(guest.ProtectionOn)
		}
	default:
		if now, known := InForce(state, d.VMID); known {
			next = strengthen(next, completed(now, next), at)
		}
	}
	next.Identity, next.Gone, next.Rules.MovedTo = owned.Identity, false, 0
	return next
}

// withApprovals returns the guards of a guest that the agent did not create, as far as it knows: it is not destroyed without an approval, and a guest
// whose record was lost is not created again without one either.
func withApprovals(g journal.Guarded, origin journal.Origin) journal.Guarded {
	if g.Destroy == string(guest.Allow) {
		g.Destroy = string(guest.Approve)
	}
	if g.Recreate == string(guest.Allow) && origin == journal.Recovered {
		g.Recreate = string(guest.Approve)
	}
	return g
}

// strengthen returns the guards of want, except for those that are weaker than the ones in force.
func strengthen(want, now journal.Guarded, at time.Time) journal.Guarded {
	next := want
	next.Identity, next.Gone, next.Rules.MovedTo = now.Identity, now.Gone, now.Rules.MovedTo
	for _, f := range fields {
		if f.isWeaker(&want, &now, at) {
			f.take(&next, &now)
		}
	}
	next.Rules.ProtectionLifted = now.Rules.ProtectionLifted && next.Rules.Protection == string(guest.ProtectionOff)
	return next
}

// GoneGuests are the records of guests that vanished after their manifests were removed, and that the agent did not destroy. They are sorted by
// vmid, and few.
type GoneGuests []journal.Guarded

// Gone returns these records of the journal's.
func Gone(records map[int]journal.Guarded) GoneGuests {
	var list GoneGuests
	for _, g := range records {
		if g.Gone {
			list = append(list, g)
		}
	}
	slices.SortFunc(list, func(a, b journal.Guarded) int { return a.VMID - b.VMID })
	return list
}

// As returns the guest as which a manifest's guest would be created again: the one of its vmid, or the one of its label with another vmid.
func (list GoneGuests) As(ref guest.Ref) (journal.Guarded, bool) {
	for _, isSame := range []func(journal.Guarded) bool{
		func(g journal.Guarded) bool { return g.VMID == ref.VMID },
		func(g journal.Guarded) bool { return g.Name == ref.Name && g.Kind == string(ref.Kind) },
	} {
		if at := slices.IndexFunc(list, isSame); at >= 0 {
			return list[at], true
		}
	}
	return journal.Guarded{}, false
}

// Keep returns the record that keeps the guards of a guest that vanished without the agent, and whether they must be kept: only if an approval is
// needed to create the guest again. A guest that was never completed has nothing to lose.
func Keep(state journal.State, vmid int) (journal.Guarded, bool) {
	now, known := InForce(state, vmid)
	permission := recreate(now)
	if !known || state.Owned[vmid].Claiming || permission == guest.Allow {
		return journal.Guarded{}, false
	}
	now.Gone, now.Recreate = true, string(permission)
	return now, true
}

// Destroy returns whether an owned guest that no manifest names may be destroyed. If its last manifest kept the agent from changing the guest, then
// removing the manifest does not allow that either, so allow becomes approve. The same holds if it required backups: the next guest with the vmid may prune them.
func Destroy(g journal.Guarded, m Minimum) guest.Permission {
	permission := guest.Permission(g.Destroy)
	if permission == guest.Allow && (isResting(g) || g.Rules.Backup != "") {
		permission = guest.Approve
	}
	return stronger(permission, m.Destroy)
}

// DestroyObject returns whether an owned object that is no guest may be removed when no manifest describes it. Recorded is the strongest permission of its
// manifests, "" if none was stated.
func DestroyObject(recorded guest.Permission, m Minimum) guest.Permission {
	return stronger(cmp.Or(recorded, guest.Approve), m.Destroy)
}

// IsProtectionLifted reports whether approvals put protection: off into force, and the flag was not written since.
func IsProtectionLifted(g journal.Guarded) bool {
	return g.Rules.ProtectionLifted && g.Rules.Protection == string(guest.ProtectionOff)
}

// ProtectionWritten returns the record of a guest after its protection flag was seen off: the approvals are used up, and the same flag set by
// somebody else later needs new ones.
func ProtectionWritten(g journal.Guarded) journal.Guarded {
	g.Rules.ProtectionLifted = false
	return g
}
