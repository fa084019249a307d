package main

import (
	"context"
	"io"
	"strings"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/statusview"
	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/selection"

	"github.com/spf13/cobra"
)

func newStatusCommand(p *program) *cobra.Command {
	var opts statusOptions
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the report of the running agent, or wait until the cluster is converged",
		Long: help(`Shows the newest report of the running agent: the revision in force, why a newer one was refused, and every guest. With --wait it polls
until the cluster is converged.

The flags that select, sort and group guests have the names and values of the parameters of the status page. A guest is shown if it matches all of
them; --sync and --health take several values, separated by commas.`,
			ending{term.ExitDone, "the report was printed; with --wait: converged"},
			ending{term.ExitError, "the agent does not answer, or it refused the revision of --revision"}, ending{term.ExitTimeout, "with --wait: not converged in time"}),
		Example: `  gitops-agent status
  gitops-agent status --wait converged --revision "$(git rev-parse HEAD)" --timeout 10m
  gitops-agent status --problems --sort drift
  gitops-agent status --search "web prod" --group node
  gitops-agent status -o json --url https://agent.example.org:9746 --token-file /etc/gitops-agent/status-token`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.config = p.config
			var err error
			if opts.selection, err = selectionOf(cmd); err != nil {
				return err
			}
			return runStatus(cmd.Context(), p.out, p.err, opts)
		},
	}
	targetFlags(cmd, &opts.agent)
	cmd.Flags().Var(choice{&opts.wait, []string{waitConverged}}, "wait", "wait for this state")
	completeWords(cmd, "wait", []string{waitConverged})
	cmd.Flags().StringVar(&opts.revision, "revision", "", "with --wait: the `commit` that must be in force, seven digits or more")
	cmd.Flags().DurationVar(&opts.timeout, "timeout", 5*time.Minute, "with --wait: the longest time to wait")
	addSelectionFlags(cmd)
	outputFlag(cmd, &opts.output, outputText, outputJSON)
	return cmd
}

// waitConverged is the word of --wait.
const waitConverged = "converged"

type statusOptions struct {
	config    string
	agent     statusview.Target
	wait      string
	revision  string
	timeout   time.Duration
	selection selection.Selection
	output    string
}

func (o statusOptions) check() error {
	switch {
	case o.wait == "" && o.revision != "":
		return term.UsageErrorf("--revision needs --wait")
	case o.revision != "" && (len(o.revision) < 7 || strings.Trim(o.revision, "0123456789abcdef") != ""):
		return term.UsageErrorf("--revision %q: want at least seven lower-case hex digits of a commit", o.revision)
	case o.timeout <= 0:
		return term.UsageErrorf("--timeout must be positive")
	}
	return nil
}

func runStatus(ctx context.Context, out, notes io.Writer, opts statusOptions) error {
	if err := opts.check(); err != nil {
		return err
	}
	client, err := statusview.NewClient(opts.agent, configReader(opts.config))
	if err != nil {
		return err
	}
	var document report.Document
	var body []byte
	if opts.wait == "" {
		document, body, err = client.Read(ctx)
	} else {
		document, body, err = client.AwaitConverged(ctx, statusview.Wait{Revision: opts.revision, Timeout: opts.timeout, Progress: term.NewProgress(notes)})
	}
	if body == nil {
		return err
	}
	switch {
	case opts.output != outputJSON:
		statusview.WriteReport(out, document.Report, opts.selection)
	case len(opts.selection.Values()) > 0:
		selected, problem := statusview.Select(document, opts.selection)
		if problem != nil {
			return problem
		}
		_, _ = out.Write(selected)
	default:
		_, _ = out.Write(body)
	}
	return err
}
