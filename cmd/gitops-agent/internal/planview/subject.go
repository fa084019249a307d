package planview

import (
	"cmp"
	"strings"

	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
)

// A Basis states where the planned manifests come from, and how far they are trusted.
type Basis string

// The sources of manifests.
const (
	BasisAccepted    Basis = "accepted"     // the revision that the agent accepted last
	BasisVerified    Basis = "verified"     // a revision that the agent would accept now
	BasisUnverified  Basis = "unverified"   // a revision that the agent would refuse
	BasisWorkingCopy Basis = "working-copy" // files that were never committed
)

// A Subject is the input of a plan except for the cluster: the manifests and the state of the agent.
type Subject struct {
	Basis    Basis
	Revision string // "main@sha1:<40 hex>", or the directory of a working copy
	Set      manifest.Set
	State    journal.State // of the journal
}

// Description names the manifests: "the accepted revision main@sha1:<40 hex>".
func (s Subject) Description() string { return describe(s.Basis, s.Revision) }

func describe(b Basis, revision string) string {
	what := map[Basis]string{
		BasisAccepted: "the accepted revision ", BasisVerified: "the verified revision ", BasisUnverified: "the UNVERIFIED revision ",
		BasisWorkingCopy: "the working copy ",
	}[b]
	return what + strings.TrimSpace(cmp.Or(revision, "?"))
}
