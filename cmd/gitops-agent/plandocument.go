package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gitops-agent/reconcile"
	"gitops-agent/reconcile/guest"
)

// planDocument is a plan for printing. Guests that are in sync are counted and left out.
type planDocument struct {
	SchemaVersion int           `json:"schemaVersion"`
	Cluster       string        `json:"cluster"`
	Basis         basis         `json:"basis"`
	Revision      string        `json:"revision"` // or the directory of a working copy
	Summary       planSummary   `json:"summary"`
	Guests        []plannedView `json:"guests"`
}

type planSummary struct {
	Create  int `json:"create"`
	Change  int `json:"change"`
	Destroy int `json:"destroy"`
	Held    int `json:"held"`    // steps that wait for a person
	Blocked int `json:"blocked"` // guests with differences and no step that removes them
	Waiting int `json:"waiting"` // guests whose written changes wait for a restart
	Unknown int `json:"unknown"` // guests that could not be read, so that nobody knows whether they differ
	InSync  int `json:"inSync"`
}

// String returns "Plan: 1 to create, 2 to change, 0 to destroy, 1 held; 12 in sync".
func (s planSummary) String() string {
	text := fmt.Sprintf("Plan: %d to create, %d to change, %d to destroy, %d held", s.Create, s.Change, s.Destroy, s.Held)
	if s.Blocked > 0 {
		text += fmt.Sprintf(", %d blocked", s.Blocked)
	}
	if s.Waiting > 0 {
		text += fmt.Sprintf(", %d waiting for a restart", s.Waiting)
	}
	if s.Unknown > 0 {
		text += fmt.Sprintf(", %d unknown", s.Unknown)
	}
	return text + fmt.Sprintf("; %d in sync", s.InSync)
}

// action is what a plan does to a guest as a whole.
type action string

const (
	actionCreate  action = "create"
	actionChange  action = "change"
	actionDestroy action = "destroy"
	actionBlocked action = "blocked"
	actionWaiting action = "waiting" // everything is written, and waits for a restart
	actionUnknown action = "unknown" // it could not be read
)

func (a action) symbol() string {
	return map[action]string{actionCreate: "+", actionChange: "~", actionDestroy: "-", actionBlocked: "!", actionWaiting: "!", actionUnknown: "?"}[a]
}

func (a action) colour() colour {
	return map[action]colour{actionCreate: green, actionChange: yellow, actionDestroy: red, actionBlocked: red, actionWaiting: yellow, actionUnknown: red}[a]
}

type plannedView struct {
	Action     action          `json:"action"`
	Kind       guest.Kind      `json:"kind"`
	Name       string          `json:"name"`
	VMID       int             `json:"vmid,omitempty"`
	Node       string          `json:"node,omitempty"`
	Origin     string          `json:"origin,omitempty"`
	Changes    []changeView    `json:"changes"`
	Steps      []stepView      `json:"steps"`
	Conditions []conditionView `json:"conditions"`
}

// label returns "VirtualMachine/web-1 (201) on pve1".
func (g plannedView) label() string {
	text := guest.Ref{Kind: g.Kind, Name: g.Name, VMID: g.VMID}.String()
	return text + labelled(" on ", g.Node)
}

type changeView struct {
	Key    string      `json:"key"`
	From   string      `json:"from"` // "" is unset
	To     string      `json:"to"`   // "" is unset
	Class  guest.Class `json:"class"`
	Note   string      `json:"note,omitempty"`
	Origin string      `json:"origin,omitempty"`
}

// effect returns what the change does to the guest, in plain words.
func (c changeView) effect() string {
	if strings.HasPrefix(c.Note, string(c.Class)) {
		return c.Note
	}
	return string(c.Class) + labelled(": ", c.Note)
}

type stepView struct {
	Op      reconcile.Op         `json:"op"`
	Class   guest.Class          `json:"class"`
	Reason  string               `json:"reason,omitempty"`
	Adopts  bool                 `json:"adopts,omitempty"`  // the guest becomes the agent's
	Keys    []string             `json:"keys,omitempty"`    // of the changes that the step makes
	Volumes []string             `json:"volumes,omitempty"` // that the step destroys
	Held    reconcile.HoldReason `json:"held,omitempty"`
	Message string               `json:"message,omitempty"` // why it is held
	Hint    string               `json:"hint,omitempty"`    // what would release it
	Digest  string               `json:"digest,omitempty"`  // for gitops-agent approve
}

// waits reports whether the step is held by others of the plan, and so by nobody.
func (s stepView) waits() bool { return s.Held == reconcile.HoldWaits }

