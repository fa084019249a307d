package gate

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/policy"
	"gitops-agent/verify/role"
	"gitops-agent/verify/scope"
)

// reach is everything that a step reaches: what the digest names that an approval contains. An approval counts only if the scope of its signer covers all of it.
type reach struct {
	things []reached
	policy string // name of the policy of the repository that the step makes looser; "" for none
	whole  string // what belongs to the whole cluster; "" for nothing
}

// reached is a guest, an Image or an object that a step reaches.
type reached struct {
	ref   guest.Ref
	also  []string // other labels under which the journal knows it
	files []string // of its manifest; none, or "" among them, if they are not known
	held  bool     // it is a guest that exists, or existed: its label proves nothing about it
}

// reachOf returns what a step reaches.
func (s Scope) reachOf(step plan.Step) reach {
	if step.Weakens != nil {
		return s.reachOfWeakening(step.Weakens)
	}
	r := reach{things: []reached{s.target(step)}}
	for _, w := range step.Loses {
		r.things = append(r.things, s.reachedGuest(w.Guest))
	}
	if step.Object != nil {
		s.addReached(&r, step.Object.Reaches)
	}
	if step.Object != nil && step.Object.Whole != nil {
		for _, ref := range step.Object.Whole.Concerns {
			r.things = append(r.things, s.reachedGuest(ref))
		}
	}
	return r
}

// addReached adds what an object reaches.
func (s Scope) addReached(r *reach, keys []object.Key) {
	byVMID := func(vmid int) {
		ref := guest.Ref{VMID: vmid}
		if owned, isOwned := s.Owned[vmid]; isOwned {
			ref.Kind, ref.Name = guest.Kind(owned.Kind), owned.Name
		} else if i := slices.IndexFunc(s.Guests, func(d guest.Desired) bool { return d.VMID == vmid }); i >= 0 {
			ref = s.Guests[i].Ref
		}
		r.things = append(r.things, s.reachedGuest(ref))
	}
	for _, to := range keys {
		switch {
		case to == edge.Everything:
			r.whole = to.Label
		case to.VMID != 0:
			byVMID(to.VMID)
		default:
			for _, row := range s.Inventory.Rows {
				if row.Pool == edge.ID(to) {
					byVMID(row.VMID)
				}
			}
		}
	}
}

// reachOfWeakening returns what a weaker guard reaches. A policy of the repository applies to everything in its reach. Other guards without guests belong to the Cluster.
func (s Scope) reachOfWeakening(w *guard.Weakening) reach {
	if name, is := guard.PolicyOf(w.Field); is {
		return reach{policy: name}
	}
	if len(w.Guests) == 0 {
		return reach{whole: string(w.Field)}
	}
	var r reach
	for _, o := range w.Guests {
		r.things = append(r.things, s.reachedGuest(o.Ref))
	}
	return r
}

// target returns what a step is about.
func (s Scope) target(step plan.Step) reached {
	switch {
	case step.Object != nil:
		owned := s.Objects[journal.ObjectID{Kind: string(step.Guest.Kind), ID: step.Object.ID}]
		t := reached{ref: step.Guest, files: filesOf(step.File, owned.File)}
		if owned.Name != "" {
			t.also = append(t.also, refOf(owned).Label())
		}
		return t
	case step.Op.IsAboutFile():
		recorded := ""
		if step.Former != nil {
			recorded = step.Former.File
		}
		return reached{ref: step.Guest, files: filesOf(step.File, recorded)}
	}
	t := s.reachedGuest(step.Guest)
	if step.GoneVMID != 0 { // it takes the place of this guest, with the guards that stand for its data
		gone := s.Guarded[step.GoneVMID]
		t.also, t.files = append(t.also, gone.Kind+"/"+gone.Name), append(t.files, gone.File)
	}
	_, isOwned := s.Owned[step.Guest.VMID]
	t.held = isOwned || step.Op != cluster.OpCreate // the plan creates no guest under a vmid that is taken
	return t
}

// reachedGuest returns a guest with the file of its manifest, or of the last one that it had. Files that it left count too while policies there still apply to it.
func (s Scope) reachedGuest(ref guest.Ref) reached {
	remembered := s.Guarded[ref.VMID]
	t := reached{ref: ref, held: !remembered.Gone}
	if remembered.Name != "" {
		t.also = append(t.also, remembered.Kind+"/"+remembered.Name)
	}
	file := ""
	if i := slices.IndexFunc(s.Guests, func(d guest.Desired) bool { return policyKey(d.Ref) == policyKey(ref) }); i >= 0 {
		file = s.Guests[i].Origin.File
	}
	t.files = filesOf(file, remembered.File)
	if len(t.files) > 0 {
		for _, p := range s.Left[ref.VMID] {
			t.files = append(t.files, p.File)
			if p.Label != "" {
				t.also = append(t.also, p.Label)
			}
		}
	}
	return t
}

// filesOf returns the file of a manifest and the recorded file of the last manifest, without those that are "" because they are not known. Both count: a rollout may hold the
// guest to an earlier revision, and a signer who may not change the recorded file may have brought the manifest into another file.
func filesOf(file, recorded string) []string {
	files := slices.DeleteFunc([]string{file, recorded}, func(f string) bool { return f == "" })
	return slices.Compact(files)
}

// signature is who signed an approval or an order, with the scope that the entry in the trust policy had when it was accepted.
type signature struct {
	role          string // that it takes
	signer, entry string // the entry is "" if an older release recorded the order
	proven        time.Time
	guests, paths []string
}

