package gate

import (
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/plan"
)

// Authors returns the names of the signers who introduced what a step does: who removed the manifest of a guest that is destroyed, who wrote the
// source or the lifecycle of a guest that is created again, and else who wrote the keys that the step changes or brings into effect. A field whose
// signer is not recorded has no author.
func (s Scope) Authors(step plan.Step) map[string]bool {
	record, known := s.Introduced[labelOf(step.Guest)]
	if !known {
		return nil
	}
	names := make(map[string]bool)
	add := func(fields ...string) {
		for _, field := range fields {
			for _, by := range introducers(record, field) {
				names[by.Signer] = true
			}
		}
	}
	switch {
	case step.Op == cluster.OpDestroy:
		add(FieldVMID) // a manifest that still has the label has another vmid
	case step.Op == cluster.OpCreate:
		add(FieldSource, FieldLifecycle, FieldVMID)
	}
	for _, pending := range step.Pending {
		key, _, _ := strings.Cut(pending, "=")
		add(key)
	}
	for _, c := range step.Changes {
		if c.Key == "ha" || c.Key == "pool" || c.Key == "node" || c.Key == "template" {
			add("spec." + c.Key)
			continue
		}
		add(c.Key)
	}
	return names
}
