//go:build integration

package crash

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile/journal"
)

// otto may order one-shot operations.
var otto = sigtest.Identity{Subject: "otto@lab.test", Issuer: "https://issuer.test"}

// order is a one-shot operation that somebody ordered.
type order struct {
	commit  string
	text    string // of the trailer
	guest   *machine
	effects []string         // of the operation, if it is executed
	follow  []string         // effects that may follow any number of times, since the guest differs from its manifest afterwards
	then    func(g *machine) // what the world knows after the order was executed
	state   journal.OrderState
	run     bool // it was executed, and its own effects must have happened
	counted bool // the effects that must have happened contain those of the order
}

// orders are the one-shot operations that a person may order for a guest.
var orders = map[string]func(w *world) *order{
	"backup": func(w *world) *order {
		return w.newOrder("backup", " storage=local", []string{"backed-up"}, func(*machine) bool { return true })
	},
	"reboot": func(w *world) *order {
		return w.newOrder("reboot", "", []string{"stopped", "started"}, func(g *machine) bool { return g.running && g.ha == "" })
	},
	"reset": func(w *world) *order {
		o := w.newOrder("reset", "", []string{"reset"}, func(g *machine) bool { return g.running && g.ha == "" && g.kind == "VirtualMachine" })
		return o.needsApproval()
	},
	"snapshot": func(w *world) *order {
		name := fmt.Sprintf("s%d", w.texts+10)
		o := w.newOrder("snapshot", " name="+name, []string{"snapshotted"}, func(g *machine) bool { return g.snapshot == "" && g.schedule == "" })
		if o != nil {
			o.guest.snapshot = name // also if the agent never knows whether it has it
		}
		return o
	},
	"delete-snapshot": func(w *world) *order {
		o := w.orderOfSnapshot("delete-snapshot", []string{"snapshot-deleted"})
		if o != nil {
			o.then = func(g *machine) { g.snapshot = "" }
		}
		return o.needsApproval()
	},
	"migrate": func(w *world) *order { // a manifest with placement.migrate would move it back
		o := w.newOrder("migrate", "", []string{"migrated"}, func(g *machine) bool {
			return (g.kind == "Container" || g.adopted) && g.snapshot == "" && g.own == 0 && g.schedule == ""
		})
		if o == nil {
			return nil
		}
		if o.text += " target=" + otherNode(w.nodeOf(o.guest)); o.guest.running && o.guest.kind == "Container" {
			o.effects = append(o.effects, "stopped", "started")
		}
		return o
	},
	"rollback": func(w *world) *order {
		o := w.orderOfSnapshot("rollback", []string{"rolled-back"})
		if o != nil {
			o.follow = []string{"config-written", "resized", "stopped", "started"}
		}
		return o.needsApproval()
	},
}

// needSnapshot are the operations that need a snapshot of the guest.
var needSnapshot = []string{"delete-snapshot", "rollback"}

// newOrder returns the order of an operation for a guest that no change of this round concerns, nil if there is none.
func (w *world) newOrder(op, params string, effects []string, accept func(g *machine) bool) *order {
	g := w.pick(func(g *machine) bool { return !g.template && g.vmid != 0 && accept(g) })
	if g == nil {
		return nil
	}
	return &order{text: op + " " + g.kind + "/" + g.name + params, guest: g, effects: effects}
}

// orderOfSnapshot returns the order of an operation on the snapshot of a guest.
func (w *world) orderOfSnapshot(op string, effects []string) *order {
	o := w.newOrder(op, "", effects, func(g *machine) bool { return g.snapshot != "" && g.ha == "" })
	if o != nil {
		o.text += " name=" + o.guest.snapshot
	}
	return o
}

// needsApproval says that somebody approves the order.
func (o *order) needsApproval() *order {
	if o != nil {
		o.guest.approve = true
	}
	return o
}

// order orders a random operation.
func (w *world) order() {
	w.Helper()
	names := slices.Sorted(maps.Keys(orders))
	for try := range 6 {
		name := names[w.rng.IntN(len(names))]
		if try == 0 && w.rng.IntN(2) == 0 { // few guests have a snapshot, so the operations that need one are tried first
			name = needSnapshot[w.rng.IntN(len(needSnapshot))]
		}
		if o := orders[name](w); o != nil {
			w.orders = append(w.orders, o)
			w.commit("Order\n\nGitops-Run: "+o.text+"\nGitops-Target: home/main\n", otto)
			o.commit = w.repo.Tip
			w.total.ordered(name)
			return
		}
	}
}

// readOrders takes the states of the orders from the journal of an agent. It adds the effects of an order that was executed to those that must have happened.
func (w *world) readOrders(a *agent) {
	w.Helper()
	if !slices.ContainsFunc(w.orders, func(o *order) bool { return !o.counted }) {
		return
	}
	state, err := journal.ReadState(a.journal())
	if err != nil {
		return // the agent is just writing; it is read again
	}
	states := map[string]journal.OrderState{} // by commit, since one operation may be ordered twice
	for _, o := range state.Orders {
		if strings.HasPrefix(o.Order, "Gitops-Run: ") {
			states[o.Commit] = o.State
		}
	}
	for _, o := range w.orders {
		if o.counted {
			continue
		}
		if o.state = states[o.commit]; o.state != journal.OrderRun {
			continue
		}
		if !o.run {
			o.guest.must(o.effects...)
		}
		o.run = true
		if o.counted = len(o.follow) == 0; o.counted {
			w.total.endedAs(string(o.state))
			o.end()
		}
	}
}

func (o *order) end() {
	if o.then != nil {
		o.then(o.guest)
	}
}

// slack returns the effects that may have happened and need not: those of orders whose outcome is open or unknown, once for each order, and those that may
// follow. Unfinished are the orders without an outcome.
func (w *world) slack() (slack map[int]map[string]int, unfinished []string) {
	slack = map[int]map[string]int{}
	for _, o := range w.orders {
		if o.counted {
			continue
		}
		if slack[o.guest.vmid] == nil {
			slack[o.guest.vmid] = map[string]int{}
		}
		if o.state != journal.OrderRun {
			for _, e := range o.effects {
				slack[o.guest.vmid][e]++
			}
			if o.effects[0] == "stopped" { // the manifest starts the guest again
				slack[o.guest.vmid]["started"]++
			}
		}
		for _, e := range o.follow {
			slack[o.guest.vmid][e] += 100
		}
		if o.state == "" || o.state.IsOpen() {
			unfinished = append(unfinished, fmt.Sprintf("order %s: got state %q, want an outcome", o.text, o.state))
		}
	}
	return slack, unfinished
}

// endOrders takes what happened because of the orders that have an outcome as what must have happened. The bound on it was checked before.
func (w *world) endOrders() {
	w.Helper()
	got := w.effects()
	for _, o := range w.orders {
		if o.counted {
			continue
		}
		o.counted = true
		w.total.endedAs(string(o.state))
		if o.state == journal.OrderRun {
			o.end()
		}
		for _, e := range append(slices.Clone(o.effects), o.follow...) {
			o.guest.effects[e] = got[o.guest.vmid][e]
		}
		o.guest.effects["started"] = got[o.guest.vmid]["started"]
	}
}
