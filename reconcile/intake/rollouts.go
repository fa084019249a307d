package intake

import (
	"context"
	"slices"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/rollout"
)

// formerTrees are the manifests of trees to which guests are held, by tree. They were accepted when they were the newest, and are read from the store.
type formerTrees map[gitsource.ID]manifest.Set

// readFormer reads the trees that are not known yet: those of guests that a rollout has not released and, if it is needed, that of the revision in force. A
// tree that cannot be read stays unknown: its guests are held without it.
func (in *Intake) readFormer(ctx context.Context, state journal.State, inForce bool) {
	next := make(formerTrees, len(in.former))
	read := func(commit, tree string) {
		id := gitsource.ID(tree)
		if _, known := next[id]; known || tree == "" {
			return
		}
		if set, known := in.former[id]; known {
			next[id] = set
			return
		}
		if a := in.force.Accepted; a.Valid() && a.revision.Tree() == id {
			next[id] = a.set
			return
		}
		set, err := LoadAccepted(ctx, in.source.Repository(), gitsource.ID(commit), id, in.scope)
		if err != nil {
			in.log.WarnContext(ctx, "revision of held guests not read, they are held as they are", "commit", commit, "error", err)
			return
		}
		next[id] = set
	}
	for _, s := range state.Staged {
		if s.Withheld() {
			read(s.Commit, s.Tree)
		}
	}
	if last := in.last(); last != nil && inForce {
		read(last.Commit, last.Tree)
	}
	in.former = next
}

// wanted returns the guests of a tree by vmid, false if the tree is not known.
func (t formerTrees) wanted(tree string, state journal.State) (map[int]guest.Desired, bool) {
	set, known := t[gitsource.ID(tree)]
	if !known {
		return nil, false
	}
	guests, err := plan.WantedGuests(set, state)
	if err != nil {
		return nil, false // a vmid went to another guest since
	}
	byVMID := make(map[int]guest.Desired, len(guests))
	for _, d := range guests {
		if d.VMID != 0 {
			byVMID[d.VMID] = d
		}
	}
	return byVMID, true
}

// released returns what the guests that a rollout has not released are held to, by vmid. A guest without an entry is held as it is.
func (t formerTrees) released(state journal.State) map[int]guest.Desired {
	var held map[int]guest.Desired
	trees := make(map[string]map[int]guest.Desired)
	for vmid, s := range state.Staged {
		if !s.Withheld() || s.Tree == "" {
			continue
		}
		guests, known := trees[s.Tree]
		if !known {
			guests, _ = t.wanted(s.Tree, state)
			trees[s.Tree] = guests
		}
		if d, found := guests[vmid]; found {
			if held == nil {
				held = make(map[int]guest.Desired)
			}
			held[vmid] = d
		}
	}
	return held
}

// newStaged returns the records of the guests that the accepted revision stages in rollouts. Guards are what is recorded with the acceptance.
func (in *Intake) newStaged(accepted Accepted, state journal.State, guards []journal.Body, fromFloor bool) []journal.Body {
	now := time.Now()
	after := guard.After(state, guards)
	input := accepted.guardInput(after, in.minimum, now)
	a := rollout.Acceptance{Commit: string(accepted.revision.Commit()), Guests: withOwnFirewalls(guard.Resolve(input).Guests, accepted.guests), State: after, Lost: fromFloor, Now: now}
	last := state.Accepted
	if last == nil && !fromFloor || !usesRollouts(a.Guests, after) {
		return nil
	}
	if !fromFloor {
		var known bool
		if a.Before, known = in.former.wanted(last.Tree, state); !known {
			a.Lost = true
		}
		a.Former = in.formerOf(a.Before, *last, state)
	}
	return rollout.Begin(a)
}

// withOwnFirewalls returns the guests with the guards in effect, but with the firewalls of their manifests. A rollout has to hold a firewall that its guard keeps from
// being opened until approvals arrive: then it is opened in all guests that are not held.
func withOwnFirewalls(guests, manifests []guest.Desired) []guest.Desired {
	var changed bool
	for i := range guests {
		d := &manifests[i]
		if guests[i].FirewallGuard() == d.FirewallGuard() {
			continue
		}
		if !changed {
			guests, changed = slices.Clone(guests), true
		}
		guests[i].Firewall, guests[i].Intents, guests[i].Ignore = d.Firewall, d.Intents, d.Ignore // the guard also keeps network cards
	}
	return guests
}

// usesRollouts reports whether a guest of the revision, or a guard in force, has a rollout.
func usesRollouts(guests []guest.Desired, state journal.State) bool {
	if slices.ContainsFunc(guests, func(d guest.Desired) bool { return d.Rollout.Name != "" }) {
		return true
	}
	for _, g := range state.Guarded {
		if g.Rules.Rollout != "" {
			return true
		}
	}
	return false
}

// formerOf returns what the owned guests of the revision in force were released for.
func (in *Intake) formerOf(before map[int]guest.Desired, last journal.Accepted, state journal.State) map[int]rollout.Former {
	held := in.former.released(state)
	former := make(map[int]rollout.Former, len(before))
	for vmid, d := range before {
		s := state.Staged[vmid]
		if !s.Withheld() {
			label := journal.Label{Kind: string(d.Kind), Name: d.Name}
			former[vmid] = rollout.Former{Desired: &d, Commit: last.Commit, Tree: last.Tree, By: state.Introduced[label].By}
			continue
		}
		f := rollout.Former{Commit: s.Commit, Tree: s.Tree, By: s.By}
		if d, known := held[vmid]; known {
			f.Desired = &d
		}
		former[vmid] = f
	}
	return former
}
