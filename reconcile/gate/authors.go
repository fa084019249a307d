package gate

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/policy"
)

// authors collects the names of signers.
type authors map[string]bool

// add adds who introduced fields of a label. A field whose signer is not recorded has no author.
func (a authors) add(s Scope, label journal.Label, fields ...string) {
	record := s.introduced(label)
	for _, field := range fields {
		for _, by := range introducers(record, field) {
			a[by.Signer] = true
		}
	}
}

// Authors returns the names of the signers who introduced what a step does: who weakened a guard, who removed the manifest of a guest that is
// destroyed, who wrote the source or the permission of a guest that is created again, and else who wrote the keys that the step changes or brings into
// effect. The labels of a guest that an object selects by them belong to these keys.
func (s Scope) Authors(step plan.Step) map[string]bool {
	if step.Order != nil && step.Order.Scheduled != nil {
		names := make(authors)
		names.add(s, guard.LabelOf(step.Guest), FieldSnapshots)
		return names
	}
	if step.Order != nil {
		return map[string]bool{step.Order.Signer: true}
	}
	if step.Weakens != nil {
		return s.weakeners(step.Weakens)
	}
	names, label := make(authors), guard.LabelOf(step.Guest)
	if step.Op == cluster.OpDestroy || step.Op == cluster.OpObjectRemove {
		names.add(s, label, FieldVMID) // a manifest that still has the label has another vmid
	}
	if step.Object != nil {
		for _, key := range step.Object.Chosen {
			names.add(s, s.labelOf(key.VMID), FieldLabels)
		}
	}
	if step.Op == cluster.OpDeleteFile {
		names.add(s, label, journal.AllFields)
	}
	if step.Op == cluster.OpCreate {
		names.add(s, label, FieldSource, FieldRecreate, FieldVMID)
	}
	for _, pending := range step.Pending {
		key, _, _ := strings.Cut(pending, "=")
		names.add(s, label, key)
	}
	for _, c := range step.Changes {
		if c.Key == "ha" || c.Key == "pool" || c.Key == "node" || c.Key == "template" {
			names.add(s, label, "spec."+c.Key)
			continue
		}
		names.add(s, label, c.Key)
	}
	return names
}

// labelOf returns the label of the manifest of a guest, or the last one that it had.
func (s Scope) labelOf(vmid int) journal.Label {
	if i := slices.IndexFunc(s.Guests, func(d guest.Desired) bool { return d.VMID == vmid }); i >= 0 {
		return guard.LabelOf(s.Guests[i].Ref)
	}
	return journal.Label{Kind: s.Owned[vmid].Kind, Name: s.Owned[vmid].Name}
}

// weakeners returns the names of the signers who wrote the values of a weaker guard.
func (s Scope) weakeners(w *guard.Weakening) map[string]bool {
	names := make(authors)
	if name, is := guard.PolicyOf(w.Field); is {
		names.add(s, journal.Label{Kind: string(policy.Kind), Name: name}, journal.AllFields)
		return names
	}
	if len(w.Guests) == 0 {
		names.add(s, journal.Label{Kind: "Cluster", Name: s.Cluster}, FieldGuards)
	}
	field := "spec." + string(w.Field)
	if w.Field == guest.GuardProtection {
		field = "protection"
	}
	if w.Field == guard.GuardPlace {
		field = FieldFolder
	}
	for _, o := range w.Guests {
		names.add(s, guard.LabelOf(o.Ref), field)
		names.add(s, guard.LabelOf(o.Ref), w.Keys...)
	}
	return names
}
