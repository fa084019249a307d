package planview

import (
	"fmt"
	"slices"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// A Document is a plan for printing, and the JSON result of the command plan. Guests that are in sync are only counted.
type Document struct {
	SchemaVersion int           `json:"schemaVersion"`
	Cluster       string        `json:"cluster"`
	Basis         Basis         `json:"basis"`
	Revision      string        `json:"revision"`            // or the directory of a working copy
	Commit        string        `json:"commit,omitempty"`    // of a working copy, as the caller states it
	Ownership     Ownership     `json:"ownership,omitempty"` // "" if it follows from the journal
	Summary       Summary       `json:"summary"`
	Guests        []guestView   `json:"guests"`
	Guards        []stepView    `json:"guards,omitempty"`   // held changes that would weaken the guards of the Cluster
	Rollouts      []rolloutView `json:"rollouts,omitempty"` // how the changes would reach guests that share a rollout
	Warnings      []string      `json:"warnings,omitempty"` // of the manifests
	Notes         []noteView    `json:"notes,omitempty"`    // what a manifest does not say and need not
	Problems      []Problem     `json:"problems,omitempty"` // what the manifests need and the cluster does not have
}

// A Summary counts guests, and held steps.
type Summary struct {
	Create  int `json:"create"`
	Change  int `json:"change"`
	Destroy int `json:"destroy"`
	Held    int `json:"held"`    // steps that wait for a person
	Blocked int `json:"blocked"` // guests with differences and no step that removes them
	Waiting int `json:"waiting"` // guests whose written changes wait for a restart
	Unknown int `json:"unknown"` // guests that could not be read, so it is unknown whether they differ
	InSync  int `json:"inSync"`

	Except *report.Except `json:"except,omitempty"` // what those that are in sync lack although nothing is left for the agent to do

	Problems int `json:"problems,omitempty"` // that would stop the agent, without those that could not be checked
}

// String returns "Plan: 1 to create, 2 to change, 0 to destroy, 1 held; 12 in sync".
func (s Summary) String() string {
	inSync := fmt.Sprintf("%d in sync", s.InSync)
	if s.Except != nil {
		inSync += fmt.Sprintf(" (%d of them %s)", len(s.Except.Guests), s.Except)
	}
	if s == (Summary{InSync: s.InSync, Except: s.Except}) {
		return "No changes: " + inSync
	}
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
	if s.Problems > 0 {
		text += ", " + term.Count(s.Problems, "problem")
	}
	return text + "; " + inSync
}

// NewDocument returns the plan of the guests with the given labels, or of all guests if there are none. The error names a label that is not
// in the plan.
func NewDocument(subject Subject, preview reconcile.Preview, labels []string) (Document, error) {
	document := Document{
		SchemaVersion: term.SchemaVersion, Cluster: preview.Plan.Cluster, Basis: subject.Basis, Revision: subject.Revision, Guests: []guestView{},
		Commit: subject.Commit, Ownership: subject.Ownership,
	}
	for _, w := range slices.Concat(subject.Set.Warnings, subject.Set.Ended(preview.Gate.Now)) {
		document.Warnings = append(document.Warnings, w.String())
	}
	judge := preview.Gate.Judge
	if subject.Ownership == OwnershipAssumed {
		judge = withoutDigests(judge)
	}
	known := make([]string, 0, len(preview.Plan.Guests))
	for _, g := range preview.Plan.Guests {
		known = append(known, g.Ref.Label())
	}
	labels = slices.Clone(labels)
	for i, name := range labels {
		if labels[i] = guest.FindLabel(name, known); labels[i] == "" {
			return Document{}, unknownGuest(name, preview.Plan.Guests)
		}
	}
	for _, g := range preview.Plan.Guests {
		switch {
		case len(labels) > 0 && !slices.Contains(labels, g.Ref.Label()):
		case g.Empty() && g.Managed:
			document.Summary.InSync++
		case !g.Empty():
			document.add(newGuestView(g, judge).readAt(preview.Observed.Guests[g.Ref.VMID].ReadAt, preview.Gate.Now))
		}
	}
	document.Summary.Except = report.NewExcept(document.warned())
	document.Notes = newNotes(preview, labels)
	for _, s := range preview.Plan.Guards {
		document.Guards = append(document.Guards, newStepView(s, judge(s)))
	}
	document.Summary.Held += document.heldGuards()
	if len(labels) == 0 {
		document.Rollouts = newRollouts(preview)
	}
	return document, nil
}

// Differs reports whether the plan contains anything to do or to decide, or a guest lacks what only root can set.
func (d Document) Differs() bool {
	return len(d.Guards) > 0 || d.Summary.Except != nil || slices.ContainsFunc(d.Guests, func(g guestView) bool { return g.Action != actionWarned })
}

// warned returns the guests that are in sync and that a person should know something about.
func (d Document) warned() []report.Guest {
	var guests []report.Guest
	for _, g := range d.Guests {
		if g.Action == actionWarned {
			guests = append(guests, report.Guest{GuestName: g.GuestName, Sync: report.Synced, Conditions: g.Conditions})
		}
	}
	return guests
}

// heldGuards counts the changes that would weaken a guard, each once: one change may concern several guests.
func (d Document) heldGuards() int {
	digests := map[string]bool{}
	count := func(steps []stepView) {
		for _, s := range steps {
			if s.Op == plan.OpWeaken && s.Held != nil {
				digests[s.Digest] = true
			}
		}
	}
	count(d.Guards)
	for _, g := range d.Guests {
		count(g.Steps)
	}
	return len(digests)
}

// blocks returns the guests to print, after the Cluster if one of its guards would become weaker.
func (d Document) blocks() []guestView {
	if len(d.Guards) == 0 {
		return d.Guests
	}
	own := guestView{Action: actionGuard, GuestName: report.GuestName{Kind: "Cluster", Name: d.Cluster}, Steps: d.Guards}
	return append([]guestView{own}, d.Guests...)
}

func (d *Document) add(g guestView) {
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
	case actionWarned:
		s.InSync++
	case actionGuard:
	}
	s.Held += g.held()
}

// heading returns the document's first line.
func (d Document) heading() string {
	return "Cluster " + d.Cluster + ", " + describe(d.Basis, d.Revision, d.Commit)
}

// unknownGuest returns the error for a label that is not in the plan. Its hint suggests the label that may be meant.
func unknownGuest(label string, guests []plan.Guest) error {
	hint := "guests are named KIND/NAME, such as VirtualMachine/web-1"
	name := label[strings.LastIndex(label, "/")+1:]
	for _, g := range guests {
		if strings.EqualFold(g.Ref.Name, name) {
			hint = "did you mean " + g.Ref.Label() + "?"
		}
	}
	return term.WithHint(fmt.Errorf("no guest %s: neither a manifest nor the agent's journal names it", label), hint)
}
