package attest

import (
	"context"
	"log/slog"

	"gitops-agent/gitsource"
	"gitops-agent/internal/newest"
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
	newest  *newest.Value[Statement[Convergence]]
	offered string // commit of the newest statement; only Offer uses it
}

// NewPublisher returns a publisher.
func NewPublisher(opts Options) *Publisher {
	return &Publisher{opts: opts, newest: newest.New[Statement[Convergence]]()}
}

// Offer gives the newest report, and does not wait: the engine calls it, in one goroutine. The digest of the state is computed once for each revision.
func (p *Publisher) Offer(latest report.Report) {
	if a := latest.Source.Accepted; a == nil || a.Commit == p.offered {
		return
	}
	statement, converged := convergenceOf(latest, p.opts.Version)
	if !converged {
		return
	}
	p.offered = latest.Source.Accepted.Commit
	p.newest.Offer(statement)
}

// Run writes statements until ctx ends. It tries again while the directory cannot be written; a revision that is replaced meanwhile gets no statement.
func (p *Publisher) Run(ctx context.Context) { p.newest.Run(ctx, p.writeOnce) }

// Write writes the newest statement, for an agent that ends after one run and does not call Run.
func (p *Publisher) Write(ctx context.Context) {
	if statement := p.newest.Load(); statement != nil {
		p.writeOnce(ctx, *statement)
	}
}

// writeOnce writes a statement, unless an earlier run wrote one about the commit: a statement is never replaced. It returns false if the attempt should be
// repeated.
func (p *Publisher) writeOnce(ctx context.Context, statement Statement[Convergence]) bool {
	cluster, commit := statement.Predicate.Cluster, gitsource.ID(statement.Subject[0].Digest[GitCommit])
	known, err := p.opts.Directory.has(cluster, commit)
	if known {
		return true
	}
	if err == nil {
		err = p.write(ctx, cluster, commit, statement)
	}
	if err != nil {
		p.opts.OnResult(Failed)
		p.opts.Logger.WarnContext(ctx, "attestation not written yet", "revision", statement.Predicate.Revision, "error", err)
		return false
	}
	p.opts.OnResult(Written)
	p.opts.Logger.InfoContext(ctx, "attestation written", "revision", statement.Predicate.Revision, "file", p.opts.Directory.file(cluster, commit))
	return true
}

func (p *Publisher) write(ctx context.Context, cluster string, commit gitsource.ID, statement Statement[Convergence]) error {
	text, err := p.opts.Signer.sign(ctx, statement)
	if err != nil {
		return err
	}
	return p.opts.Directory.write(cluster, commit, text)
}
