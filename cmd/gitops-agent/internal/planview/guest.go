package planview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// guestView is a guest that differs from its manifest, for printing.
type guestView struct {
	Action action `json:"action"`
	report.GuestName

	WhyNode    string           `json:"whyNode,omitempty"` // of a guest that is created: why the agent chooses the node
	Origin     string           `json:"origin,omitempty"`
	ObservedAt time.Time        `json:"observedAt,omitzero"` // of a guest that exists
	Changes    []changeView     `json:"changes"`
	Steps      []stepView       `json:"steps"`
	Conditions []plan.Condition `json:"conditions"`

	age time.Duration // of the observation when the plan was made
}

// newGuestView returns one guest's plan with the verdict of judge on each of its steps.
func newGuestView(p plan.Guest, judge func(plan.Step) gate.Verdict) guestView {
	g := guestView{
		Action: actionOf(p), GuestName: report.NewGuestName(p.Ref, p.Node), Origin: p.Origin.String(),
		Changes: []changeView{}, Steps: []stepView{}, Conditions: append([]plan.Condition{}, p.Conditions...),
	}
	if g.Action == actionCreate {
		g.WhyNode = p.WhyNode
	}
	for _, c := range p.Changes {
		g.Changes = append(g.Changes, changeView{report.NewChange(c)})
	}
	var verdicts []gate.Verdict
	for _, s := range slices.Concat(p.Steps, p.Guards) {
		verdicts = append(verdicts, judge(s))
		g.Steps = append(g.Steps, newStepView(s, verdicts[len(verdicts)-1]))
	}
	g.Conditions = append(g.Conditions, gate.PolicyConditions(verdicts)...)
	return g
}

// readAt returns the view with the time of its observation; the plan was made at now.
func (g guestView) readAt(at, now time.Time) guestView {
	if !at.IsZero() {
		g.ObservedAt, g.age = at.UTC(), now.Sub(at)
	}
	return g
}

// name returns "VirtualMachine/web-1 (201)".
func (g guestView) name() string { return g.Ref().String() }

// label returns "VirtualMachine/web-1 (201) on pve1".
func (g guestView) label() string { return g.name() + term.Prefixed(" on ", g.Node) }

// choice returns "on pve1: least memory of 3 that fit" if the agent chooses the node, and "" otherwise.
func (g guestView) choice() string {
	if g.WhyNode == "" {
		return ""
	}
	return "on " + g.Node + ": " + g.WhyNode
}

// oldReading is the age of an observation from which a plan prints it.
const oldReading = 10 * time.Second

// read returns "read 40s ago" if the observation is old, and "" otherwise.
func (g guestView) read() string {
	if g.age < oldReading {
		return ""
	}
	return "read " + g.age.Truncate(time.Second).String() + " ago"
}

// held counts the steps that wait for a person, without those that would weaken a guard.
func (g guestView) held() int {
	n := 0
	for _, s := range g.Steps {
		if s.Held != nil && !s.waits() && s.Op != plan.OpWeaken {
			n++
		}
	}
	return n
}

// weakenings counts the guards that would become weaker.
func (g guestView) weakenings() int {
	n := 0
	for _, s := range g.Steps {
		if s.Op == plan.OpWeaken {
			n++
		}
	}
	return n
}

// remarks returns the conditions whose message is not also the message of a step.
func (g guestView) remarks() []plan.Condition {
	return slices.DeleteFunc(slices.Clone(g.Conditions), func(c plan.Condition) bool {
		repeated := slices.ContainsFunc(g.Steps, func(s stepView) bool { return s.Held != nil && s.Held.Message == c.Message })
		return repeated || c.Type == plan.Orphaned
	})
}

// outcome summarises what happens to the guest, the worst effect first.
func (g guestView) outcome() string {
	var words []string
	switch g.Action {
	case actionCreate:
		words = append(words, "is created")
	case actionDestroy:
		words = append(words, "is destroyed")
	case actionBlocked, actionUnknown, actionWarned:
		for _, c := range g.Conditions {
			words = append(words, string(c.Type)+" ("+string(c.Reason)+")")
		}
	case actionWaiting:
		words = append(words, "waits for a restart")
	case actionChange:
		words = g.effects()
	case actionGuard:
		words = append(words, "a guard would become weaker")
	}
	if n := g.held() + g.weakenings(); n > 0 {
		words = append(words, term.Count(n, "step")+" held")
	}
	return strings.Join(words, "; ")
}

// effects returns the effects of the changes and the operations of steps without changes, each once.
func (g guestView) effects() []string {
	severity := []guest.Class{guest.Destructive, guest.Disruptive, guest.Restart, guest.Impossible, guest.Live}
	changes := slices.Clone(g.Changes)
	slices.SortStableFunc(changes, func(a, b changeView) int {
		return cmp.Compare(slices.Index(severity, a.Class), slices.Index(severity, b.Class))
	})
	var words []string
	add := func(word string) {
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	for _, c := range changes {
		add(c.effect())
	}
	for _, s := range g.Steps {
		switch {
		case s.Adopts:
			add("is adopted")
		case len(s.Keys) == 0 && s.Op != plan.OpWeaken:
			add(string(s.Op))
		}
	}
	if len(words) > 1 {
		words = slices.DeleteFunc(words, func(word string) bool { return word == string(guest.Live) })
	}
	const most = 4
	if len(words) > most {
		return append(words[:most:most], fmt.Sprintf("%d more", len(words)-most))
	}
	return words
}
