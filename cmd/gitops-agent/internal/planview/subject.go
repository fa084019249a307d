package planview

import (
	"cmp"
	"strings"

	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/plan"
)

// A Basis states where the planned manifests come from, and how far they are trusted.
type Basis string

// The sources of manifests.
const (
	BasisAccepted    Basis = "accepted"     // the revision that the agent accepted last
	BasisVerified    Basis = "verified"     // a revision that the agent would accept now
	BasisUnverified  Basis = "unverified"   // a revision that the agent would refuse
	BasisNotPromoted Basis = "not-promoted" // a revision that verifies, and that trust.promotion refuses or lets wait
	BasisWorkingCopy Basis = "working-copy" // files that were never committed
)

// A Subject is the input of a plan except for the cluster: the manifests and the state of the agent.
type Subject struct {
	Basis    Basis
	Revision string // "main@sha1:<40 hex>", or the directory of a working copy
	Set      manifest.Set
	State    journal.State // of the journal

	Commit    string    // of a working copy, as the caller states it; "" is unknown
	Ownership Ownership // what State is based on
}

// Description names the manifests: "the accepted revision main@sha1:<40 hex>".
func (s Subject) Description() string { return describe(s.Basis, s.Revision, s.Commit) }

// Ownership states how it is known which guests the agent owns.
type Ownership string

// OwnershipAssumed means that the agent owns the guests with a marker that the manifests of the base name. The zero value is the agent's journal.
const OwnershipAssumed Ownership = "assumed"

// note says what the plan does not know, "" if it knows everything.
func (o Ownership) note() string {
	if o == "" {
		return ""
	}
	return "Planned without the agent's journal: guests with the marker of an agent that the target branch names count as its own."
}

// withoutDigests hides the digests of steps: a digest contains the identity of the guest, which only the agent's journal has.
func withoutDigests(judge func(plan.Step) gate.Verdict) func(plan.Step) gate.Verdict {
	return func(s plan.Step) gate.Verdict {
		v := judge(s)
		if v.Digest != "" {
			if strings.Contains(v.Hint, v.Digest) {
				v.Hint = "after the merge, gitops-agent status prints the command that approves it"
			}
			v.Digest = ""
		}
		return v
	}
}

func describe(b Basis, revision, commit string) string {
	what := map[Basis]string{
		BasisAccepted: "the accepted revision ", BasisVerified: "the verified revision ", BasisUnverified: "the UNVERIFIED revision ",
		BasisNotPromoted: "the NOT PROMOTED revision ",
		BasisWorkingCopy: "the working copy ",
	}[b]
	if commit != "" {
		return "the tree of commit " + commit
	}
	return what + strings.TrimSpace(cmp.Or(revision, "?"))
}
