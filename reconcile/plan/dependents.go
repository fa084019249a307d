package plan

import (
	"cmp"
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/object"
)

// dependentsFirst returns edges from each guest that is about to be stopped or destroyed to the guests that have to be down before: those that depend on it, and shall
// be stopped or destroyed too. What a manifest keeps the agent from doing delays no guest. Manifests of one revision contain no cycle, but removed guests have the
// dependencies of earlier revisions.
func (b *orderBuilder) dependentsFirst() []edge.Edge {
	if len(b.going) == 0 {
		return nil
	}
	desired := make(map[string]*guest.Desired, len(b.guests))
	for i := range b.guests {
		desired[b.guests[i].Label()] = &b.guests[i]
	}
	var first []edge.Edge
	for i := range b.plan.Guests {
		p := &b.plan.Guests[i]
		var d *guest.Desired
		key := keyOf(p.Ref)
		if p.Managed {
			if d = desired[p.Ref.Label()]; d == nil || b.unchanged[key] {
				continue
			}
		}
		how := ""
		for e := range b.needs.From(key, edge.NeedsFirst) {
			for _, dependency := range b.going[e.To] {
				if dependency == key {
					continue
				}
				if how = cmp.Or(how, goesDown(p, d, b.opts)); how != "" {
					first = append(first, edge.Edge{From: dependency, To: key, Why: edge.NeedsFirst, Text: p.Ref.Label() + " depends on it, and " + how})
				}
			}
		}
	}
	return first
}

// goingDown returns the guests that are about to be stopped or destroyed, by their keys. A removed guest is also found by its label, but only if no manifest has its label
// now: a dependency on the label means the guest of the manifest.
func goingDown(plan Plan) map[object.Key][]object.Key {
	var down map[object.Key][]object.Key
	var managed map[string]bool
	for i := range plan.Guests {
		p := &plan.Guests[i]
		if !slices.ContainsFunc(p.Steps, Step.TakesDown) {
			continue
		}
		if down == nil {
			down, managed = make(map[object.Key][]object.Key), managedLabels(plan)
		}
		key, label := keyOf(p.Ref), p.Ref.Label()
		if p.Managed {
			down[key] = append(down[key], key)
		} else if !managed[label] {
			down[object.Key{Label: label}] = append(down[object.Key{Label: label}], key)
		}
	}
	return down
}

// managedLabels returns the labels that manifests have.
func managedLabels(plan Plan) map[string]bool {
	managed := make(map[string]bool)
	for _, p := range plan.Guests {
		if p.Managed {
			managed[p.Ref.Label()] = true
		}
	}
	return managed
}

// goesDown returns what has to happen to a guest before the guests on which it depends are stopped or destroyed, "" if it need not be down. A guest that
// was not read may still run.
func goesDown(p *Guest, d *guest.Desired, opts OrderingOptions) string {
	for _, s := range p.Steps {
		switch {
		case !s.TakesDown() || opts.Kept != nil && opts.Kept(s):
		case s.Op == cluster.OpDestroy:
			return "has to be destroyed first"
		default:
			return "has to stop first"
		}
	}
	if p.byHA() == guest.StatusStopped {
		return "has to stop first: the HA manager shuts it down"
	}
	shall := d != nil && d.State == guest.Stopped || d == nil && opts.Remembered[p.Ref.VMID].Destroy != string(guest.Deny)
	if shall && slices.ContainsFunc(p.Conditions, func(c Condition) bool { return c.Type == NotObserved }) {
		return "was not read, so it may still run"
	}
	return ""
}
