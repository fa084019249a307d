package page

import (
	"time"

	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
)

// rolloutView is a rollout for printing.
type rolloutView struct {
	report.Rollout

	Link     commitLink
	Started  timeView // of its state
	Badge    badge
	Troubled []guestLink // guests that were not ready when the batch failed
}

// newRollouts returns the rollouts of a report.
func (f frame) newRollouts(rollouts []report.Rollout) []rolloutView {
	var list []rolloutView
	for _, r := range rollouts {
		v := rolloutView{Rollout: r, Link: f.links.commit(r.Revision), Started: timeView{r.Since, f.Now}, Badge: rolloutBadge(r.State)}
		for _, label := range r.Failed[:min(len(r.Failed), maxLinks)] {
			v.Troubled = append(v.Troubled, f.links.guest(label))
		}
		list = append(list, v)
	}
	return list
}

func rolloutBadge(s journal.RolloutState) badge {
	b := badge{Tone: idle, Text: string(s)}
	switch s {
	case journal.RolloutRunning:
		b.Tone = busy
	case journal.RolloutPaused, journal.RolloutHeld, journal.RolloutAborted:
		b.Tone = warn
	case journal.RolloutFailed:
		b.Tone = bad
	case journal.RolloutDone:
		b.Tone = good
	}
	return b
}

// rolloutNotices returns a notice for each rollout that waits for a person.
func rolloutNotices(r report.Report, now time.Time) []notice {
	var list []notice
	for _, one := range r.Rollouts {
		b := rolloutBadge(one.State)
		if one.State == journal.RolloutPaused && one.Hint == "" || b.Tone != warn && b.Tone != bad {
			continue
		}
		list = append(list, notice{
			Tone: b.Tone, Title: one.Label() + ": " + one.Text(), Text: one.Why, Hint: one.Hint, Since: timeView{one.Since, now}, Guests: one.Failed[:min(len(one.Failed), maxLinks)],
		})
	}
	return list
}
