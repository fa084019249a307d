package statusview

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// pollInterval is the time between two requests of Await.
const pollInterval = 500 * time.Millisecond

// Wait holds the conditions of Await.
type Wait struct {
	Rollout  bool          // wait until every rollout is done, and not for convergence
	Revision string        // first digits of the commit that must be in force; "" is any
	Timeout  time.Duration // the longest time to wait
	Progress *term.Progress
}

// Await polls the agent until the cluster is converged, or its rollouts are done. Together with an error it returns the last document, if there was one.
func (c Client) Await(ctx context.Context, w Wait) (report.Document, []byte, error) {
	what := "not converged"
	if w.Rollout {
		what = "rollouts not done"
	}
	return c.poll(ctx, w.Timeout, w.Progress, polling{
		isOver: func(r report.Report) (bool, error) { return waitIsOver(r, w) },
		shows:  func(r report.Report, lastErr error) string { return "waiting: " + outstanding(r, w.Revision, lastErr) },
		late: func(r report.Report, lastErr error) error {
			return fmt.Errorf("%s in %s: %s", what, w.Timeout, outstanding(r, w.Revision, lastErr))
		},
	})
}

// Sync lets the agent of this host fetch the branch now, and returns its report when that has succeeded or failed. Together with an error it returns the last
// document, if there was one.
func (c Client) Sync(ctx context.Context, timeout time.Duration, progress *term.Progress) (report.Document, []byte, error) {
	begun := time.Now()
	if _, err := c.request(ctx, http.MethodPost, "/poll", maxStatus); err != nil {
		return report.Document{}, nil, fmt.Errorf("let the agent fetch the branch: %w", err)
	}
	return c.poll(ctx, timeout, progress, polling{
		isOver: func(r report.Report) (bool, error) { return r.Source.Polled.After(begun), nil },
		shows:  func(r report.Report, _ error) string { return "waiting for the newest commit of " + r.Source.Branch },
		late: func(report.Report, error) error {
			return fmt.Errorf("the agent has not fetched and checked the branch in %s", timeout)
		},
	})
}

// polling is what to look for in the agent's reports. Together with a report comes the error of the last request, nil if it succeeded.
type polling struct {
	isOver func(report.Report) (bool, error)
	shows  func(report.Report, error) string // of a report that is not over, for people
	late   func(report.Report, error) error  // when the time is over
}

// poll reads the agent's report until it is what was looked for. Together with an error it returns the last document, if there was one.
func (c Client) poll(ctx context.Context, timeout time.Duration, progress *term.Progress, p polling) (document report.Document, body []byte, err error) {
	defer progress.End()
	deadline, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	var lastErr error
	for {
		if d, b, err := c.Read(deadline); err == nil {
			document, body, lastErr = d, b, nil
		} else if deadline.Err() == nil {
			lastErr = err // the agent may be starting
		}
		if body != nil {
			if over, err := p.isOver(document.Report); over {
				return document, body, err
			}
		}
		progress.Show("%s", p.shows(document.Report, lastErr))
		select {
		case <-tick.C:
		case <-deadline.Done():
			if ctx.Err() != nil {
				return document, body, ctx.Err()
			}
			return document, body, term.WithStatus(term.ExitTimeout, p.late(document.Report, lastErr))
		}
	}
}

// waitIsOver reports whether the revision is converged, or its rollouts are done. It is an error if the agent refused it, if only restarts are left that nothing
// releases, or if the agent cannot do all of it.
func waitIsOver(r report.Report, w Wait) (bool, error) {
	revision := w.Revision
	if refused := r.Source.Refused; refused != nil && revision != "" && strings.HasPrefix(refused.Commit, revision) {
		return true, term.WithHint(fmt.Errorf("the agent refuses %s: %s", revision, refused.Error), refused.Hint)
	}
	if ahead := r.Source.Ahead; ahead.Has(revision) {
		hint := cmp.Or(ahead.Hint, "a commit for this cluster ends with the trailer Gitops-Target: <cluster>/<branch>; check how it is spelled")
		return true, term.WithStatus(term.ExitRefused, term.WithHint(fmt.Errorf("the agent passes over %s, which will not be in force here by itself: %s", revision, ahead.Text()), hint))
	}
	if w.Rollout {
		return rolloutsOver(r, revision)
	}
	if !inForce(r, revision) {
		return false, nil
	}
	if err := RestartsLeft(r); err != nil {
		return true, err
	}
	if !r.Converged {
		return false, nil
	}
	if r.Except != nil {
		return true, term.WithStatus(term.ExitChanges, fmt.Errorf("in sync %s: %s", r.Except, strings.Join(r.Except.Guests, ", ")))
	}
	return true, nil
}

// RestartsLeft returns an error with the guests that wait for a restart, if nothing else is left to do and nothing restarts them; nil otherwise. Its exit status is that of
// changes which are left.
func RestartsLeft(r report.Report) error {
	left := r.OnlyRestarts()
	if len(left) == 0 {
		return nil
	}
	verb := "waits"
	if len(left) > 1 {
		verb = "wait"
	}
	err := fmt.Errorf("everything is written, and %s for a restart: %s", term.Count(len(left), "guest")+" "+verb, strings.Join(left, ", "))
	return term.WithStatus(term.ExitChanges, term.WithHint(err, reason.RestartByHand.Text))
}

// inForce reports whether the accepted revision begins with these digits.
func inForce(r report.Report, revision string) bool {
	return r.Source.Accepted != nil && !r.AcceptedNotInForce() && strings.HasPrefix(r.Source.Accepted.Commit, revision)
}

// outstanding describes why the cluster is not converged yet.
func outstanding(r report.Report, revision string, lastErr error) string {
	switch {
	case lastErr != nil:
		return lastErr.Error()
	case r.Source.Waiting != nil && (revision == "" || strings.HasPrefix(r.Source.Waiting.Commit, revision)):
		return fmt.Sprintf("the head %.7s waits: %s", r.Source.Waiting.Commit, r.Source.Waiting.Reason)
	case r.Source.Accepted == nil:
		return r.NoneInForce()
	case r.AcceptedNotInForce():
		return fmt.Sprintf("%.7s is accepted, and not in force: %s", r.Source.Accepted.Commit, r.Writes.Message)
	case !inForce(r, revision):
		return fmt.Sprintf("%.7s is in force", r.Source.Accepted.Commit)
	case r.Source.Refused != nil:
		return fmt.Sprintf("the head %.7s is refused: %s", r.Source.Refused.Commit, r.Source.Refused.Reason)
	}
	if p := r.Writes.Paused; p != nil {
		return "the agent is paused " + p.String()
	}
	var left []string
	for _, g := range r.Guests {
		if g.Sync != report.Synced {
			left = append(left, g.Label())
		}
	}
	slices.Sort(left)
	if len(left) == 0 {
		return cmp.Or(rolloutsLeft(r), r.Source.Error, r.Proxmox.Error, r.Journal.Error, "the work is not finished")
	}
	return fmt.Sprintf("%s not in sync: %s", term.Count(len(left), "guest"), strings.Join(left, ", "))
}
