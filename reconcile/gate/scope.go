package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// Fields of a manifest that are no native keys, as in journal.Introduction.
const (
	FieldVMID     = "spec.vmid"
	FieldAdopt    = "spec.adopt"
	FieldSource   = "spec.source"
	FieldRecreate = "spec.lifecycle.recreate"

	FieldLabels    = "metadata.labels"
	FieldSnapshots = "spec.snapshots"
	FieldFolder    = "spec.folder" // of the manifest, recorded while there are policies of the repository
	FieldGuards    = "spec.guards" // of the Cluster
	AllOf          = "spec"        // of an object that is no guest, which counts as a whole
)

// Scope decides whether the signers who introduced what a step does may touch what the step touches. Names of manifests never widen a scope: a
// signer with guests may touch a guest that the source created under one of these names, or whose vmid the signer's vmids contain. Fields whose
// signer is not recorded are not limited: they were accepted before the agent recorded signers.
type Scope struct {
	Cluster    string
	Limits     Limits
	Introduced map[journal.Label]journal.Introduced
	Former     map[journal.Label][]journal.Introduction // of guests that are planned for an earlier revision than the one in force
	Owned      map[int]journal.Owned
	Assigned   map[journal.Label]int
	Attached   map[int]journal.Attached
	Inventory  cluster.Inventory
	Objects    map[journal.ObjectID]journal.OwnedObject

	// What an approval or an order reaches.
	Guests   []guest.Desired          // of manifests
	Guarded  map[int]journal.Guarded  // the last manifests of guests
	Left     map[int][]journal.Former // places that the manifests of guests left, and whose policies still apply
	Policies map[string]journal.PolicyInForce
}

// violation is something that a step touches and that a signer may not touch.
type violation struct {
	by      journal.Introduction
	field   string // that the signer wrote
	touches string // "vmid 1000, ..."
	remedy  string // the addition to the signer's entry that would allow it
}

func (v violation) verdict() Verdict {
	hint := reason.OtherSigner.With(v.field)
	if v.remedy != "" {
		hint = reason.ExtendSigner.With(v.field, v.remedy, v.by.Signer)
	}
	return held(reason.Scope, fmt.Sprintf("signer %s wrote %s in commit %.7s and may not touch %s", v.by.Signer, v.field, v.by.Commit, v.touches), hint)
}

// author is a signer with a limit who introduced a field.
type author struct {
	by     journal.Introduction
	field  string
	limits []Limit // each of them is enough
}

// introduced returns who introduced the fields of the revision that a guest is planned for.
func (s Scope) introduced(label journal.Label) journal.Introduced {
	if by, isFormer := s.Former[label]; isFormer {
		return journal.Introduced{Kind: label.Kind, Name: label.Name, By: by}
	}
	return s.Introduced[label]
}

// introducers returns who introduced fields of a label: the introductions that list a field, or else those of all fields.
func introducers(record journal.Introduced, field string) []journal.Introduction {
	var explicit, rest []journal.Introduction
	for _, by := range record.By {
		switch {
		case slices.Contains(by.Fields, field):
			explicit = append(explicit, by)
		case slices.Contains(by.Fields, journal.AllFields):
			rest = append(rest, by)
		}
	}
	if len(explicit) > 0 {
		return explicit
	}
	return rest
}

// limited returns the signers with a limit who introduced a field. A signer who had no limit at the acceptance has none later, and a signer whose
// limit was removed from the policy has none any more. The entry of a signer with a limit may be gone: the signer may then touch nothing.
func (s Scope) limited(ref guest.Ref, field string) []author {
	if s.Limits == nil {
		return nil
	}
	var list []author
	for _, by := range introducers(s.introduced(guard.LabelOf(ref)), field) {
		if !by.Limited {
			continue
		}
		limits := s.Limits[by.Entry]
		if withLimit := slices.DeleteFunc(slices.Clone(limits), func(l Limit) bool { return len(l.Guests) == 0 }); len(withLimit) > 0 || len(limits) == 0 {
			list = append(list, author{by, field, withLimit})
		}
	}
	return list
}

// mayTouch reports whether the author may touch a guest because the source owns it under a label, or because of the author's vmids.
func (s Scope) mayTouch(a author, ref guest.Ref, vmid int) bool {
	owned, isOwned := s.Owned[vmid]
	label := owned.Kind + "/" + owned.Name
	if isOwned && label == ref.Label() {
		return true
	}
	return slices.ContainsFunc(a.limits, func(l Limit) bool { return l.contains(vmid) || isOwned && l.names(label) })
}

