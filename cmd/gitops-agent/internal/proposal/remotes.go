package proposal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/gitsource"
	"gitops-agent/internal/agent"
	"gitops-agent/internal/evidence"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/writer"
	"gitops-agent/verify"
)

// Remotes is what the remotes of a config serve, and what the agent would decide about it.
type Remotes struct {
	Remotes []Remote // in the order of the config
	// Anchor is why the anchor is not on the first-parent path of the branch; nil if it is, or if the config has none.
	Anchor error
	Tip    Document // the judgement of the tip of the first remote that serves the branch; the zero value if none does, or if TipErr is set
	TipErr error    // why nothing was decided about that tip
}

// A Remote is what one remote serves.
type Remote struct {
	URL string
	Tip gitsource.ID // "" with Err
	Err error
}

// CheckRemotes fetches the branch from every remote of the config, into a temporary directory, and judges its tip as the running agent would. State is that
// of the agent's journal. It changes nothing.
func CheckRemotes(ctx context.Context, config agent.Config, state journal.State, floor writer.Floor, shown *term.Progress) (r Remotes, err error) {
	defer shown.End()
	dir, err := os.MkdirTemp("", "gitops-agent-check-")
	if err != nil {
		return Remotes{}, fmt.Errorf("create a directory for the remote: %w", err)
	}
	defer func() {
		if removing := os.RemoveAll(dir); err == nil && removing != nil {
			err = fmt.Errorf("remove the fetched repository: %w", removing)
		}
	}()
	for i, remote := range config.Source.Remotes {
		shown.Show("fetching %s", remote.URL)
		source, head, err := fetch(ctx, filepath.Join(dir, fmt.Sprint(min(len(r.Remotes), 1))), config, i) // the first remote has a directory of its own, because it is judged
		r.Remotes = append(r.Remotes, Remote{URL: remote.URL, Tip: head.Commit, Err: err})
		if err == nil && r.Tip.Tip == "" && r.TipErr == nil {
			r.judge(ctx, source, head, Options{Config: config, Tip: string(head.Commit)}, state, floor)
		}
	}
	return r, ctx.Err()
}

// fetch fetches the branch from one remote of the config.
func fetch(ctx context.Context, dir string, config agent.Config, remote int) (*gitsource.Source, gitsource.Head, error) {
	config.Source.Remotes = config.Source.Remotes[remote : remote+1]
	source, err := config.OpenSource(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, gitsource.Head{}, err
	}
	head, err := source.Fetch(ctx)
	return source, head, err
}

func (r *Remotes) judge(ctx context.Context, source *gitsource.Source, head gitsource.Head, opts Options, state journal.State, floor writer.Floor) {
	repo := source.Repository()
	r.Anchor = checkAnchor(ctx, repo, opts.Config, head.Commit)
	policy, err := opts.Config.Policy()
	if err != nil {
		r.TipErr = err
		return
	}
	p := opts.proposal(repo, policy, state)
	p.Floor = floor
	p.Evidence = evidence.NewFinder(source, nil).Sources(head.Notes)
	if p.Promotion, r.TipErr = opts.Config.Promotion(repo, source.FetchNotes); r.TipErr == nil {
		r.Tip, r.TipErr = judge(ctx, repo, opts, p)
	}
}

// maxHistory is how many commits are searched for the anchor.
const maxHistory = 200_000

// checkAnchor returns an error if the anchor of the config is not on the first-parent path of the tip.
func checkAnchor(ctx context.Context, repo *gitsource.Repository, config agent.Config, tip gitsource.ID) error {
	anchor := gitsource.ID(config.Trust.Anchor)
	if anchor == "" || anchor == tip {
		return nil
	}
	_, err := verify.FirstParents(ctx, repo, anchor, tip, maxHistory, nil)
	var rejected *verify.RejectedError
	if !errors.As(err, &rejected) || rejected.Reason != verify.ReasonNotDescendant {
		return err
	}
	where := "the branch does not contain it at all"
	if _, err := repo.Commit(ctx, anchor); err == nil {
		where = "it was only merged into the branch"
	}
	return term.WithHint(fmt.Errorf("trust.anchor %s is not on the first-parent path of %s: %s", anchor, config.Source.Branch, where), verify.ReasonMissingAnchor.Hint())
}
