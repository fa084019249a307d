//go:build integration

package crash

import (
	"fmt"
	"maps"
	"slices"
	"syscall"
	"time"
)

// The entries of the HA manager that manifests ask for, and that worlds compare.
const (
	haStarted = "{state: started}"
	haStopped = "{state: stopped}"
	haAbsent  = "{absent: true}"
)

// haRound is the time of a round of the HA manager: in some worlds a request is done before the agent looks again, and in others the agent waits for rounds.
func haRound(seed uint64) time.Duration {
	if seed%4 == 2 {
		return time.Second
	}
	return 100 * time.Millisecond
}

// isOfHA reports whether most changes and interruptions of a world concern the HA manager.
func (w *world) isOfHA() bool { return w.seed%2 == 0 }

// haChanges are what a person may ask of the HA manager by a manifest, beside those of changes.
var haChanges = map[string]func(w *world) string{
	"ha": func(w *world) string {
		g := w.pick(func(g *machine) bool {
			return g.running && !g.template && (g.ha == "" || g.ha == haStarted || g.ha == haAbsent)
		})
		if g == nil {
			return ""
		}
		if g.ha == haStarted {
			g.ha, g.approve = haAbsent, true
		} else {
			g.ha = haStarted
		}
		return "ha of " + g.name
	},
	"ha state": func(w *world) string {
		g := w.pick(func(g *machine) bool { return g.ha == haStarted || g.ha == haStopped })
		if g == nil {
			return ""
		}
		g.running = !g.running
		g.ha = map[bool]string{true: haStarted, false: haStopped}[g.running]
		g.must(map[bool]string{true: "started", false: "stopped"}[g.running])
		return "ha state of " + g.name
	},
	"ha move": func(w *world) string {
		g := w.pick(func(g *machine) bool {
			return g.kind == "VirtualMachine" && g.isUnderHA() && g.node != "" && g.snapshot == "" && g.own == 0 && g.schedule == ""
		})
		if g == nil {
			return ""
		}
		g.node = otherNode(g.node)
		g.must("migrated")
		return "ha move of " + g.name
	},
}

// isUnderHA reports whether the manifest wants an entry of the HA manager.
func (g *machine) isUnderHA() bool { return g.ha == haStarted || g.ha == haStopped }

func otherNode(node string) string { return map[string]string{"pve1": "pve2", "pve2": "pve1"}[node] }

// nodeOf returns the node on which a guest is, "" if it is nowhere.
func (w *world) nodeOf(g *machine) string {
	w.Helper()
	for _, row := range w.state().Guests {
		if row.VMID == g.vmid {
			return row.Node
		}
	}
	return ""
}

// changeHA makes one of haChanges and pushes it.
func (w *world) changeHA() string {
	w.Helper()
	names := slices.Sorted(maps.Keys(haChanges))
	w.rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	if w.rng.IntN(2) == 0 { // few guests can be moved, so that is tried first
		names = append([]string{"ha move"}, names...)
	}
	for _, name := range names {
		if did := haChanges[name](w); did != "" {
			w.total.changed(name)
			w.push(did)
			return did
		}
	}
	return ""
}

// haWrites matches the calls of an agent that ask something of the HA manager, and migrations of other guests.
const haWrites = "^/cluster/ha/resources|/migrate$"

// haMoments are when an agent is interrupted at what it asks of the HA manager, beside those of moments.
var haMoments = map[string]func(w *world, a *agent) string{
	"kill before the HA manager is asked": func(w *world, a *agent) string {
		return w.atHACall(a, "hold-before", func() {
			w.kill(a)
			w.post("/release", nil)
		})
	},
	"kill before the HA manager is asked late": func(w *world, a *agent) string {
		return w.atHACall(a, "hold-before", func() {
			w.kill(a)
			w.start(a)
			w.atRandom(a)
			w.post("/release", nil)
		})
	},
	"kill before the HA manager's reply": func(w *world, a *agent) string {
		return w.atHACall(a, "hold-after", func() {
			w.kill(a)
			w.post("/release", nil)
		})
	},
	"kill before the record of what the HA manager was asked": func(w *world, a *agent) string {
		return w.atHACall(a, "hold-after", func() {
			w.ok(a.cmd.Process.Signal(syscall.SIGSTOP))
			w.post("/release", nil)
			time.Sleep(20 * time.Millisecond)
			w.kill(a)
		})
	},
	"kill while the HA manager works": func(w *world, a *agent) string {
		return w.atHACall(a, "hold-before", func() {
			w.post("/release", nil)
			time.Sleep(time.Duration(w.rng.Int64N(int64(4 * haRound(w.seed)))))
			w.kill(a)
		})
	},
}

// atHACall lets a person ask something of the HA manager by a manifest, and interrupts the agent at its call.
func (w *world) atHACall(a *agent, hold string, interrupt func()) string {
	w.Helper()
	w.finishChanges(a)
	did := w.changeHA()
	if did == "" {
		return ""
	}
	return did + ": " + w.atCallOf(a, map[string]any{"kind": hold, "writes": true, "path": haWrites}, interrupt)
}

// compareHA returns how the entries of the HA manager differ from the manifests, and whether a guest was moved by more requests than it must: the manager drops a second
// request, so it has no effect of its own.
func (w *world) compareHA(state clusterState, slack map[int]map[string]int) (differences []string, more bool) {
	w.Helper()
	var list struct{ Data []struct{ SID, State string } }
	w.call("GET", "/cluster/ha/resources", "", &list)
	entries := map[string]string{}
	for _, e := range list.Data {
		entries[e.SID] = e.State
	}
	requests := map[int]int{}
	for _, t := range state.Tasks {
		if t.Type == "hamigrate" && t.Exit == "OK" {
			requests[t.VMID]++
		}
	}
	for _, g := range w.guests {
		if g.vmid == 0 {
			continue
		}
		sid := fmt.Sprintf("%s:%d", map[string]string{"VirtualMachine": "vm", "Container": "ct"}[g.kind], g.vmid)
		want := ""
		if g.wanted && g.isUnderHA() {
			want = map[bool]string{true: "started", false: "stopped"}[g.running]
		}
		if got := entries[sid]; got != want {
			differences = append(differences, fmt.Sprintf("%s: got the entry %q of the HA manager, want %q", sid, got, want))
		}
		if most := g.effects["migrated"] + slack[g.vmid]["migrated"]; requests[g.vmid] > most {
			more = true
			differences = append(differences, fmt.Sprintf("%s: got %d requests for a move, want at most %d", sid, requests[g.vmid], most))
		}
	}
	return differences, more
}