// Guest reports whether the manifest of a guest may have the vmid of the guest: the source created or adopted the guest under this label or another
// one of the signer, the agent assigned the vmid, or the signer's vmids contain it.
func (s Scope) Guest(ref guest.Ref) bool { return s.guestViolation(ref) == nil }

func (s Scope) guestViolation(ref guest.Ref) *violation {
	for _, a := range s.chosenBy(ref) {
		if !s.mayTouch(a, ref, ref.VMID) {
			return &violation{a.by, FieldVMID, s.describe(ref.VMID), fmt.Sprintf(`vmids: ["%d"]`, ref.VMID)}
		}
	}
	return nil
}

// chosenBy returns the signers with a limit who wrote the vmid of a guest; none if the agent assigned it.
func (s Scope) chosenBy(ref guest.Ref) []author {
	if len(s.Introduced)+len(s.Former) == 0 || s.Assigned[guard.LabelOf(ref)] == ref.VMID || ref.VMID == 0 {
		return nil
	}
	return s.limited(ref, FieldVMID)
}

// describe returns a vmid with what is known of its guest.
func (s Scope) describe(vmid int) string {
	if owned, isOwned := s.Owned[vmid]; isOwned {
		return fmt.Sprintf("vmid %d, which belongs to %s/%s", vmid, owned.Kind, owned.Name)
	}
	return fmt.Sprintf("vmid %d, which the source did not create", vmid)
}

// Judge holds a step that touches what its signers may not touch.
func (s Scope) Judge(step plan.Step) Verdict {
	if step.Order != nil && step.Order.Scheduled == nil {
		if why := s.Order(step.Order.Ordered, step.Guest); why != "" {
			return held(reason.Scope, why, reason.ExtendOrderSigner.With(step.Order.Signer))
		}
		return Verdict{}
	}
	if v := s.step(step); v != nil {
		return v.verdict()
	}
	return Verdict{}
}

// step returns what a step touches and its signers may not touch, or nil.
func (s Scope) step(step plan.Step) *violation {
	if len(s.Introduced)+len(s.Former) == 0 || s.Limits == nil || step.Op.IsAboutFile() {
		return nil // the label of an Image is compared when its revision is accepted; a download touches nothing that exists, and a deletion a file that was downloaded for the label
	}
	if step.Op.IsObject() {
		return s.objectViolation(step)
	}
	_, isOwned := s.Owned[step.Guest.VMID]
	free := step.Op == cluster.OpCreate && !isOwned // the source creates the guest: the plan creates none under a vmid that is taken
	if v := s.guestViolation(step.Guest); v != nil && !free {
		return v
	}
	if step.TakesOwnership && step.Op != cluster.OpCreate {
		if v := s.adoptionViolation(step.Guest); v != nil {
			return v
		}
	}
	for _, call := range step.Calls {
		if v := s.cloneViolation(step.Guest, call); v != nil {
			return v
		}
		if call.Op != cluster.OpCreate && call.Op != cluster.OpConfig {
			continue
		}
		for _, r := range guest.Mentions(call.Kind, call.Params) {
			if v := s.mentionViolation(step, r); v != nil {
				return v
			}
		}
	}
	return nil
}

// objectViolation checks the adoption of an object that is no guest. Its label was compared when the revision was accepted; but any label may name the id of
// an object that exists, so only a signer without guests may adopt one.
func (s Scope) objectViolation(step plan.Step) *violation {
	owned, isOwned := s.Objects[journal.ObjectID{Kind: string(step.Guest.Kind), ID: step.Object.ID}]
	adopts := step.TakesOwnership && step.Op != cluster.OpObjectAdd
	for _, a := range s.limited(step.Guest, FieldAdopt) {
		switch before := refOf(owned).Label(); {
		case adopts:
			return &violation{a.by, FieldAdopt, fmt.Sprintf("%s %s, which the source did not create", step.Guest.Kind, step.Object.ID), ""}
		case isOwned && before != step.Guest.Label() && !slices.ContainsFunc(a.limits, func(l Limit) bool { return l.names(before) }):
			return &violation{a.by, "spec.id", before, ""}
		}
		for _, to := range step.Object.Reaches {
			if v := s.reachViolation(a, step.Guest, to); v != nil {
				return v
			}
		}
	}
	return nil
}

