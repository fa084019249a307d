package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/statusview"
	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"
	"gitops-agent/metrics"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/selection"

	"github.com/spf13/cobra"
)

func newRunCommand(p *program) *cobra.Command {
	var opts runOptions
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Apply the repository to the cluster",
		Long: help(`Applies the repository to the cluster until it is stopped: it polls the repository, accepts revisions that trusted signers signed, and
carries them out. With --once it polls once, works until a person is needed or nothing is left to do, and prints the report. With --dry-run it
observes, plans and reports, and writes nothing to the cluster.

One agent writes to a cluster at a time. The agent claims the cluster before its first write and stops writing when another agent has claimed it. With
--take-over it claims the cluster although another agent has claimed it: after the state directory was lost, restored or moved to another
host, and the other agent was stopped. A restart never needs it, so do not put it into the unit of a service.

SIGHUP makes the agent read its config again, with the files that it names. If anything in it is not valid, nothing changes and the log says why.`,
			ending{term.ExitDone, "stopped; with --once: converged"}, ending{term.ExitError, "error"},
			ending{term.ExitChanges, "with --once: guests are out of sync, steps are held, the state of a guest is unknown, or guests are in sync except for what only root can set"},
			ending{term.ExitRefused, "with --once: the newest revision is refused, or waits for evidence; the last accepted one stays in force"}),
		Example: `  gitops-agent run
  gitops-agent run --dry-run --log-level debug
  gitops-agent run --once
  gitops-agent run --once --take-over`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opts.takeOver && opts.dryRun {
				return term.WithStatus(term.ExitUsage, errors.New("--take-over writes to the cluster, and --dry-run excludes that"))
			}
			opts.config, opts.log, opts.build, opts.claimWait = p.config, p.logger(), thisBuild().Build, p.claimWait
			return runRun(cmd.Context(), p.out, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.once, "once", false, "end when a person is needed or nothing is left to do")
	cmd.Flags().BoolVar(&opts.dryRun, "dry-run", false, "write nothing to the cluster")
	cmd.Flags().BoolVar(&opts.takeOver, "take-over", false, "claim the cluster even if another agent has claimed it")
	return cmd
}

type runOptions struct {
	config   string
	once     bool
	dryRun   bool
	takeOver bool
	build    metrics.Build
	log      *slog.Logger

	claimWait time.Duration
}

func runRun(ctx context.Context, out io.Writer, opts runOptions) error {
	config, err := readConfig(opts.config)
	if err != nil {
		return err
	}
	if opts.once {
		config.Listen = new(string) // the status page would exist only for a moment
	}
	hangups := make(chan os.Signal, 1)
	if !opts.once {
		signal.Notify(hangups, syscall.SIGHUP) // before the start, which takes a moment: the signal would end the program
		defer signal.Stop(hangups)
	}
	a, err := agent.New(ctx, agent.Options{Config: config, Build: opts.build, Logger: opts.log, DryRun: opts.dryRun, TakeOver: opts.takeOver, ClaimWait: opts.claimWait})
	if err != nil {
		return err
	}
	if opts.once {
		err = runOnce(ctx, out, a)
	} else {
		err = runUntilStopped(ctx, a, opts.config, hangups)
	}
	if closing := a.Close(); closing != nil {
		return errors.Join(err, closing)
	}
	return err
}

// runUntilStopped runs the agent until ctx ends. Each hangup makes it read its config again.
func runUntilStopped(ctx context.Context, a *agent.Agent, config string, hangups <-chan os.Signal) error {
	ctx, stop := context.WithCancel(ctx)
	var reloading sync.WaitGroup
	defer reloading.Wait()
	defer stop()
	reloading.Go(func() {
		for {
			select {
			case <-hangups:
				_ = a.Reload(ctx, func() (agent.Config, error) { return readConfig(config) }) // it logs its error
			case <-ctx.Done():
				return
			}
		}
	})
	return a.Run(ctx)
}

func runOnce(ctx context.Context, out io.Writer, a *agent.Agent) error {
	report, err := a.Once(ctx)
	statusview.WriteReport(out, report, selection.Selection{})
	return cmp.Or(err, onceOutcome(report))
}

// hasHeldSteps reports whether a step waits for a person, also one that only would weaken a guard.
func hasHeldSteps(r report.Report) bool {
	return r.Guards != nil && len(r.Guards.Held) > 0 || slices.ContainsFunc(r.Guests, func(g report.Guest) bool { return len(g.Held) > 0 })
}

// onceOutcome returns the error, with the exit status, for a report. A failure takes precedence over a refusal, and a refusal over pending
// changes.
func onceOutcome(r report.Report) error {
	for _, g := range r.Guests {
		for _, c := range g.Conditions {
			if c.Type == plan.Failed {
				return term.WithHint(fmt.Errorf("%s: %s", g.Label(), c.Message), c.Hint)
			}
		}
	}
	switch {
	case r.Writes.Reason == reason.StopUnverified:
		return term.WithStatus(term.ExitRefused, fmt.Errorf("the accepted revision no longer verifies: %s", r.Writes.Message))
	case r.Source.Refused != nil:
		return term.WithStatus(term.ExitRefused, term.WithHint(errors.New(r.Source.Refused.Error), r.Source.Refused.Hint))
	case r.Source.Waiting != nil:
		return term.WithStatus(term.ExitRefused, term.WithHint(errors.New(r.Source.Waiting.Text()), r.Source.Waiting.Hint))
	case statusview.RestartsLeft(r) != nil && !hasHeldSteps(r):
		return statusview.RestartsLeft(r)
	case !r.Converged, hasHeldSteps(r), r.Except != nil:
		return term.WithStatus(term.ExitChanges, nil)
	}
	return nil
}
