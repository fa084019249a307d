package planview

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/rollout"
)

// rolloutView is how the changes of a plan would reach the guests of a rollout.
type rolloutView struct {
	Name    string `json:"name"`
	Guests  int    `json:"guests"`  // that would change
	Batches []int  `json:"batches"` // the number of guests in each
}

// String returns "Rollout/web: 200 guests in 11 batches: 1, 20, 20, … 19".
func (v rolloutView) String() string {
	const most = 6
	var sizes []string
	for i, n := range v.Batches {
		if i < most-1 || i == len(v.Batches)-1 {
			sizes = append(sizes, strconv.Itoa(n))
		}
	}
	text := strings.Join(sizes, ", ")
	if len(v.Batches) > most {
		text = strings.Join(sizes[:most-1], ", ") + ", … " + sizes[most-1]
	}
	return fmt.Sprintf("Rollout/%s: %s in %s: %s", v.Name, term.Count(v.Guests, "guest"), batches(len(v.Batches)), text)
}

func batches(n int) string {
	if n == 1 {
		return "1 batch"
	}
	return strconv.Itoa(n) + " batches"
}

// mayInterrupt reports whether a change of a step would interrupt another guest, for example one that runs.
func mayInterrupt(kind guest.Kind, s plan.Step) bool {
	return slices.ContainsFunc(s.Changes, func(c guest.Change) bool { return guest.KeyMayInterrupt(kind, c.Key) })
}

// newRollouts returns the rollouts of guests that the plan would interrupt, by name. Which guests belong to a rollout follows from the revision in force
// when a revision is accepted; the plan has the differences from the cluster.
func newRollouts(preview reconcile.Preview) []rolloutView {
	wanted := make(map[int]*guest.Desired, len(preview.Guests))
	settings, total := make(map[string]guest.Rollout), make(map[string]int)
	for i := range preview.Guests {
		d := &preview.Guests[i]
		if _, owned := preview.Gate.Owned[d.VMID]; !owned || d.Rollout.Name == "" {
			continue
		}
		wanted[d.VMID] = d
		if known, isKnown := settings[d.Rollout.Name]; isKnown {
			settings[d.Rollout.Name] = known.Stricter(d.Rollout)
		} else {
			settings[d.Rollout.Name] = d.Rollout
		}
		total[d.Rollout.Name]++
	}
	labels := make(map[string][]string)
	for _, g := range preview.Plan.Guests {
		d := wanted[g.Ref.VMID]
		changes := func(s plan.Step) bool {
			return s.Op != cluster.OpCreate && !s.TakesOwnership && (s.Class != guest.Live || d.Rollout.Live || mayInterrupt(g.Ref.Kind, s))
		}
		opens := func(s plan.Step) bool { return d.Rollout.Live && s.OpensFirewall() }
		if d != nil && (slices.ContainsFunc(g.Steps, changes) || slices.ContainsFunc(g.Guards, opens)) {
			labels[d.Rollout.Name] = append(labels[d.Rollout.Name], g.Ref.Label())
		}
	}
	var list []rolloutView
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		list = append(list, rolloutView{Name: name, Guests: len(labels[name]), Batches: rollout.Sizes(settings[name], labels[name], total[name])})
	}
	return list
}
