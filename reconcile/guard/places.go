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

// places returns the files that the manifests of guests left and whose policies still apply, and adds the weakenings that would end that.
func (r *resolution) places() {
	if len(r.State.Left) == 0 {
		return
	}
	r.Left = make(map[int][]string)
	wanted := make(map[int]*guest.Desired, len(r.State.Left))
	for i := range r.Resolved.Guests {
		wanted[r.Resolved.Guests[i].VMID] = &r.Resolved.Guests[i]
	}
	for _, vmid := range slices.Sorted(maps.Keys(r.State.Left)) {
		d, files := wanted[vmid], r.State.Left[vmid]
		if d == nil {
			r.Left[vmid] = files
			continue
		}
		names := lostPolicies(r.Resolved.Policies, d.Ref, files, d.Origin.File)
		if len(names) == 0 {
			continue
		}
		r.Left[vmid] = files
		r.add(group{field: GuardPlace, old: strings.Join(names, ", "), new: "none of them in " + path.Dir(d.Origin.File)}, r.object(d))
	}
}

// lostPolicies returns the names of the policies that apply to a guest in one of some files and not in another one, sorted. The other file is "" if the guest has no
// manifest.
func lostPolicies(rules []policy.Rule, of guest.Ref, files []string, next string) []string {
	var names []string
	for _, rule := range rules {
		before, after := policy.Place{Earlier: files, Of: of}, policy.Place{File: next, Of: of}
		if rule.Mistake == "" && rule.Reach.Contains(before) && !rule.Reach.Contains(after) {
			names = append(names, rule.Name)
		}
	}
	return names
}

// AcceptPlaces returns the records of owned guests whose manifests left files with policies. Moved contains the file in which the manifest of a label was before the revision. The input is the
// revision, with the state after its other records.
func AcceptPlaces(in Input, moved map[journal.Label]string) []journal.Body {
	if len(in.State.Left) == 0 && (len(moved) == 0 || len(in.State.Policies) == 0) {
		return nil
	}
	rules := Resolve(in).Policies
	wanted := make(map[int]*guest.Desired, len(in.Guests))
	for i := range in.Guests {
		wanted[in.Guests[i].VMID] = &in.Guests[i]
	}
	var records []journal.Body
	for _, vmid := range slices.Sorted(maps.Keys(in.State.Owned)) {
		owned, left := in.State.Owned[vmid], in.State.Left[vmid]
		of, next := guest.Ref{Kind: guest.Kind(owned.Kind), Name: owned.Name, VMID: vmid}, ""
		if d := wanted[vmid]; d != nil {
			of, next = d.Ref, d.Origin.File
		}
		files := left
		if from := cmp.Or(moved[journal.Label{Kind: owned.Kind, Name: owned.Name}], moved[LabelOf(of)]); from != "" && from != next && !slices.Contains(left, from) {
			files = append(slices.Clone(left), from)
		}
		// A file that adds no policy is not kept, so that their number is bounded by that of the policies.
		var kept []string
		for _, file := range files {
			if len(lostPolicies(rules, of, append(slices.Clone(kept), file), next)) > len(lostPolicies(rules, of, kept, next)) {
				kept = append(kept, file)
			}
		}
		if !slices.Equal(kept, left) {
			records = append(records, journal.Left{VMID: vmid, Files: kept})
		}
	}
	return records
}

// LabelOf returns the label under which the journal knows the manifest of a guest or an object.
func LabelOf(ref guest.Ref) journal.Label {
	return journal.Label{Kind: string(ref.Kind), Name: ref.Name}
}
