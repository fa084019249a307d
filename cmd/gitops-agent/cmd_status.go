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
		Use:   "status [KIND/NAME | NAME | VMID]",
		Short: "Show the report of the running agent or one guest, or wait until the cluster is converged",
		Long: help(`Shows the newest report of the running agent: the revision in force, why a newer one was refused, and every guest. With --wait converged
it polls until the cluster is converged or only restarts are left that nothing releases, with --wait rollout until every rollout is done, or one
failed, was aborted or is held.

With a guest it shows what the page of the guest shows: its states, what it waits for and the command that releases it, each difference with its
manifest line, its configuration, and what was done to it by which commit.

The flags that select, sort and group guests have the names and values of the parameters of the status page. A guest is shown if it matches all of
them; --sync and --health take several values, separated by commas.`,
			ending{term.ExitDone, "the report was printed; with --wait: converged, or all rollouts done"},
			ending{term.ExitError, "the agent does not answer, it refused the revision of --revision, or a rollout goes on only with a person"}, ending{term.ExitChanges, "with --wait converged: only restarts are left that nothing releases, or the guests are in sync except for what only root can set, or for firewalls that have no effect"}, ending{term.ExitRefused, "the commit of --revision is for other targets only"}, ending{term.ExitTimeout, "with --wait: not converged in time"}),
		Example: `  gitops-agent status
  gitops-agent status --wait converged --revision "$(git rev-parse HEAD)" --timeout 10m
  gitops-agent status --problems --sort drift
  gitops-agent status VirtualMachine/web-1
  gitops-agent status --search "web prod" --group node
  gitops-agent status -o json --url https://agent.example.org:9746 --token-file /etc/gitops-agent/status-token`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.config = p.config
			var err error
			if opts.selection, err = selectionOf(cmd); err != nil {
				return err
			}
			if len(args) == 1 {
				return runStatusGuest(cmd.Context(), p.out, opts, args[0])
			}
			return runStatus(cmd.Context(), p.out, p.err, opts)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			opts.config = p.config
			return statusLabels(cmd.Context(), opts, args), cobra.ShellCompDirectiveNoFileComp
		},
	}
	targetFlags(cmd, &opts.agent)
	cmd.Flags().Var(choice{&opts.wait, []string{waitConverged, waitRollout}}, "wait", "wait for this state")
	completeWords(cmd, "wait", []string{waitConverged, waitRollout})
	cmd.Flags().StringVar(&opts.revision, "revision", "", "with --wait: the `commit` that must be in force, seven digits or more")
	cmd.Flags().DurationVar(&opts.timeout, "timeout", 5*time.Minute, "with --wait: the longest time to wait")
	addSelectionFlags(cmd)
	outputFlag(cmd, &opts.output, outputText, outputJSON)
	return cmd
}

// The words of --wait.
const (
	waitConverged = "converged"
	waitRollout   = "rollout"
)

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
		document, body, err = client.Await(ctx, statusview.Wait{Rollout: opts.wait == waitRollout, Revision: opts.revision, Timeout: opts.timeout, Progress: term.NewProgress(notes)})
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

// runStatusGuest prints one guest in full.
func runStatusGuest(ctx context.Context, out io.Writer, opts statusOptions, name string) error {
	if opts.wait != "" || opts.revision != "" || len(opts.selection.Values()) > 0 {
		return term.UsageErrorf("--wait, --revision and the flags that select guests do not go together with a guest")
	}
	client, err := statusview.NewClient(opts.agent, configReader(opts.config))
	if err != nil {
		return err
	}
	document, body, err := client.ReadGuest(ctx, name)
	if err != nil {
		return err
	}
	if opts.output == outputJSON {
		_, err = out.Write(body)
		return err
	}
	statusview.WriteGuest(out, document)
	return nil
}

// statusLabels returns the guests of the running agent, for the completion of the argument: none if it does not answer.
func statusLabels(ctx context.Context, opts statusOptions, args []string) []cobra.Completion {
	if len(args) > 0 {
		return nil
	}
	client, err := statusview.NewClient(opts.agent, configReader(opts.config))
	if err != nil {
		return nil
	}
	document, _, err := client.Read(ctx)
	if err != nil {
		return nil
	}
	labels := make([]cobra.Completion, 0, len(document.Guests))
	for _, g := range document.Guests {
		labels = append(labels, g.Label())
	}
	return labels
}
