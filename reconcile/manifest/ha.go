package manifest

import (
	"math"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// ha is the entry of a guest with the cluster's HA manager.
type ha struct {
	absent                  opt[bool]
	state                   opt[string]
	maxRestart, maxRelocate opt[int]
	failback                opt[bool]
}

func (h *ha) fields() []field {
	return []field{
		{"absent", "", "The guest has no entry with the HA manager. Excludes all other fields.", flag(&h.absent)},
		{"state", "ha.state", "started keeps it running, stopped keeps it stopped, disabled keeps it stopped without recovery, ignored leaves it alone. Default for a new resource: started.", byHand(choice(&h.state, haStates...))},
		{"maxRestart", "ha.max_restart", "Attempts to start it on one node. Default for a new resource: 1.", byHand(integer(&h.maxRestart, 0, math.MaxInt32))},
		{"maxRelocate", "ha.max_relocate", "Attempts on other nodes after that. Default for a new resource: 1.", byHand(integer(&h.maxRelocate, 0, math.MaxInt32))},
		{"failback", "ha.failback", "Whether it moves back when a node with a higher priority in its AffinityRule comes online. From Proxmox VE 9 on. Default for a new resource: true.", byHand(flag(&h.failback))},
	}
}

var haStates = []string{"started", "stopped", "ignored", "disabled"}

// rejectNonMapping suggests the state that a word means. It does not suggest to remove the entry.
func (h *ha) rejectNonMapping(n *tree.Node) rejection {
	state := n.Text
	if n.Tag == "!!bool" && strings.EqualFold(state, "true") {
		state = "started"
	}
	hint := ""
	if slices.Contains(haStates, state) {
		hint = didYouMean("{state: " + state + "}")
	}
	return rejection{"got " + n.Describe() + ", want a mapping", hint}
}

// wanted returns the wanted entry with the HA manager, or nil if nothing is wanted.
func (h *ha) wanted(p place) *guest.HAWanted {
	if !h.absent.value && !h.state.set && !h.maxRestart.set && !h.maxRelocate.set && !h.failback.set {
		return nil
	}
	w := guest.HAWanted{Absent: h.absent.value, State: h.state.value, Origin: guest.Origin(p.at)}
	if h.maxRestart.set {
		w.MaxRestart = &h.maxRestart.value
	}
	if h.maxRelocate.set {
		w.MaxRelocate = &h.maxRelocate.value
	}
	if h.failback.set {
		w.Failback = &h.failback.value
	}
	return &w
}
