//go:build integration

package crash

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/journal"
)

// keptSnapshots is how many snapshots every schedule keeps.
const keptSnapshots = 1

// schedulePeriod is the time between two times of every schedule. The next time is half of it away when a guest gets its schedule, so that neither the time that
// passes in a round nor a changed clock reaches one.
const schedulePeriod = 7 * 24 * time.Hour

// scheduleChanges are what a person may do with schedules and the agent's snapshots, and the time that passes. Each returns what it did, "" if the world has no
// guest for it.
var scheduleChanges = map[string]func(w *world) string{
	"schedule":         (*world).addSchedule,
	"snapshot by hand": (*world).editSnapshotByHand,
	"week":             (*world).passWeek,
}

// changeSchedules makes one of these changes, or none.
func (w *world) changeSchedules() []string {
	w.Helper()
	names := slices.Sorted(maps.Keys(scheduleChanges))
	name := names[w.rng.IntN(len(names))]
	did := scheduleChanges[name](w)
	if did == "" {
		return nil
	}
	w.total.changed(name)
	return []string{did}
}

// addSchedule gives a guest a schedule.
func (w *world) addSchedule() string {
	g := w.pick(func(g *machine) bool {
		return g.snapshots && g.schedule == "" && g.own == 0 && g.snapshot == "" && !g.template
	})
	if g == nil {
		return ""
	}
	w.schedule(g)
	return "schedule of " + g.name
}

// schedule gives a guest a schedule. The agent takes the first snapshot at once.
func (w *world) schedule(g *machine) {
	next := w.now().UTC().Add(schedulePeriod / 2).Truncate(time.Minute)
	g.schedule, g.due = strings.ToLower(next.Format("Mon 15:04")), next.Add(-schedulePeriod)
	g.own = 1
	g.must("snapshotted")
}

// scheduled returns the guests with a schedule.
func (w *world) scheduled() []*machine {
	return slices.DeleteFunc(w.present(), func(g *machine) bool { return g.schedule == "" })
}

// passWeek lets a week pass. Each schedule takes one snapshot, and deletes those before.
func (w *world) passWeek() string {
	w.Helper()
	guests := w.scheduled()
	if len(guests) == 0 || slices.ContainsFunc(guests, func(g *machine) bool { return g.changed }) || !w.state().quiet() {
		return ""
	}
	for _, g := range guests {
		g.changed = true
		g.must("snapshotted")
		for g.own++; g.own > keptSnapshots; g.own-- {
			g.must("snapshot-deleted")
		}
		g.due = g.due.Add(schedulePeriod)
	}
	w.pass(schedulePeriod)
	return fmt.Sprintf("a week with %d schedules", len(guests))
}

// editSnapshotByHand deletes the agent's snapshot of a guest, or makes it a person's by another description. The agent deletes it no more.
func (w *world) editSnapshotByHand() string {
	w.Helper()
	g := w.pick(func(g *machine) bool { return g.schedule != "" && g.own > 0 })
	if g == nil {
		return ""
	}
	path := w.snapshotPath(g)
	for _, name := range slices.Backward(w.ownSnapshots(g)) {
		if g.theirs[name] {
			continue
		}
		if w.rng.IntN(2) == 0 {
			w.personCalls(http.MethodPut, path+"/"+name+"/config", "description=mine")
			g.theirs[name] = true
		} else {
			w.personCalls(http.MethodDelete, path+"/"+name, "")
			g.must("snapshot-deleted")
		}
		g.own--
		return "snapshot " + name + " of " + g.name + " by hand"
	}
	w.Fatalf("%s: got the snapshots %v, want one of the agent", g.name, w.ownSnapshots(g))
	return ""
}

// ownSnapshots returns the names of the snapshots of a guest that the agent took, those of a person among them, the oldest first.
func (w *world) ownSnapshots(g *machine) []string {
	w.Helper()
	var list struct{ Data []struct{ Name string } }
	w.call(http.MethodGet, w.snapshotPath(g), "", &list)
	var names []string
	for _, s := range list.Data {
		if strings.HasPrefix(s.Name, "gitops-") {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names) // the names have their times
	return names
}

func (w *world) snapshotPath(g *machine) string {
	w.Helper()
	for _, row := range w.state().Guests {
		if row.VMID == g.vmid {
			return fmt.Sprintf("/nodes/%s/%s/%d/snapshot", row.Node, map[string]string{"VirtualMachine": "qemu", "Container": "lxc"}[g.kind], g.vmid)
		}
	}
	w.Fatalf("%s: got no guest %d", g.name, g.vmid)
	return ""
}

// missedSnapshots returns the vmids of the guests of whose schedule a call has failed, or has no outcome, by the journal of an agent. At most one time of each
// schedule is in a round, so one snapshot, and the deletions that follow it, may not have happened.
func (w *world) missedSnapshots(a *agent) map[int]bool {
	missed := map[int]bool{}
	guests := w.scheduled()
	if len(guests) == 0 {
		return missed
	}
	state, err := journal.ReadState(a.journal())
	if err != nil {
		return missed // the agent is just writing; it is read again
	}
	for _, g := range guests {
		record := state.Snapshots[g.vmid]
		failed := record.Failed != "" || slices.ContainsFunc(record.Taken, func(s journal.TakenSnapshot) bool { return s.Failed != "" })
		missed[g.vmid] = failed && !record.Due.Before(g.due) // the failure of an earlier time is of an earlier round
	}
	return missed
}

// endSchedules takes the snapshots of the schedules of which a call has failed as they are. The bound on them was checked before.
func (w *world) endSchedules() {
	w.Helper()
	got, missed := w.effects(), w.missedSnapshots(w.agents[0])
	for _, g := range w.scheduled() {
		if !missed[g.vmid] {
			continue
		}
		w.total.changed("missed snapshot")
		for _, effect := range scheduleEffects {
			g.effects[effect] = got[g.vmid][effect]
		}
		g.own = 0
		for _, name := range w.ownSnapshots(g) {
			if !g.theirs[name] {
				g.own++
			}
		}
	}
}

// scheduleEffects are the effects of a schedule.
var scheduleEffects = []string{"snapshotted", "snapshot-deleted"}
