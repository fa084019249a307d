// Package proposal judges a tip before the agent sees it: one that is about to be pushed, or that waits in a pull request. It decides as the running agent
// would, by the config of the agent's host and by its journal, which has the accepted revision. It changes nothing.
//
// Judge reads config, journal and repository and returns a Document, which is the JSON result. Document.WriteText prints it for people, and
// Document.Err has the exit status. The decision is that of package intake; the floor in the cluster is not read.
//
// CheckRemotes fetches the branch from the remotes of a config and judges its tip by the same code.
//
// The commands verify --since-accepted and config check --cluster call this package.
package proposal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/audit"
	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/gitsource"
	"gitops-agent/internal/agent"
	"gitops-agent/internal/evidence"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// Options name the tip and where it is.
type Options struct {
	Config     agent.Config
	Repository audit.Repository
	Tip        string // a name of a commit
	Progress   *term.Progress
	Note       func(text string) // called for each note
}

// A Document is the JSON result of a judgement.
type Document struct {
	SchemaVersion int          `json:"schemaVersion"`
	Target        string       `json:"target"`
	Tip           string       `json:"tip"`
	Commit        string       `json:"commit"`         // that would come into force: the tip, or an older commit if newer ones name only other clusters
	Base          string       `json:"base,omitempty"` // the accepted revision
	Accepted      bool         `json:"accepted"`
	Reason        string       `json:"reason,omitempty"`
	Message       string       `json:"message,omitempty"`
	Hint          string       `json:"hint,omitempty"`
	Commits       []commitView `json:"commits"` // since the base, oldest first; empty if refused
	Warnings      []string     `json:"warnings"`

	Ahead *report.Ahead `json:"ahead,omitempty"` // the commits of the tip above Commit, which name only other targets
}

type commitView struct {
	ID         string    `json:"id"`
	Signer     string    `json:"signer"` // name in the policy
	Subject    string    `json:"subject"`
	Issuer     string    `json:"issuer"`
	ProvenTime time.Time `json:"provenTime"`
	Orders     int       `json:"orders"`
	Sealed     int       `json:"sealed"` // commits that it seals
}

// Judge decides whether the agent would accept the tip. An error means that nothing was decided.
func Judge(ctx context.Context, opts Options) (Document, error) {
	defer opts.Progress.End()
	state, err := readState(ctx, opts)
	if err != nil {
		return Document{}, err
	}
	policy, err := opts.Config.Policy()
	if err != nil {
		return Document{}, term.WithHint(err, "gitops-agent config check prints every problem of the config")
	}
	repo, closeRepo, err := opts.Repository.Open(ctx, opts.Config, opts.Progress)
	if err != nil {
		return Document{}, err
	}
	p := opts.proposal(repo, policy, state)
	var document Document
	if p.Promotion, err = opts.Config.Promotion(repo, nil); err == nil {
		document, err = judge(ctx, repo, opts, p)
	}
	return document, errors.Join(err, closeRepo())
}

// proposal returns what package intake judges, with the evidence in the notes of the repository.
func (o Options) proposal(repo *gitsource.Repository, policy *verify.Policy, state journal.State) intake.Proposal {
	return intake.Proposal{
		Repo: repo, Policy: policy, Scope: intake.Scope{Cluster: o.Config.Cluster.Name, Paths: o.Config.Source.Paths}, State: state,
		Note: intake.RewriteNote{Dir: o.Config.StateDir}, RecordSigners: o.Config.RecordsSigners(),
		Evidence: []verify.Evidence{evidence.NewNotes(repo)},
	}
}

// readState returns the state of the agent's journal. A damaged journal is an error, as it is for the agent.
func readState(ctx context.Context, opts Options) (journal.State, error) {
	state, err := opts.Config.JournalState(ctx)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		opts.Note(fmt.Sprintf("there is no journal in %s: the tip is judged as the first one of a new agent", opts.Config.StateDir))
		return journal.State{}, nil
	case err != nil:
		return journal.State{}, err
	case state.Accepted == nil:
		opts.Note("the agent has not accepted a revision yet: the tip is judged as the first one")
	}
	return state, nil
}

func judge(ctx context.Context, repo *gitsource.Repository, opts Options, p intake.Proposal) (Document, error) {
	tip, err := repo.Resolve(ctx, opts.Tip)
	if err != nil {
		return Document{}, err
	}
	j, err := p.Judge(ctx, tip)
	d := Document{
		SchemaVersion: term.SchemaVersion, Target: opts.Config.Cluster.Name + "/" + opts.Config.Source.Branch, Tip: string(tip), Commit: string(j.Commit), Base: string(j.Base),
		Accepted: err == nil, Commits: []commitView{}, Warnings: []string{}, Ahead: j.Ahead,
	}
	if err != nil {
		refused := intake.Refusal(tip, err)
		if refused == nil {
			return Document{}, err
		}
		d.Reason, d.Message, d.Hint = refused.Reason, refused.Error, refused.Hint
		return d, nil
	}
	for _, c := range j.Accepted.Revision().Commits() {
		d.Commits = append(d.Commits, commitView{string(c.ID), c.Signer, c.Subject, c.Issuer, c.ProvenTime, len(c.Orders), len(c.Sealed)})
	}
	d.Warnings = append(d.Warnings, j.Accepted.Warnings()...)
	return d, nil
}

// WriteText prints the judgement: the commits that would come into force, or why the tip would be refused.
func (d Document) WriteText(out io.Writer) {
	if !d.Accepted {
		_, _ = fmt.Fprintf(out, "refused %s: %s\n  %s\n", d.Tip, d.Reason, term.Printable(d.Message))
		if d.Hint != "" {
			_, _ = fmt.Fprintf(out, "  remedy: %s\n", term.Printable(d.Hint))
		}
		return
	}
	if a := d.Ahead; a != nil {
		word := "note"
		if len(a.Unknown) > 0 {
			word = "warning"
		}
		_, _ = fmt.Fprintf(out, "%s: %s\n", word, term.Printable(a.Text()))
		if a.Hint != "" {
			_, _ = fmt.Fprintf(out, "  remedy: %s\n", term.Printable(a.Hint))
		}
	}
	for _, w := range d.Warnings {
		_, _ = fmt.Fprintf(out, "warning: %s\n", term.Printable(w))
	}
	if len(d.Commits) > 0 {
		t := term.Table{}
		t.AddText("COMMIT", "NAME", "SIGNER", "ISSUER", "PROVEN")
		for _, c := range d.Commits {
			t.AddText(c.ID[:10], c.Signer, c.Subject, c.Issuer, c.ProvenTime.UTC().Format(time.RFC3339))
		}
		t.Write(out, term.NewPalette(out))
		_, _ = fmt.Fprintln(out)
	}
	switch {
	case d.Commit == d.Base:
		_, _ = fmt.Fprintf(out, "accepted %s: %s stays at %s\n", d.Tip, term.Printable(d.Target), d.Base)
	case d.Base == "":
		_, _ = fmt.Fprintf(out, "accepted %s: the first revision of %s\n", d.Commit, term.Printable(d.Target))
	default:
		_, _ = fmt.Fprintf(out, "accepted %s: %s since %s, for %s\n", d.Commit, term.Count(len(d.Commits), "commit"), d.Base[:10], term.Printable(d.Target))
	}
}

// Err returns an error with the status ExitRefused if the agent would refuse the tip.
func (d Document) Err() error {
	if d.Accepted {
		return nil
	}
	return term.WithStatus(term.ExitRefused, nil)
}
