package planview

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// stepView is one step of a guest's plan, with the verdict of the gate.
type stepView struct {
	Op      cluster.Op   `json:"op"`
	Class   guest.Class  `json:"class"`
	Reason  string       `json:"reason,omitempty"`
	Does    string       `json:"does,omitempty"`    // how a guest is created
	Adopts  bool         `json:"adopts,omitempty"`  // the agent takes ownership of the guest
	Keys    []string     `json:"keys,omitempty"`    // of the changes in the step
	Volumes []string     `json:"volumes,omitempty"` // that the step destroys
	Held    *report.Hold `json:"held,omitempty"`    // nil if the gate does not hold the step
	Digest  string       `json:"digest,omitempty"`  // for gitops-agent approve
}

func newStepView(s plan.Step, v gate.Verdict) stepView {
	step := stepView{
		Op: s.Op, Class: s.Class, Reason: s.Reason, Does: creation(s), Adopts: s.TakesOwnership && s.Op == cluster.OpConfig,
		Volumes: s.Volumes, Digest: v.Digest,
	}
	for _, c := range s.Changes {
		if !slices.Contains(step.Keys, c.Key) {
			step.Keys = append(step.Keys, c.Key)
		}
	}
	if v.Held {
		hold := report.NewHold(v)
		step.Held = &hold
	}
	return step
}

// creation describes how a step creates its guest: "full clone of 9000".
func creation(s plan.Step) string {
	if s.Op != cluster.OpCreate || len(s.Calls) == 0 {
		return ""
	}
	call := s.Calls[0]
	full := call.Params["full"] == "1"
	switch {
	case call.CloneOf != 0 && !full:
		return fmt.Sprintf("linked clone of %d", call.CloneOf) + term.Prefixed(" at snapshot ", call.Params["snapname"])
	case call.CloneOf != 0:
		return fmt.Sprintf("full clone of %d", call.CloneOf) + term.Prefixed(" at snapshot ", call.Params["snapname"])
	case call.Params["archive"] != "":
		return "restored from " + call.Params["archive"]
	case call.Params["restore"] == "1":
		return "restored from " + call.Params["ostemplate"]
	case call.Params["ostemplate"] != "":
		return "from template " + call.Params["ostemplate"]
	}
	return creationFromDisks(call.Params)
}

// creationFromDisks describes the initial contents of the drives of a new guest.
func creationFromDisks(params map[string]string) string {
	for _, slot := range slices.Sorted(maps.Keys(params)) {
		volume, _, _ := strings.Cut(params[slot], ",")
		_, image, imported := strings.Cut(params[slot], "import-from=")
		image, _, _ = strings.Cut(image, ",")
		switch {
		case imported:
			return "from image " + image
		case strings.Contains(volume, ":iso/"):
			return "with empty disks and " + volume
		}
	}
	return "from nothing"
}

// waits reports whether the step waits for other steps of the plan, and not for a person.
func (s stepView) waits() bool { return s.Held != nil && s.Held.Reason.IsOrder() }

// obvious reports whether a step needs no line of its own: it is not held, and its changes describe it completely.
func (s stepView) obvious() bool {
	return s.Held == nil && s.Digest == "" && !s.Adopts && len(s.Volumes) == 0 && len(s.Keys) > 0 && s.Op != cluster.OpCreate
}

// what returns the operation and, for operations on single keys, the keys.
func (s stepView) what() string {
	if s.Op.WritesConfig() {
		return string(s.Op) + term.Prefixed(" of ", strings.Join(s.Keys, ", "))
	}
	return string(s.Op)
}

// why returns the reason for a step that is not held.
func (s stepView) why() string {
	switch {
	case s.Digest != "":
		return "approved"
	case s.Does != "":
		return s.Does
	default:
		return s.Reason
	}
}

// heldSteps is a group of steps of one guest that are held for the same reason.
type heldSteps struct {
	what []string
	report.Hold
	volumes []string
}

// holds groups consecutive held steps by reason, message and hint, so that one suspension is printed once.
func (g guestView) holds() []heldSteps {
	var list []heldSteps
	for _, s := range g.Steps {
		if s.Held == nil {
			continue
		}
		last := len(list) - 1
		if last >= 0 && list[last].isLike(*s.Held) {
			list[last].what = append(list[last].what, s.what())
			list[last].volumes = append(list[last].volumes, s.Volumes...)
			continue
		}
		list = append(list, heldSteps{[]string{s.what()}, *s.Held, slices.Clone(s.Volumes)})
	}
	return list
}

// isLike reports whether another hold prints the same lines. Approvals that do not count name one step.
func (h heldSteps) isLike(o report.Hold) bool {
	return h.Reason == o.Reason && h.Message == o.Message && h.Hint == o.Hint && len(h.Uncounted)+len(o.Uncounted) == 0
}

// String returns "held config of net0 (approval): it interrupts the running guest".
func (h heldSteps) String() string {
	if h.Reason.IsOrder() {
		return strings.Join(h.what, "; ") + " waits: " + h.Message
	}
	return fmt.Sprintf("held %s (%s): %s", strings.Join(h.what, "; "), h.Reason, h.Message)
}
