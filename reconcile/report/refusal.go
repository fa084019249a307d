package report

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Reasons of a RefusedError, in addition to the reasons of a verify.RejectedError.
const (
	RefusedManifests = "manifests"
	RefusedCluster   = "wrong-cluster"
	RefusedTree      = "tree"
	RefusedScope     = "out-of-scope" // package verify uses the same reason for paths
	RefusedPromotion = "not-promoted"
)

// WaitingStatement is the reason of a head that waits for the statement of another cluster. The other reason is that of package verify for missing evidence.
const WaitingStatement = "statement-missing"

// RefusedReasons lists the reasons, for metrics that start at zero.
func RefusedReasons() []string {
	return []string{RefusedManifests, RefusedCluster, RefusedTree, RefusedScope, RefusedPromotion}
}

// RefusalDocs returns what docs/refusals.md says of a reason that package verify does not have: what it means and what to do, in Markdown. It returns "" for any other.
func RefusalDocs(reason string) string {
	switch reason {
	case RefusedManifests:
		return "The manifests of the tip cannot be read, or conflict with one another: an unknown field, a value out of range, a guest or vmid twice, no Cluster or two, a character that people do not see. The message contains file and line, and `gitops-agent validate DIR` shows the same before a commit. Correct them and sign a new commit on top."
	case RefusedCluster:
		return "The name of the Cluster in the repository differs from `cluster.name` in the agent's config. Point the agent at its own repository and branch, or correct one of the names."
	case RefusedTree:
		return "Under `source.paths` the tip contains an entry that is not a regular file with a plain name, or exceeds the limits: 1 MiB for a file, 64 MiB and 10,000 files in total, 100,000 entries. Or a folder of `source.paths` is not in it. The message contains the path. Remove the entry and sign a new commit, or leave its folder out of `source.paths`."
	case RefusedPromotion:
		return "`trust.promotion` is configured, the commit changes files, and its trailer `Gitops-Promoted` is missing, not `<cluster>/<branch>@<commit>` with all 40 digits, about another cluster, or about a commit that is not in the history or has other files. Sign a commit without changes on the revision that staging matched: [From staging to production](fleet.md#from-staging-to-production)."
	case WaitingStatement:
		return "The commit waits for a statement by a key of `trust.promotion.key_files` that the other cluster matched the promoted revision. When staging has converged, push its attestation: [attestations.md](attestations.md#in-the-repository). Statements that count for nothing are named with the reason."
	}
	return ""
}

// WaitingHead describes a head that cannot be decided yet, and what it waits for. It is neither accepted nor refused, and every poll tries again.
type WaitingHead struct {
	Commit  string    `json:"commit"`
	Reason  string    `json:"reason"` // evidence-missing or statement-missing
	Error   string    `json:"error"`
	Problem string    `json:"problem,omitempty"` // why it was not found, if more is known
	Hint    string    `json:"hint,omitempty"`
	Since   time.Time `json:"since"`
}

// ForEvidence reports whether a head waits for evidence of the transparency log. It is false for nil.
func (w *WaitingHead) ForEvidence() bool { return w != nil && w.Reason != WaitingStatement }

// Text returns the error and the problem, for people.
func (w WaitingHead) Text() string {
	if w.Problem == "" {
		return w.Error
	}
	return w.Error + ": " + strings.ReplaceAll(w.Problem, "\n", "; ")
}

// Ahead describes the commits of the branch above the candidate. They name only other targets, so this agent passes over them.
type Ahead struct {
	Commit  string   `json:"commit"` // the head
	Commits int      `json:"commits"`
	Targets []string `json:"targets"` // that they name, sorted
	IDs     []string `json:"ids"`     // of the newest 100 commits, the newest first

	// Unknown are the targets that no agent can follow: the repository has no manifest of the kind Cluster with their name.
	Unknown      []string `json:"unknown,omitempty"`
	Misaddressed int      `json:"misaddressed,omitempty"` // how many of the newest 100 commits name only unknown targets
	Hint         string   `json:"hint,omitempty"`         // what to do about unknown targets
}

// Text says it to people.
func (a Ahead) Text() string {
	commits := "1 commit"
	if a.Commits != 1 {
		commits = fmt.Sprintf("%d commits", a.Commits)
	}
	text := fmt.Sprintf("the branch is %s ahead, up to %.10s, for other targets only: %s", commits, a.Commit, strings.Join(a.Targets, ", "))
	if len(a.Unknown) > 0 {
		text += "; no manifest of the kind Cluster in the repository has the name that they give: " + strings.Join(a.Unknown, ", ")
	}
	return text
}

// Has reports whether one of these commits begins with some digits.
func (a *Ahead) Has(digits string) bool {
	return a != nil && digits != "" && slices.ContainsFunc(append([]string{a.Commit}, a.IDs...), func(id string) bool { return strings.HasPrefix(id, digits) })
}

// Refused describes the refused head.
type Refused struct {
	Commit string    `json:"commit"`
	Reason string    `json:"reason"`
	Error  string    `json:"error"`
	Hint   string    `json:"hint,omitempty"`
	Since  time.Time `json:"since"`
}
