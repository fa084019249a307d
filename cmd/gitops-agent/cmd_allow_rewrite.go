package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/gitsource"
	"gitops-agent/internal/agent"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"

	"github.com/spf13/cobra"
)

func newAllowRewriteCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "allow-rewrite FULL-SHA",
		Short: "Let the agent accept one commit that does not descend from the accepted one",
		Long: help(`Lets the agent on this host accept one commit as its state once, although the commit does not descend from what was accepted
last: after a history was rewritten or rolled back on purpose. The agent goes on to ask for everything else: the commit's signature, a
signer who may sign it, its target and its age. What lies between the two is neither verified nor carried out as orders.

It leaves a note in the state directory, which the agent reads at its next look at the remote and removes when it accepted the commit; its
journal keeps the event. A note for another commit replaces it, and removing the file allow-rewrite there takes it back.`,
			ending{term.ExitDone, "the note was left"}, ending{term.ExitError, "error; nothing is allowed"}),
		Example: `  gitops-agent allow-rewrite "$(git rev-parse origin/main)"
  gitops-agent allow-rewrite 3f2a1c9d0e8b7a6c5d4e3f2a1b0c9d8e7f6a5b4c`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runAllowRewrite(cmd.Context(), p.out, p.err, p.config, args[0])
		},
	}
}

func runAllowRewrite(ctx context.Context, out, notes io.Writer, configPath, commit string) error {
	id, err := gitsource.ParseID(commit)
	if err != nil {
		return term.WithHint(term.UsageErrorf("%q is no full commit id: want 40 lower-case hex digits, since a name may mean another commit tomorrow", commit), "git rev-parse REV prints the full id")
	}
	config, err := readConfig(configPath)
	if err != nil {
		return err
	}
	if err := checkOwner(config.StateDir); err != nil {
		return err
	}
	state, err := journal.ReadState(config.JournalDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	inForce := "of whatever was accepted last"
	if a := state.Accepted; a != nil {
		if a.Commit == commit {
			return fmt.Errorf("%s is in force already: there is nothing to allow", commit)
		}
		inForce = fmt.Sprintf("of %.10s, which is in force", a.Commit)
	}
	if err := (intake.RewriteNote{Dir: config.StateDir}).Leave(id); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(notes, "gitops-agent: note: %s\n", term.Printable(foreseen(ctx, config, id)))
	_, err = fmt.Fprintf(out, "%s may become the state of %s once, although it need not be a descendant %s.\n"+
		"Its signature, signer, target and age are checked all the same. The agent looks at its next poll.\n",
		commit, term.Printable(config.Cluster.Name+"/"+config.Source.Branch), inForce)
	return err
}

// foreseen says what is known of a commit before the agent looks at it. Knowing nothing is no reason not to allow it.
func foreseen(ctx context.Context, config agent.Config, id gitsource.ID) string {
	repo, err := gitsource.OpenRepository(config.RepositoryDir())
	if err == nil {
		_, err = repo.Commit(ctx, id)
	}
	if err != nil {
		return "the agent has not fetched this commit, so nothing is known of it yet"
	}
	policy, err := config.Policy()
	if err != nil {
		return err.Error()
	}
	v := policy.Audit(ctx, repo, id)
	if v.Err != nil {
		return "the agent would refuse it all the same: " + v.Err.Error()
	}
	return fmt.Sprintf("it was signed by %s at %s", v.Subject, v.ProvenTime.UTC().Format("2006-01-02 15:04:05 UTC"))
}