// outside returns why the scope of a signer does not cover a reach, "" if it does. The scope of the signer's entry at the acceptance and the scope of the present entry must both cover
// it. The present entry must also have the role, and contain the proven time: a signer who may not approve any more covers nothing. An approval of an older release has no entry and no scope: each present entry with the name of the signer must cover the reach, and each entry of the policy if the name is
// not known either.
func (s Scope) outside(by signature, r reach) string {
	accepted := Limit{Name: by.signer, Guests: by.guests, Paths: by.paths}
	if s.Limits == nil {
		return s.uncovered(accepted, r)
	}
	if by.entry == "" {
		return s.outsideOfAll(by, r)
	}
	present := s.Limits[by.entry]
	if len(present) == 0 {
		return fmt.Sprintf("trust.signers has no entry of the signer %s any more", by.signer)
	}
	var why string
	for _, l := range present {
		if revoked := by.revoked(l); revoked != "" {
			why = cmp.Or(why, revoked)
			continue
		}
		accepted.VMIDs = append(accepted.VMIDs, l.VMIDs...)
		if why = s.uncovered(l, r); why == "" {
			return s.uncovered(accepted, r)
		}
	}
	return why
}

// revoked returns why a present entry of the signer does not stand behind the signature any more, "" if it does.
func (by signature) revoked(l Limit) string {
	switch {
	case !l.trusts(by.proven):
		return fmt.Sprintf("the entry %s of trust.signers does not trust what was signed at %s", l.Name, by.proven.UTC().Format(time.RFC3339))
	case !slices.Contains(l.May, by.role):
		return role.Missing(l.Name, l.May, by.role)
	}
	return ""
}

// outsideOfAll is outside for an order without an entry.
func (s Scope) outsideOfAll(by signature, r reach) string {
	found := false
	for _, entry := range slices.Sorted(maps.Keys(s.Limits)) { // in order, so that the reason stays the same
		for _, l := range s.Limits[entry] {
			if by.signer != "" && l.Name != by.signer {
				continue
			}
			found = true
			if why := cmp.Or(by.revoked(l), s.uncovered(l, r)); why != "" {
				return why
			}
		}
	}
	if !found {
		return fmt.Sprintf("trust.signers has no entry of the signer %s any more", cmp.Or(by.signer, "who signed it"))
	}
	return ""
}

// uncovered returns why a limit does not cover a reach, "" if it does. A limit without guests and paths covers everything.
func (s Scope) uncovered(l Limit, r reach) string {
	if !l.isScoped() {
		return ""
	}
	if r.whole != "" {
		return fmt.Sprintf("%s belongs to the whole cluster, and the entry %s of trust.signers has guests or paths", r.whole, l.Name)
	}
	if r.policy != "" {
		return s.uncoveredPolicy(l, r.policy)
	}
	for _, t := range r.things {
		if why := s.uncoveredThing(l, t); why != "" {
			return why
		}
	}
	return ""
}

// isScoped reports whether a limit has guests or paths.
func (l Limit) isScoped() bool { return len(l.Guests)+len(l.Paths) > 0 }

func (s Scope) uncoveredThing(l Limit, t reached) string {
	if len(t.files) == 0 || slices.Contains(t.files, "") || slices.Contains(t.files, journal.UnknownFile) {
		return fmt.Sprintf("the file of the last manifest of %s is not known, and the entry %s of trust.signers has guests or paths", t.ref, l.Name)
	}
	for _, file := range t.files {
		if !scope.HasPath(l.Paths, file) {
			return fmt.Sprintf("signer %s may not change %s, which is or was the file of %s", l.Name, file, t.ref.Label())
		}
	}
	if len(l.Guests) == 0 {
		return ""
	}
	named := l.names(t.ref.Label()) && !slices.ContainsFunc(t.also, func(label string) bool { return !l.names(label) })
	switch {
	case t.ref.VMID == 0 && !named:
		return fmt.Sprintf("signer %s may not touch %s", l.Name, t.ref.Label())
	case !named, t.held && !s.mayTouch(author{limits: []Limit{l}}, t.ref, t.ref.VMID):
		return fmt.Sprintf("signer %s may not touch %s, %s", l.Name, t.ref.Label(), s.describe(t.ref.VMID))
	}
	return ""
}

// uncoveredPolicy is uncovered for a policy of the repository. The policy applies in and below its folder, to what all signers who introduced it may change.
func (s Scope) uncoveredPolicy(l Limit, name string) string {
	rule, known := s.Policies[name]
	label := string(policy.Kind) + "/" + name
	applies := policy.Reach{Folder: path.Dir(rule.File)}
	if applies.Folder != "." {
		applies.Signers = append(applies.Signers, policy.Signer{Paths: []string{applies.Folder}})
	}
	for _, by := range rule.By {
		applies.Signers = append(applies.Signers, policy.Signer{Paths: by.Paths}, policy.Signer{Guests: by.Guests})
	}
	covered := policy.Reach{Folder: ".", Signers: []policy.Signer{{Paths: l.Paths}, {Guests: l.Guests}}}
	if !known || len(l.Guests) > 0 && !l.names(label) || !covered.Includes(&applies) {
		return fmt.Sprintf("%s applies to more than the entry %s of trust.signers covers", label, l.Name)
	}
	return ""
}

// Order returns why the signer of an order may not give it for some guests, "" if the signer may.
func (s Scope) Order(o journal.Ordered, guests ...guest.Ref) string {
	var r reach
	for _, ref := range guests {
		r.things = append(r.things, s.reachedGuest(ref))
	}
	return s.outside(signature{"operate", o.Signer, o.Entry, o.ProvenTime, o.Guests, o.Paths}, r)
}

// Recovery returns why an approval of the recovery of lost records does not count, "" if it does. The files of the last manifests of the guests are among what was lost.
func (s Scope) Recovery(a Approval) string {
	return s.outside(a.signature(), reach{whole: "the recovery of lost records"})
}
