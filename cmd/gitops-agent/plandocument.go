package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile"
)

// planDocument is a plan for printing. Guests that are in sync are counted and left out.
type planDocument struct {
	SchemaVersion int           `json:"schemaVersion"`
	Cluster       string        `json:"cluster"`
	Basis         basis         `json:"basis"`
	Revision      string        `json:"revision"` // or the directory of a working copy
	Summary       planSummary   `json:"summary"`
	Guests        []plannedView `json:"guests"`
	Warnings      []string      `json:"warnings,omitempty"` // of the manifests
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
	if s == (planSummary{InSync: s.InSync}) {
		return fmt.Sprintf("No changes: %d in sync", s.InSync)
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
	return text + fmt.Sprintf("; %d in sync", s.InSync)
}

// newPlanDocument renders the guests with the given labels, all of them where none is given.
func newPlanDocument(subject planSubject, preview reconcile.Preview, labels []string) (planDocument, error) {
	document := planDocument{
		SchemaVersion: term.SchemaVersion, Cluster: preview.Plan.Cluster, Basis: subject.basis, Revision: subject.revision, Guests: []plannedView{},
	}
	for _, w := range subject.set.Warnings {
		document.Warnings = append(document.Warnings, w.String())
	}
	for _, label := range labels {
		if !slices.ContainsFunc(preview.Plan.Guests, func(g reconcile.GuestPlan) bool { return g.Ref.Label() == label }) {
			return planDocument{}, unknownGuest(label, preview.Plan.Guests)
		}
	}
	for _, g := range preview.Plan.Guests {
		switch {
		case len(labels) > 0 && !slices.Contains(labels, g.Ref.Label()):
		case g.Empty() && g.Managed:
			document.Summary.InSync++
		case !g.Empty():
			document.add(newPlannedView(g, preview.Gate.Judge).readAt(preview.Observed.Guests[g.Ref.VMID].ReadAt, preview.Gate.Now))
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
	s.Held += g.held()
}

// heading returns the document's first line.
func (d planDocument) heading() string {
	what := map[basis]string{
		basisAccepted: "the accepted revision ", basisVerified: "the verified revision ", basisUnverified: "the UNVERIFIED revision ",
		basisWorking: "the working copy ",
	}[d.Basis]
	return "Cluster " + d.Cluster + ", " + what + strings.TrimSpace(cmp.Or(d.Revision, "?"))
}
