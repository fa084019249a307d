package attest

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/report"
)

// Result is what became of an attempt to write a statement. It is a label of metrics.
type Result string

// Results of attempts.
const (
	Written Result = "written"
	Failed  Result = "failed" // it is tried again
)

// Results lists every result, for metrics that start at zero.
func Results() []Result { return []Result{Written, Failed} }

// Times of retries.
const (
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
)

// Options configures a Publisher.
type Options struct {
	Signer    *Signer
	Directory Directory
	Version   string // of this program
	OnResult  func(Result)
	Logger    *slog.Logger
}

// Publisher writes a statement after the first convergence of each revision. Create it with NewPublisher, then call Run.
type Publisher struct {
	opts    Options
	newest  atomic.Pointer[Statement[Convergence]] // that Run has not written
	changed chan struct{}
	offered string // commit of the newest statement; only Offer uses it
}

// NewPublisher returns a publisher.
func NewPublisher(opts Options) *Publisher {
	return &Publisher{opts: opts, changed: make(chan struct{}, 1)}
}

// Offer gives the newest report, and does not wait: the engine calls it, in one goroutine. The digest of the state is computed once for each revision.
func (p *Publisher) Offer(newest report.Report) {
	if a := newest.Source.Accepted; a == nil || a.Commit == p.offered {
		return
	}
	statement, converged := convergenceOf(newest, p.opts.Version)
	if !converged {
		return
	}
	p.offered = newest.Source.Accepted.Commit
	p.newest.Store(&statement)
	select {
	case p.changed <- struct{}{}:
	default: // Run has not looked yet, and will see the newest one
	}
}

// Run writes statements until ctx ends. It tries again while the directory cannot be written; a revision that is replaced meanwhile gets no statement.
func (p *Publisher) Run(ctx context.Context) {
	wait := firstRetry
	var retry <-chan time.Time
	for {
		select {
		case <-p.changed:
		case <-retry:
		case <-ctx.Done():
			return
		}
		retry = nil
		if p.Write(ctx) {
			wait = firstRetry
			continue
		}
		retry = time.After(wait)
		wait = min(2*wait, lastRetry)
	}
}

// Write writes the newest statement, unless an earlier run wrote one about the commit: a statement is never replaced. It returns false if the attempt should
// be repeated. Run calls it; an agent that ends after one run calls it instead of Run.
func (p *Publisher) Write(ctx context.Context) bool {
	statement := p.newest.Load()
	if statement == nil {
		return true
	}
	cluster, commit := statement.Predicate.Cluster, gitsource.ID(statement.Subject[0].Digest[GitCommit])
	known, err := p.opts.Directory.has(cluster, commit)
	if err == nil && !known {
		err = p.write(ctx, cluster, commit, *statement)
	}
	if err != nil {
		p.opts.OnResult(Failed)
		p.opts.Logger.WarnContext(ctx, "attestation not written yet", "revision", statement.Predicate.Revision, "error", err)
		return false
	}
	p.newest.CompareAndSwap(statement, nil)
	if !known {
		p.opts.OnResult(Written)
		p.opts.Logger.InfoContext(ctx, "attestation written", "revision", statement.Predicate.Revision, "file", p.opts.Directory.file(cluster, commit))
	}
	return true
}

func (p *Publisher) write(ctx context.Context, cluster string, commit gitsource.ID, statement Statement[Convergence]) error {
	text, err := p.opts.Signer.sign(ctx, statement)
	if err != nil {
		return err
	}
	return p.opts.Directory.write(cluster, commit, text)
}
