package guard

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/policy"
)

// GuardPlace is the guard that the manifest of a guest stays where policies of the repository apply to it.
const GuardPlace guest.GuardField = "policies of its folder"

// places returns the places that the manifests of guests left and whose policies still apply, and adds the weakenings that would end that.
func (r *resolution) places() {
	if len(r.State.Left) == 0 {
		return
	}
	r.Left = make(map[int][]journal.Former)
	wanted := make(map[int]*guest.Desired, len(r.State.Left))
	for i := range r.Resolved.Guests {
		wanted[r.Resolved.Guests[i].VMID] = &r.Resolved.Guests[i]
	}
	for _, vmid := range slices.Sorted(maps.Keys(r.State.Left)) {
		d, former := wanted[vmid], r.State.Left[vmid]
		if d == nil {
			r.Left[vmid] = former
			continue
		}
		names := lostPolicies(r.Resolved.Policies, d.Ref, former, d.Origin.File)
		if len(names) == 0 {
			continue
		}
		r.Left[vmid] = former
		next := "none of them in " + path.Dir(d.Origin.File)
		if slices.ContainsFunc(former, func(f journal.Former) bool { return f.Label != "" }) {
			next += " for " + d.Label()
		}
		r.add(group{field: GuardPlace, old: strings.Join(names, ", "), new: next}, r.object(d))
	}
}

// lostPolicies returns the names of the policies that apply to a guest in one of some places and not in a file under its present label, sorted. The file is "" if the guest has no
// manifest.
func lostPolicies(rules []policy.Rule, of guest.Ref, former []journal.Former, next string) []string {
	var names []string
	for _, rule := range rules {
		before, after := policy.Place{Earlier: Earlier(former), Of: of}, policy.Place{File: next, Of: of}
		if rule.Mistake == "" && rule.Reach.Contains(before) && !rule.Reach.Contains(after) {
			names = append(names, rule.Name)
		}
	}
	return names
}

// AcceptPlaces returns the records of owned guests whose manifests left files or labels with policies. Before is the state before the revision, and moved contains the file that the manifest of a
// label left with it. The input is the revision, with the state after its other records.
func AcceptPlaces(in Input, before journal.State, moved map[journal.Label]string) []journal.Body {
	if len(in.State.Left) == 0 && len(in.State.Policies) == 0 {
		return nil
	}
	rules := Resolve(in).Policies
	wanted, fileOf := make(map[int]*guest.Desired, len(in.Guests)), maps.Clone(moved)
	if fileOf == nil {
		fileOf = make(map[journal.Label]string)
	}
	for i := range in.Guests {
		d := &in.Guests[i]
		wanted[d.VMID] = d
		if label := LabelOf(d.Ref); fileOf[label] == "" { // where a label stays, it may be of another guest
			fileOf[label] = d.Origin.File
		}
	}
	var records []journal.Body
	for _, vmid := range slices.Sorted(maps.Keys(in.State.Owned)) {
		owned, left := in.State.Owned[vmid], in.State.Left[vmid]
		of, next := guest.Ref{Kind: guest.Kind(owned.Kind), Name: owned.Name, VMID: vmid}, ""
		if d := wanted[vmid]; d != nil {
			of, next = d.Ref, d.Origin.File
		}
		places := formerPlaces(left, formerLabel(before.Guarded[vmid], owned), LabelOf(of), next, fileOf)
		// A place that adds no policy is not kept, so that their number is bounded by that of the policies.
		var kept []journal.Former
		for _, p := range places {
			if len(lostPolicies(rules, of, append(slices.Clone(kept), p), next)) > len(lostPolicies(rules, of, kept, next)) {
				kept = append(kept, p)
			}
		}
		if !slices.Equal(kept, left) {
			records = append(records, journal.LeftAt(vmid, kept))
		}
	}
	return records
}

// formerLabel returns the label that the manifest of an owned guest had when a revision was accepted last. Older releases did not record it.
func formerLabel(last journal.Guarded, owned journal.Owned) journal.Label {
	if last.Name != "" {
		return journal.Label{Kind: last.Kind, Name: last.Name}
	}
	return journal.Label{Kind: owned.Kind, Name: owned.Name}
}

// formerPlaces returns the places that a manifest left before, and the one that it leaves for a label in another file. A former place under the label that the guest had until now names that label
// from then on.
func formerPlaces(left []journal.Former, former, label journal.Label, next string, fileOf map[journal.Label]string) []journal.Former {
	places, name := slices.Clone(left), ""
	if former != label {
		name = former.Kind + "/" + former.Name
		for i, p := range places {
			places[i].Label = cmp.Or(p.Label, name)
		}
	}
	if p := (journal.Former{File: cmp.Or(fileOf[former], fileOf[label]), Label: name}); p.File != "" && p != (journal.Former{File: next}) && !slices.Contains(places, p) {
		places = append(places, p)
	}
	return places
}

// Earlier returns places of the journal for a policy.
func Earlier(former []journal.Former) []policy.Former {
	places := make([]policy.Former, len(former))
	for i, f := range former {
		places[i] = policy.Former(f)
	}
	return places
}

// LabelOf returns the label under which the journal knows the manifest of a guest or an object.
func LabelOf(ref guest.Ref) journal.Label {
	return journal.Label{Kind: string(ref.Kind), Name: ref.Name}
}
