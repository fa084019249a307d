// Package fleet summarises the reports of the agents of several clusters, one row for each. It is pure: what reads the agents is
// cmd/gitops-agent/internal/fleetview.
package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gitops-agent/internal/status/words"
	"gitops-agent/reconcile/report"
)

// State is the most urgent thing that a row says of a cluster.
type State string

// The states, most urgent first.
const (
	Unreachable State = "unreachable" // its agent does not answer, or what answers is no agent
	Stale       State = "stale"       // its agent answers with a report that is older than StaleAfter
	Stopped     State = "stopped"     // its agent may not write
	Refused     State = "refused"     // its agent refused the newest commit
	Waiting     State = "waiting"     // its agent cannot decide about the newest commit yet
	Held        State = "held"        // steps wait for a person
	OutOfSync   State = "out-of-sync" // guests are out of sync, or lack what only root can set, or were not read yet
	Converged   State = "converged"
)

// States lists the states, most urgent first.
func States() []State {
	return []State{Unreachable, Stale, Stopped, Refused, Waiting, Held, OutOfSync, Converged}
}

// IsFailure reports whether the agent is not known to work, or refuses what was pushed. The other states are work that is left, or Converged.
func (s State) IsFailure() bool { return s == Unreachable || s == Stale || s == Refused }

// StaleAfter is the age above which a report says nothing about the present: an agent reports after each tick, every 15 s by default.
const StaleAfter = 5 * time.Minute

// Row is what a fleet shows of one cluster.
type Row struct {
	Target  string            `json:"target"`           // host:port, as the file of targets has it
	URL     string            `json:"url"`              // of the agent's status page
	Labels  map[string]string `json:"labels,omitempty"` // of the target's group, without those that begin with __
	Cluster string            `json:"cluster"`          // "" if it is unknown
	State   State             `json:"state"`
	Problem string            `json:"problem,omitempty"` // why the state is not converged, on one line

	Branch      string    `json:"branch,omitempty"`
	Commit      string    `json:"commit,omitempty"`     // in force; "" if none is
	Head        string    `json:"head,omitempty"`       // the newest commit for this cluster that the agent has fetched
	BehindSince time.Time `json:"behindSince,omitzero"` // when the head was fetched, or came in force, that is not in force, or not converged; zero if it is both
	Guests      int       `json:"guests"`
	Drifted     int       `json:"drifted"` // guests that others changed in the cluster
	Unknown     int       `json:"unknown"` // guests of which this is not known
	Held        int       `json:"held"`    // steps
	Time        time.Time `json:"time,omitzero"`
}

// NewRow returns the row of a report that was read at a time.
func NewRow(r report.Report, now time.Time) Row {
	row := Row{Cluster: cut(r.Cluster), Branch: cut(r.Source.Branch), Head: cut(r.Source.Head), Guests: len(r.Guests), Time: r.Time}
	for _, g := range r.Guests {
		if g.Sync == report.SyncUnknown {
			row.Unknown++
		}
		if !g.DriftSince.IsZero() {
			row.Drifted++
		}
		row.Held += len(g.Held)
	}
	if r.Guards != nil {
		row.Held += len(r.Guards.Held)
	}
	if a := r.Source.Accepted; a != nil {
		row.Commit = cut(a.Commit)
		if a.Converged.IsZero() {
			row.BehindSince = a.AcceptedAt
		}
	}
	if row.Head != row.Commit {
		row.BehindSince = r.Source.HeadSeen
	}
	row.State, row.Problem = judge(r, row, now)
	row.Problem = words.OneLine(cut(row.Problem))
	return row
}

// maxText bounds each text of a row, in bytes: rows stay in memory, and another host wrote the report.
const maxText = 2 << 10

func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}

// judge returns the most urgent state, and why it is not Converged.
func judge(r report.Report, row Row, now time.Time) (State, string) {
	source := r.Source
	switch {
	case r.Time.IsZero():
		return Stale, "the first cycle has not ended yet"
	case now.Sub(r.Time) > StaleAfter:
		return Stale, fmt.Sprintf("the newest report is of %s", r.Time.UTC().Format(time.RFC3339))
	case !r.Writes.Allowed:
		return Stopped, words.WithReason(string(r.Writes.Reason), r.Writes.Message)
	case source.Refused != nil:
		return Refused, fmt.Sprintf("%.10s: %s", source.Refused.Commit, words.WithReason(source.Refused.Reason, source.Refused.Error))
	case source.Waiting != nil:
		return Waiting, fmt.Sprintf("%.10s: %s", source.Waiting.Commit, words.WithReason(source.Waiting.Reason, source.Waiting.Text()))
	case row.Held > 0:
		return Held, firstHeld(r)
	case r.Converged && r.Except != nil:
		return OutOfSync, "in sync " + r.Except.String() + ": " + listed(r.Except.Guests)
	case r.Converged:
		return Converged, source.Error // the agent goes on with the revision in force
	}
	return OutOfSync, cmp.Or(source.Error, r.Proxmox.Error, r.Journal.Error, firstProblem(r))
}

// maxListed is how many names a text lists.
const maxListed = 20

func listed(names []string) string {
	if len(names) > maxListed {
		return strings.Join(names[:maxListed], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// firstHeld names the first held step, and why it is held.
func firstHeld(r report.Report) string {
	for _, g := range r.Guests {
		if len(g.Held) > 0 {
			return fmt.Sprintf("%s: %s: %s", g.Label(), g.Held[0].Op, words.WithReason(string(g.Held[0].Reason), g.Held[0].Message))
		}
	}
	return r.Guards.Held[0].Message
}

// firstProblem returns the first condition of a guest that is not in sync.
func firstProblem(r report.Report) string {
	for _, g := range r.Guests {
		if g.Sync != report.Synced && len(g.Conditions) > 0 {
			return g.Label() + ": " + g.Conditions[0].Message
		}
	}
	return ""
}

// Sort orders rows by urgency, then by cluster and target.
func Sort(rows []Row) {
	states := States()
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(slices.Index(states, a.State)-slices.Index(states, b.State), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Target, b.Target))
	})
}

// Revision returns the branch and the commit in force, "main@3f2a91c0", "" without one.
func (r Row) Revision() string {
	if r.Commit == "" {
		return ""
	}
	return r.Branch + "@" + words.ShortID(r.Commit)
}

// Counts returns the number of rows in each state.
func Counts(rows []Row) map[State]int {
	counts := make(map[State]int)
	for _, state := range States() {
		counts[state] = 0
	}
	for _, r := range rows {
		counts[r.State]++
	}
	return counts
}

// AllConverged reports whether every cluster is converged.
func AllConverged(rows []Row) bool {
	return !slices.ContainsFunc(rows, func(r Row) bool { return r.State != Converged })
}
