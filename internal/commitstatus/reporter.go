package commitstatus

import (
	"context"
	"errors"
	"log/slog"

	"gitops-agent/internal/forge"
	"gitops-agent/internal/newest"
	"gitops-agent/reconcile/report"
)

// Result is what became of an attempt. It is a label of metrics.
type Result string

// Results of attempts.
const (
	Sent    Result = "sent"
	Retried Result = "retried"
	Failed  Result = "failed" // the forge refused it; the next state is tried again
)

// Results lists every result, for metrics that start at zero.
func Results() []Result { return []Result{Sent, Retried, Failed} }

// Reporter sends statuses. Create it with New, then call Run.
type Reporter struct {
	forge    Forge
	onResult func(Result)
	log      *slog.Logger
	newest   *newest.Value[report.Report]
	sent     map[string]Status // by commit, of the newest report and the one before; only Run uses it
}

// New returns a reporter. onResult is called for each attempt.
func New(forge Forge, onResult func(Result), log *slog.Logger) *Reporter {
	return &Reporter{forge: forge, onResult: onResult, log: log, newest: newest.New[report.Report](), sent: make(map[string]Status)}
}

// Offer gives the newest report, and does not wait: the engine calls it.
func (r *Reporter) Offer(latest report.Report) { r.newest.Offer(latest) }

// Run sends statuses until ctx ends.
func (r *Reporter) Run(ctx context.Context) { r.newest.Run(ctx, r.sendAll) }

// sendAll sends the statuses that differ from what was sent. It returns false if an attempt should be repeated.
func (r *Reporter) sendAll(ctx context.Context, latest report.Report) bool {
	wanted := statusesOf(latest)
	if len(wanted) == 0 {
		return true
	}
	for commit, before := range r.sent {
		_, still := wanted[commit]
		switch {
		case still:
		case latest.Source.Accepted != nil && (before.State == Pending || before.State == Held):
			wanted[commit] = newStatus(Replaced, "replaced by %.12s before every guest was in sync", latest.Source.Accepted.Commit)
		default:
			delete(r.sent, commit)
		}
	}
	for commit, s := range wanted {
		before, known := r.sent[commit]
		if before == s || known && r.forge.Kind == forge.GitLab && r.forge.word(before.State) == r.forge.word(s.State) {
			continue // GitLab refuses a state that the commit already has
		}
		err := r.forge.send(ctx, commit, s)
		var permanent permanentError
		switch {
		case ctx.Err() != nil:
			return true
		case err == nil:
			r.onResult(Sent)
		case errors.As(err, &permanent):
			r.onResult(Failed)
			r.log.WarnContext(ctx, "commit status refused by the forge", "commit", commit, "state", s.State, "error", err)
		default:
			r.onResult(Retried)
			r.log.WarnContext(ctx, "commit status not sent yet", "commit", commit, "state", s.State, "error", err)
			return false
		}
		r.sent[commit] = s
	}
	return true
}
