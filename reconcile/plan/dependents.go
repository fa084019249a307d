package plan

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// dependent is a guest that has to be down before the guest on which it depends.
type dependent struct {
	ref   guest.Ref
	first string // what comes first: "has to stop first"
}

// dependentsFirst returns the guests that have to be down before each guest that is about to be stopped or destroyed: those that depend on it, and shall
// be stopped or destroyed too. The dependencies of a removed guest are those of its last manifest. What a manifest keeps the agent from doing delays
// nobody.
func dependentsFirst(plan Plan, wanted []guest.Desired, unchanged map[string]bool, opts OrderingOptions) map[guest.Ref][]dependent {
	byLabel := downByLabel(plan)
	if len(byLabel) == 0 {
		return nil
	}
	desired := make(map[string]*guest.Desired, len(wanted))
	for i := range wanted {
		desired[wanted[i].Label()] = &wanted[i]
	}
	first := make(map[guest.Ref][]dependent)
	for _, p := range plan.Guests {
		var on []string
		d := desired[p.Ref.Label()]
		switch {
		case !p.Managed:
			d, on = nil, strings.Fields(opts.Remembered[p.Ref.VMID].Rules.DependsOn)
		case d != nil && !unchanged[d.Label()]:
			on = d.DependsOn
		}
		if len(on) == 0 {
			continue
		}
		how := goesDown(p, d, opts)
		if how == "" {
			continue
		}
		for _, label := range on {
			for _, dependency := range byLabel[label] {
				if dependency != p.Ref {
					first[dependency] = append(first[dependency], dependent{p.Ref, how})
				}
			}
		}
	}
	return withoutCycles(first)
}

// downByLabel returns the guests that are about to be stopped or destroyed. A removed guest is in it only if no manifest has its label now: a dependency
// on the label means the guest of the manifest.
func downByLabel(plan Plan) map[string][]guest.Ref {
	var down map[string][]guest.Ref
	managed := make(map[string]bool)
	for _, p := range plan.Guests {
		if p.Managed {
			managed[p.Ref.Label()] = true
		}
	}
	for _, p := range plan.Guests {
		label := p.Ref.Label()
		if !slices.ContainsFunc(p.Steps, Step.TakesDown) || !p.Managed && managed[label] {
			continue
		}
		if down == nil {
			down = make(map[string][]guest.Ref)
		}
		down[label] = append(down[label], p.Ref)
	}
	return down
}

// goesDown returns what has to happen to a guest before the guests on which it depends are stopped or destroyed, "" if it need not be down. A guest that
// was not read may still run.
func goesDown(p Guest, d *guest.Desired, opts OrderingOptions) string {
	for _, s := range p.Steps {
		switch {
		case !s.TakesDown() || opts.Kept != nil && opts.Kept(s):
		case s.Op == cluster.OpDestroy:
			return "has to be destroyed first"
		default:
			return "has to stop first"
		}
	}
	shall := d != nil && d.State == guest.Stopped || d == nil && opts.Remembered[p.Ref.VMID].Destroy != string(guest.Deny)
	if shall && slices.ContainsFunc(p.Conditions, func(c Condition) bool { return c.Type == NotObserved }) {
		return "was not read, so it may still run"
	}
	return ""
}

// withoutCycles removes what would make guests wait for each other. Manifests of one revision contain no cycle, but removed guests have the dependencies
// of earlier revisions.
func withoutCycles(first map[guest.Ref][]dependent) map[guest.Ref][]dependent {
	waits := func(from, to guest.Ref) bool {
		seen := map[guest.Ref]bool{from: true}
		for next := []guest.Ref{from}; len(next) > 0; next = next[1:] {
			if next[0] == to {
				return true
			}
			for _, d := range first[next[0]] {
				if !seen[d.ref] {
					seen[d.ref] = true
					next = append(next, d.ref)
				}
			}
		}
		return false
	}
	kept := make(map[guest.Ref][]dependent, len(first))
	for ref, list := range first {
		for _, d := range list {
			if !waits(d.ref, ref) {
				kept[ref] = append(kept[ref], d)
			}
		}
	}
	return kept
}
