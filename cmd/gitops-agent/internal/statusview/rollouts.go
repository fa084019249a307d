package statusview

import (
	"fmt"
	"strings"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
)

// rolloutsTable lists rollouts, with what a person should know of each below it.
func rolloutsTable(rollouts []report.Rollout, now time.Time) term.Table {
	t := term.Table{Indent: "  "}
	if len(rollouts) == 0 {
		return t
	}
	t.AddText("ROLLOUT", "STATE", "SINCE", "BATCH", "WAITING", "COMMIT", "")
	for _, r := range rollouts {
		t.Add(term.Cell{Text: r.Name}, term.Cell{Text: string(r.State), Colour: rolloutColour(r.State)}, term.Cell{Text: span(max(now.Sub(r.Since), 0)) + " ago"},
			term.Cell{Text: fmt.Sprintf("%d of %d", r.Batch, r.Batches)}, term.Cell{Text: fmt.Sprintf("%d of %s", r.Withheld, term.Count(r.Guests, "guest"))},
			term.Cell{Text: r.Revision[:min(len(r.Revision), shortCommit)]}, term.Cell{Text: r.Why})
		if r.Hint != "" {
			t.AddText("", "", "", "", "", "", r.Hint)
		}
	}
	return t
}

func rolloutColour(s journal.RolloutState) term.Colour {
	switch s {
	case journal.RolloutDone:
		return term.Green
	case journal.RolloutFailed:
		return term.Red
	case journal.RolloutPaused, journal.RolloutHeld, journal.RolloutAborted:
		return term.Yellow
	case journal.RolloutRunning:
	}
	return term.Plain
}

// rolloutsOver reports whether every rollout is done, or one of them goes on only with a person, which is an error. A rollout that pauses goes on.
func rolloutsOver(r report.Report, revision string) (bool, error) {
	if !inForce(r, revision) {
		return false, nil
	}
	over := true
	for _, one := range r.Rollouts {
		switch one.State {
		case journal.RolloutFailed, journal.RolloutHeld, journal.RolloutAborted:
			return true, term.WithHint(fmt.Errorf("%s: %s: %s", one.Label(), one.Text(), one.Why), one.Hint)
		case journal.RolloutRunning, journal.RolloutPaused:
			over = false
		case journal.RolloutDone:
		}
	}
	return over, nil
}

// rolloutsLeft describes the rollouts that are not done, "" if all are.
func rolloutsLeft(r report.Report) string {
	var left []string
	for _, one := range r.Rollouts {
		if !one.Ended() {
			text := one.Label() + ": " + one.Text()
			if one.Why != "" {
				text += ": " + one.Why
			}
			left = append(left, text)
		}
	}
	return strings.Join(left, "; ")
}