// reachViolation checks a guest, a pool or edge.Everything that an object of an author reaches. A pool needs a name of the author's and no guest of others: who puts a guest into it later
// does not change the object.
func (s Scope) reachViolation(a author, ref guest.Ref, to object.Key) *violation {
	name := string(ref.Kind) + " " + ref.Name
	if to == edge.Everything {
		return &violation{a.by, AllOf, "every guest, which " + name + " reaches", ""}
	}
	if to.VMID != 0 {
		return s.reachedGuestViolation(a, ref, to.VMID)
	}
	pool := s.Objects[journal.ObjectID{Kind: to.Kind(), ID: edge.ID(to)}]
	if label := to.Kind() + "/" + cmp.Or(pool.Name, edge.ID(to)); !slices.ContainsFunc(a.limits, func(l Limit) bool { return l.names(label) }) {
		return &violation{a.by, AllOf, label + ", whose guests " + name + " reaches", ""}
	}
	for _, row := range s.Inventory.Rows {
		if row.Pool != edge.ID(to) {
			continue
		}
		if v := s.reachedGuestViolation(a, ref, row.VMID); v != nil {
			return v
		}
	}
	return nil
}

func (s Scope) reachedGuestViolation(a author, ref guest.Ref, vmid int) *violation {
	if s.mayTouch(a, ref, vmid) {
		return nil
	}
	_, exists := s.Inventory.Row(vmid)
	i := slices.IndexFunc(s.Guests, func(d guest.Desired) bool { return d.VMID == vmid })
	if _, isOwned := s.Owned[vmid]; !exists && !isOwned && i >= 0 && slices.ContainsFunc(a.limits, func(l Limit) bool { return l.names(s.Guests[i].Label()) }) {
		return nil // the source is to create it
	}
	return &violation{a.by, AllOf, s.describe(vmid) + fmt.Sprintf(", and which %s %s reaches", ref.Kind, ref.Name), fmt.Sprintf(`vmids: ["%d"]`, vmid)}
}

// Object reports whether the manifest with a label may have an object that is recorded under another one.
func (s Scope) Object(owned journal.OwnedObject, now guest.Ref) bool {
	return s.objectViolation(plan.Step{Guest: now, Op: cluster.OpObjectSet, Object: &plan.ObjectStep{ID: owned.ID}}) == nil
}

func refOf(owned journal.OwnedObject) guest.Ref {
	return guest.Ref{Kind: guest.Kind(owned.Kind), Name: owned.Name}
}

// adoptionViolation checks a guest that exists and that the source did not create. Neither an assigned vmid nor a record of ownership proves anything
// here: another client took the vmid before the agent could create its guest.
func (s Scope) adoptionViolation(ref guest.Ref) *violation {
	for _, field := range []string{FieldVMID, FieldAdopt} {
		for _, a := range s.limited(ref, field) {
			if !slices.ContainsFunc(a.limits, func(l Limit) bool { return l.contains(ref.VMID) }) {
				return &violation{a.by, field, fmt.Sprintf("vmid %d, which the source did not create", ref.VMID), fmt.Sprintf(`vmids: ["%d"]`, ref.VMID)}
			}
		}
	}
	return nil
}

func (s Scope) cloneViolation(ref guest.Ref, call cluster.Call) *violation {
	if call.CloneOf == 0 {
		return nil
	}
	for _, a := range s.limited(ref, FieldSource) {
		if s.mayClone(a, ref, call.CloneOf, true) {
			continue
		}
		v := &violation{a.by, FieldSource, s.describe(call.CloneOf) + " and is not a template", fmt.Sprintf(`vmids: ["%d"]`, call.CloneOf)}
		if slices.ContainsFunc(a.limits, func(l Limit) bool { return len(l.Sources) > 0 }) {
			v.touches, v.remedy = fmt.Sprintf("guest %d, which the signer's sources do not list", call.CloneOf), fmt.Sprintf(`sources: ["%d"]`, call.CloneOf)
		}
		return v
	}
	return nil
}

