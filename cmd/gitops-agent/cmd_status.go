package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/report"

	"github.com/spf13/cobra"
)

func newStatusCommand(p *program) *cobra.Command {
	var opts statusOptions
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the report of the running agent, or wait until the cluster is converged",
		Long: help(`Shows the newest report of the running agent: the revision in force, why a newer one was refused, and every guest. With --wait it polls
until the cluster is converged.`,
			ending{term.ExitDone, "the report was printed; with --wait: converged"},
			ending{term.ExitError, "the agent does not answer, or it refused the revision of --revision"}, ending{term.ExitTimeout, "with --wait: not converged in time"}),
		Example: `  gitops-agent status
  gitops-agent status --wait converged --revision "$(git rev-parse HEAD)" --timeout 10m
  gitops-agent status -o json --url http://10.0.0.5:9746`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.config = p.config
			return runStatus(cmd.Context(), p.out, p.err, opts)
		},
	}
	cmd.Flags().StringVar(&opts.url, "url", "", "`address` of the agent, instead of the one in the config")
	cmd.Flags().Var(choice{&opts.wait, []string{waitConverged}}, "wait", "wait for this state")
	completeWords(cmd, "wait", []string{waitConverged})
	cmd.Flags().StringVar(&opts.revision, "revision", "", "with --wait: the `commit` that must be in force, seven digits or more")
	cmd.Flags().DurationVar(&opts.timeout, "timeout", 5*time.Minute, "with --wait: the longest time to wait")
	outputFlag(cmd, &opts.output, outputText, outputJSON)
	return cmd
}

const (
	waitConverged = "converged"
	// waitPoll is the time between two requests of --wait.
	waitPoll = 500 * time.Millisecond
)

type statusOptions struct {
	config, url string
	wait        string
	revision    string
	timeout     time.Duration
	output      string
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
	client, err := newStatusClient(opts.url, opts.config)
	if err != nil {
		return err
	}
	var document report.Document
	var body []byte
	if opts.wait == "" {
		document, body, err = client.read(ctx)
	} else {
		document, body, err = awaitConverged(ctx, client, term.NewProgress(notes), opts)
	}
	if body == nil {
		return err
	}
	if opts.output == outputJSON {
		_, _ = out.Write(body)
	} else {
		writeReport(out, document.Report)
	}
	return err
}

// awaitConverged polls the agent until the cluster is converged. Together with an error it returns the last document, if there was one.
func awaitConverged(ctx context.Context, client statusClient, shown *term.Progress, opts statusOptions) (document report.Document, body []byte, err error) {
	defer shown.End()
	deadline, cancel := context.WithTimeout(ctx, opts.timeout)
	defer cancel()
	tick := time.NewTicker(waitPoll)
	defer tick.Stop()
	var lastErr error
	for {
		if d, b, err := client.read(deadline); err == nil {
			document, body, lastErr = d, b, nil
		} else if deadline.Err() == nil {
			lastErr = err // the agent may be starting
		}
		if body != nil {
			over, err := waitIsOver(document.Report, opts.revision)
			if over {
				return document, body, err
			}
		}
		shown.Show("waiting: %s", outstanding(document.Report, opts.revision, lastErr))
		select {
		case <-tick.C:
		case <-deadline.Done():
			if ctx.Err() != nil {
				return document, body, ctx.Err()
			}
			return document, body, term.WithStatus(term.ExitTimeout, fmt.Errorf("not converged in %s: %s", opts.timeout, outstanding(document.Report, opts.revision, lastErr)))
		}
	}
}

// waitIsOver reports whether the revision is converged, or was refused, which is an error.
func waitIsOver(r report.Report, revision string) (bool, error) {
	if refused := r.Source.Refused; refused != nil && revision != "" && strings.HasPrefix(refused.Commit, revision) {
		return true, term.WithHint(fmt.Errorf("the agent refuses %s: %s", revision, refused.Error), refused.Hint)
	}
	return r.Converged && inForce(r, revision), nil
}

// inForce reports whether the accepted revision begins with these digits.
func inForce(r report.Report, revision string) bool {
	return r.Source.Accepted != nil && strings.HasPrefix(r.Source.Accepted.Commit, revision)
}

// outstanding describes why the cluster is not converged yet.
func outstanding(r report.Report, revision string, lastErr error) string {
	switch {
	case lastErr != nil:
		return lastErr.Error()
	case r.Source.Accepted == nil:
		return "no revision is accepted yet"
	case !inForce(r, revision):
		return fmt.Sprintf("%.7s is in force", r.Source.Accepted.Commit)
	case r.Source.Refused != nil:
		return fmt.Sprintf("the head %.7s is refused: %s", r.Source.Refused.Commit, r.Source.Refused.Reason)
	}
	var left []string
	for _, g := range r.Guests {
		if g.Sync != report.Synced {
			left = append(left, g.Label())
		}
	}
	slices.Sort(left)
	if len(left) == 0 {
		return cmp.Or(r.Source.Error, r.Proxmox.Error, r.Journal.Error, "the work is not finished")
	}
	return fmt.Sprintf("%s not in sync: %s", term.Count(len(left), "guest"), strings.Join(left, ", "))
}