// what returns the operation and, where the step makes some of several changes, which.
func (s stepView) what() string {
	if s.Op == reconcile.OpConfig || s.Op == reconcile.OpResize {
		return string(s.Op) + labelled(" of ", strings.Join(s.Keys, ", "))
	}
	return string(s.Op)
}

type conditionView struct {
	Type    reconcile.ConditionType `json:"type"`
	Reason  string                  `json:"reason"`
	Message string                  `json:"message"`
	Hint    string                  `json:"hint,omitempty"`
}

// newPlanDocument renders the guests with the given labels, all of them where none is given.
func newPlanDocument(subject planSubject, preview reconcile.Preview, labels []string) (planDocument, error) {
	document := planDocument{
		SchemaVersion: schemaVersion, Cluster: preview.Plan.Cluster, Basis: subject.basis, Revision: subject.revision, Guests: []plannedView{},
	}
	for _, label := range labels {
		if !slices.ContainsFunc(preview.Plan.Guests, func(g reconcile.GuestPlan) bool { return g.Ref.Label() == label }) {
			return planDocument{}, unknownGuest(label)
		}
	}
	for _, g := range preview.Plan.Guests {
		switch {
		case len(labels) > 0 && !slices.Contains(labels, g.Ref.Label()):
		case g.Empty() && g.Managed:
			document.Summary.InSync++
		case !g.Empty():
			document.add(newPlannedView(g, preview.Gate))
		}
	}
	return document, nil
}

func (d *planDocument) add(g plannedView) {
	d.Guests = append(d.Guests, g)
	s := &d.Summary
	switch g.Action {
	case actionCreate:
		s.Create++
	case actionChange:
		s.Change++
	case actionDestroy:
		s.Destroy++
	case actionBlocked:
		s.Blocked++
	case actionWaiting:
		s.Waiting++
	case actionUnknown:
		s.Unknown++
	}
	for _, step := range g.Steps {
		if step.Held != "" && !step.waits() {
			s.Held++
		}
	}
}

func newPlannedView(p reconcile.GuestPlan, gate reconcile.Gate) plannedView {
	g := plannedView{
		Action: actionOf(p), Kind: p.Ref.Kind, Name: p.Ref.Name, VMID: p.Ref.VMID, Node: p.Node, Origin: p.Origin.String(),
		Changes: []changeView{}, Steps: []stepView{}, Conditions: []conditionView{},
	}
	for _, c := range p.Changes {
		g.Changes = append(g.Changes, changeView{c.Key, c.From, c.To, c.Class, c.Note, c.Origin.String()})
	}
	for _, s := range p.Steps {
		v := gate.Judge(s)
		step := stepView{Op: s.Op, Class: s.Class, Reason: s.Reason, Adopts: s.Claims && s.Op == reconcile.OpConfig, Volumes: s.Volumes, Digest: v.Digest}
		for _, c := range s.Changes {
			step.Keys = append(step.Keys, c.Key)
		}
		if v.Held {
			step.Held, step.Message, step.Hint = v.Reason, v.Message, v.Hint
		}
		g.Steps = append(g.Steps, step)
	}
	for _, c := range p.Conditions {
		g.Conditions = append(g.Conditions, conditionView{c.Type, c.Reason, c.Message, c.Hint})
	}
	return g
}

// actionOf follows from the first step that makes or ends a guest, and else from whether there is a step at all.
func actionOf(p reconcile.GuestPlan) action {
	has := func(op reconcile.Op) bool {
		return slices.ContainsFunc(p.Steps, func(s reconcile.Step) bool { return s.Op == op })
	}
	waits := func(c reconcile.Condition) bool { return c.Type != reconcile.PendingRestart }
	unread := func(c reconcile.Condition) bool { return c.Type == reconcile.NotObserved }
	switch {
	case slices.ContainsFunc(p.Conditions, unread):
		return actionUnknown
	case has(reconcile.OpCreate):
		return actionCreate
	case has(reconcile.OpDestroy):
		return actionDestroy
	case len(p.Steps) > 0:
		return actionChange
	case len(p.Conditions) > 0 && !slices.ContainsFunc(p.Conditions, waits):
		return actionWaiting
	default:
		return actionBlocked
	}
}

// heading returns the document's first line.
func (d planDocument) heading() string {
	what := map[basis]string{
		basisAccepted: "the accepted revision ", basisVerified: "the verified revision ", basisUnverified: "the UNVERIFIED revision ",
		basisWorking: "the working copy ",
	}[d.Basis]
	return "Cluster " + d.Cluster + ", " + what + strings.TrimSpace(cmp.Or(d.Revision, "?"))
}