// mayClone reports whether an author may clone a guest. Templates says whether a template may be cloned because it is one.
func (s Scope) mayClone(a author, ref guest.Ref, vmid int, templates bool) bool {
	row, _ := s.Inventory.Row(vmid)
	row.Template = row.Template && templates
	return slices.ContainsFunc(a.limits, func(l Limit) bool {
		if len(l.Sources) > 0 {
			return l.listsTemplate(row) || l.listsVMID(vmid)
		}
		return row.Template || s.mayTouch(author{limits: []Limit{l}}, ref, vmid)
	})
}

// NeedsTemplate returns the guest that a step may clone only because it is a template, or a template with a certain name, or 0.
func (s Scope) NeedsTemplate(step plan.Step) int {
	for _, call := range step.Calls {
		for _, a := range s.limited(step.Guest, FieldSource) {
			if call.CloneOf != 0 && !s.mayClone(a, step.Guest, call.CloneOf, false) {
				return call.CloneOf
			}
		}
	}
	return 0
}

// mentionViolation checks a volume or another thing that a call names. What a slot names already is not introduced by the step.
func (s Scope) mentionViolation(step plan.Step, r guest.Mention) *violation {
	if slices.ContainsFunc(step.Changes, func(c guest.Change) bool { return c.Key == r.Key && guest.InSlot(c.From, r.Name) }) {
		return nil
	}
	for _, field := range fieldsOf(r) {
		for _, a := range s.limited(step.Guest, field) {
			if !slices.ContainsFunc(a.limits, func(l Limit) bool { return s.mayUse(l, step.Guest, r) }) {
				return &violation{a.by, field, r.Name + ownersText(r.Name), remedyFor(r, a.limits)}
			}
		}
	}
	return nil
}

// fieldsOf returns the fields of the manifest that a reference follows from.
func fieldsOf(r guest.Mention) []string {
	switch {
	case r.Key == "archive", r.Key == "ostemplate":
		return []string{FieldSource}
	case r.Use == guest.Import, r.Use == guest.HostDir:
		return []string{FieldSource, r.Key}
	}
	return []string{r.Key}
}

// mayUse reports whether a limit allows what a call names.
func (s Scope) mayUse(l Limit, ref guest.Ref, r guest.Mention) bool {
	owners := guest.VolumeOwners(r.Name)
	ownersAllowed := len(owners) > 0 && !slices.ContainsFunc(owners, func(vmid int) bool {
		if vmid == ref.VMID {
			return !s.isOwn(l, ref, r.Name)
		}
		return !s.mayTouch(author{limits: []Limit{l}}, ref, vmid)
	})
	switch r.Use {
	case guest.Attach:
		return ownersAllowed || len(owners) == 0 && l.lists(r.Name)
	case guest.Read: // it belongs to no guest, and the signer may not see what it contains
	case guest.Copy, guest.Import:
		if len(l.Sources) > 0 {
			return l.lists(r.Name)
		}
		return ownersAllowed || guest.BelongsToNoGuest(r.Name)
	case guest.RunHost, guest.HostDir:
	}
	return l.lists(r.Name)
}

// isOwn reports whether a volume or backup with the vmid of the guest is of this guest. If a signer with a limit chose the vmid, it may be of an
// earlier guest that had the vmid.
func (s Scope) isOwn(l Limit, ref guest.Ref, name string) bool {
	if len(s.chosenBy(ref)) == 0 || l.contains(ref.VMID) {
		return true
	}
	known := s.Attached[ref.VMID]
	if known.Identity != s.Owned[ref.VMID].Identity {
		return false
	}
	for _, volume := range known.Volumes {
		if volume == name {
			return true
		}
	}
	return slices.Contains(known.Others, name)
}

// ownersText returns ", a volume of vmid 1000" for a volume with a vmid in its name.
func ownersText(name string) string {
	var words []string
	for _, vmid := range guest.VolumeOwners(name) {
		words = append(words, fmt.Sprint(vmid))
	}
	if len(words) == 0 {
		return ""
	}
	return ", which belongs to vmid " + strings.Join(words, " and ")
}

// remedyFor returns what to add to the signer's entry.
func remedyFor(r guest.Mention, limits []Limit) string {
	restricted := slices.ContainsFunc(limits, func(l Limit) bool { return len(l.Sources) > 0 })
	if owners := guest.VolumeOwners(r.Name); len(owners) > 0 && (r.Use == guest.Attach || !restricted) {
		return fmt.Sprintf(`vmids: ["%d"]`, owners[len(owners)-1])
	}
	return fmt.Sprintf("sources: [%q]", r.Name)
}
