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
	"gitops-agent/internal/evidence"
	"gitops-agent/reconcile/intake"

	"github.com/spf13/cobra"
)

func newAllowRewriteCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "allow-rewrite FULL-SHA",
		Short: "Allow the agent to accept one commit that does not descend from the accepted one",
		Long: help(`Allows the agent on this host to accept one commit once, although the commit does not descend from the accepted revision: after a
history was rewritten or rolled back on purpose. The agent still checks everything else: the commit's signature, whether the signer may
make the change, its target and its age. Commits between the two are not verified, and their orders are not carried out.

The command writes a note to the state directory. The agent reads it at its next poll and removes it when it accepts the commit; its journal
keeps the event. A note for another commit replaces the note. To revoke it, remove the file allow-rewrite from the state directory.`,
			ending{term.ExitDone, "the note was written"}, ending{term.ExitError, "error; no note was written"}),
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
		return term.WithHint(term.UsageErrorf("%q is not a full commit id: want 40 lower-case hex digits, because a name can move to another commit", commit), "git rev-parse REV prints the full id")
	}
	config, err := readConfig(configPath)
	if err != nil {
		return err
	}
	if err := checkOwner(config.StateDir); err != nil {
		return err
	}
	state, err := config.JournalState(ctx)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	inForce := "of the accepted revision"
	if a := state.Accepted; a != nil {
		if a.Commit == commit {
			return fmt.Errorf("%s is in force already, so nothing needs to be allowed", commit)
		}
		inForce = fmt.Sprintf("of %.10s, which is in force", a.Commit)
	}
	if err := (intake.RewriteNote{Dir: config.StateDir}).Write(id); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(notes, "gitops-agent: note: %s\n", term.Printable(assessment(ctx, config, id)))
	_, err = fmt.Fprintf(out, "%s may become the state of %s once, even if it is not a descendant %s.\n"+
		"The agent still checks its signature, signer, target and age. It reads the note at its next poll.\n",
		commit, term.Printable(config.Cluster.Name+"/"+config.Source.Branch), inForce)
	return err
}

// assessment describes who signed a commit, or why the agent would refuse it. The result does not prevent the note.
func assessment(ctx context.Context, config agent.Config, id gitsource.ID) string {
	repo, err := gitsource.OpenRepository(config.RepositoryDir())
	if err == nil {
		_, err = repo.Commit(ctx, id)
	}
	if err != nil {
		return "the agent has not fetched this commit, so it cannot be verified yet"
	}
	policy, err := config.Policy()
	if err != nil {
		return err.Error()
	}
	v := policy.WithEvidence(evidence.NewNotes(repo)).Audit(ctx, repo, id)
	if v.Err != nil {
		return "the agent would still refuse it: " + v.Err.Error()
	}
	return fmt.Sprintf("it was signed by %s at %s", v.Subject, v.ProvenTime.UTC().Format("2006-01-02 15:04:05 UTC"))
}
