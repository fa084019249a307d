package status

import (
	"fmt"
	"strings"

	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// Summary returns the state of the agent in one line, as a service manager shows it: "3f2a91c01b2d: 48 of 50 guests in sync, 2 held steps".
func Summary(r report.Report) string {
	if r.Time.IsZero() {
		return "the first cycle has not ended yet"
	}
	revision := "no revision accepted yet"
	if r.InForceUnknown() {
		revision = "it is unknown which revision is in force"
	}
	if r.Source.Accepted != nil {
		revision = r.Source.Accepted.Commit[:min(12, len(r.Source.Accepted.Commit))]
	}
	synced, unknown, held := 0, 0, 0
	for _, g := range r.Guests {
		switch g.Sync {
		case report.Synced:
			synced++
		case report.SyncUnknown:
			unknown++
		case report.OutOfSync:
		}
		held += len(g.Held)
	}
	text := fmt.Sprintf("%s: %d of %d guests in sync", revision, synced, len(r.Guests))
	if r.InForceUnknown() && len(r.Guests) == 0 {
		text = revision
	}
	if unknown > 0 {
		text += fmt.Sprintf(", %d unknown", unknown)
	}
	if held > 0 {
		text += fmt.Sprintf(", %d held steps", held)
	}
	if r.Source.Refused != nil {
		text += ", newest revision refused: " + string(r.Source.Refused.Reason)
	}
	if r.Source.Waiting != nil {
		text += ", newest revision waits: " + r.Source.Waiting.Reason
	}
	if r.Writes.Reason != reason.WritesAllowed {
		text += ", no writes: " + string(r.Writes.Reason)
	}
	return strings.ReplaceAll(text, "\n", " ")
}
