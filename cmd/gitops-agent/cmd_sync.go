package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/statusview"
	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"

	"github.com/spf13/cobra"
)

func newSyncCommand(p *program) *cobra.Command {
	opts := syncOptions{timeout: time.Minute}
	cmd := &cobra.Command{
		Use:   "sync",
		Short: "Let the agent on this host fetch the branch now",
		Long: help(`Lets the running agent on this host fetch the branch now, without waiting for its next poll, and shows what became of the newest commit. What the
revision then changes takes its time: gitops-agent status --wait converged waits for it. For an agent on another host, use a webhook.`,
			ending{term.ExitDone, "the branch was fetched, and its newest commit is accepted, or for other targets, or waits for evidence"},
			ending{term.ExitError, "no agent listens on this host, or no remote served the branch"}, ending{term.ExitRefused, "the newest commit is refused"},
			ending{term.ExitTimeout, "the agent has not fetched and checked the branch in time"}),
		Example: "  git push && gitops-agent sync",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.config = p.config
			return runSync(cmd.Context(), p.out, p.err, opts)
		},
	}
	cmd.Flags().DurationVar(&opts.timeout, "timeout", opts.timeout, "the longest time to wait")
	outputFlag(cmd, &opts.output, outputText, outputJSON)
	return cmd
}

type syncOptions struct {
	config, output string
	timeout        time.Duration
}

func runSync(ctx context.Context, out, notes io.Writer, opts syncOptions) error {
	config, err := readConfig(opts.config)
	if err != nil {
		return err
	}
	client, err := statusview.NewClient(statusview.Target{}, func() (agent.Config, error) { return config, nil })
	if err != nil {
		return err
	}
	document, body, err := client.Sync(ctx, opts.timeout, term.NewProgress(notes))
	if body == nil {
		return err
	}
	if opts.output == outputJSON {
		_, _ = out.Write(body)
	} else {
		statusview.WriteHead(out, document.Report)
	}
	if err == nil && document.Source.Error != "" {
		return errors.New("no remote served the branch")
	}
	if head := document.Source.Checking(); err == nil && head != "" {
		return term.WithStatus(term.ExitTimeout, fmt.Errorf("the agent has fetched %.10s, and cannot check it yet", head))
	}
	if refused := document.Source.Refused; err == nil && refused != nil && refused.Commit == document.Source.Head {
		return term.WithStatus(term.ExitRefused, fmt.Errorf("the agent refuses the newest commit, %.10s", refused.Commit))
	}
	return err
}
