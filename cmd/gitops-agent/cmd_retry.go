package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/statusview"
	"gitops-agent/cmd/gitops-agent/internal/subject"
	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/retry"

	"github.com/spf13/cobra"
)

func newRetryCommand(p *program) *cobra.Command {
	opts := retryOptions{wait: 30 * time.Second}
	cmd := &cobra.Command{
		Use:   "retry KIND/NAME... | --all",
		Short: "Try guests and other objects again at once that wait after failures",
		Long: help(`Ends the wait of guests, Images and objects of all other kinds after failures, so that the agent on this host tries them again at once, without
a commit. It also forgets that something keeps changing them back, and that a restart of a guest did not bring a change into effect: the agent may restart such a
guest once more. Besides what manifests describe, it takes what the agent owns without a manifest, such as a backup job whose removal failed.

It lifts no hold, leaves hanging tasks alone, and does not shorten the wait for a call whose outcome is not known; where these are the reason, it says
so. The command leaves the file retry in the state directory. A running agent takes it within a second, another one at its next start.`,
			ending{term.ExitDone, "the agent has taken the request, or takes it at its next start"},
			ending{term.ExitError, "error, or there is no such guest or object; nothing was changed"},
			ending{term.ExitTimeout, "the running agent has not taken the request in time; it stays"}),
		Example: `  gitops-agent retry VirtualMachine/web-1
  gitops-agent retry BackupJob/nightly Image/debian-13
  gitops-agent retry --all
  gitops-agent retry VirtualMachine/web-1 Container/dns-1 -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if opts.all == (len(args) > 0) {
				return errors.New("name guests or other objects as KIND/NAME, or use --all")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.config, opts.labels = p.config, args
			return runRetry(cmd.Context(), p.out, p.err, opts)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return retryLabels(cmd.Context(), p.config, args), cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().BoolVar(&opts.all, "all", false, "everything that waits")
	cmd.Flags().DurationVar(&opts.wait, "timeout", opts.wait, "how long to wait for a running agent")
	outputFlag(cmd, &opts.output, outputText, outputJSON)
	return cmd
}

type retryOptions struct {
	config string
	labels []string
	all    bool
	wait   time.Duration
	output string
}

// retryDocument is the JSON of retry.
type retryDocument struct {
	SchemaVersion int            `json:"schemaVersion"`
	Cluster       string         `json:"cluster"`
	Request       retry.Request  `json:"request"`
	Taken         bool           `json:"taken"`             // by the running agent; false if it takes the request at its next start
	Outcome       *retry.Outcome `json:"outcome,omitempty"` // missing if its status does not tell
}

func runRetry(ctx context.Context, out, notes io.Writer, opts retryOptions) error {
	config, err := readConfig(opts.config)
	if err != nil {
		return err
	}
	if err := checkOwnerOrRoot(config.StateDir); err != nil {
		return err
	}
	if len(opts.labels) > 0 {
		manifests, err := subject.Reader{Config: config, Notes: notes}.Read(ctx, "", "")
		if err != nil {
			return err
		}
		if err := checkLabels(opts.labels, manifests.Set, manifests.State); err != nil {
			return err
		}
	}
	request := retry.Request{ID: rand.Text()[:16], Guests: opts.labels, All: opts.all, UID: callingUser(), Since: time.Now().UTC().Truncate(time.Second)}
	if err := (retry.File{Dir: config.StateDir}).Write(request); err != nil {
		return err
	}
	document := retryDocument{SchemaVersion: term.SchemaVersion, Cluster: config.Cluster.Name, Request: request}
	var late error
	document.Taken, late = awaitRetry(ctx, config, opts.wait)
	if document.Taken {
		document.Outcome = retryOutcome(ctx, config, request)
	}
	if opts.output == outputJSON {
		return errors.Join(late, term.WriteJSON(out, document))
	}
	if late == nil {
		writeRetry(out, document)
	}
	return late
}

// checkLabels replaces names by labels. It returns an error for one that is neither in a manifest nor that of something that the agent owns.
func checkLabels(labels []string, set manifest.Set, state journal.State) error {
	known := retryable(set, state)
	for i, label := range labels {
		if found := guest.FindLabel(label, known); found != "" {
			labels[i] = found
			continue
		}
		hint := "guests and other objects are named KIND/NAME, such as VirtualMachine/web-1 or BackupJob/nightly; gitops-agent status lists them"
		if meant := manifest.Closest(label, known); meant != "" {
			hint = "did you mean " + meant + "?"
		}
		return term.WithHint(fmt.Errorf("no %s in the accepted revision, and the agent owns nothing of this name", label), hint)
	}
	return nil
}

// retryable returns the labels of everything that the agent can be asked to try again, sorted.
func retryable(set manifest.Set, state journal.State) []string {
	guests := make([]guest.Ref, 0, len(set.Guests))
	for _, g := range set.Guests {
		guests = append(guests, g.Ref)
	}
	var labels []string
	for _, ref := range reconcile.Retryable(guests, set.Images, set.Objects, state) {
		labels = append(labels, ref.Label())
	}
	slices.Sort(labels)
	return slices.Compact(labels)
}

// retryLabels returns what the agent can be asked to try again and is not among the arguments, for the completion of shells. Manifests that cannot be read add
// nothing.
func retryLabels(ctx context.Context, configPath string, args []string) []string {
	config, err := readConfig(configPath)
	if err != nil {
		return nil
	}
	reader := subject.Reader{Config: config, Notes: io.Discard}
	state, err := reader.State()
	if err != nil {
		return nil
	}
	var set manifest.Set
	if accepted, err := reader.Accepted(ctx, state); err == nil {
		set = accepted.Set
	}
	return slices.DeleteFunc(retryable(set, state), func(l string) bool { return slices.Contains(args, l) })
}

// awaitRetry waits until a running agent has taken the request.
func awaitRetry(ctx context.Context, config agent.Config, wait time.Duration) (taken bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	file := retry.File{Dir: config.StateDir}
	for {
		if _, found := file.Read(); !found { // another command may have added guests to the request
			return true, nil
		}
		if !journal.InUse(config.JournalDir()) {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, term.WithHint(term.WithStatus(term.ExitTimeout, errors.New("the agent has not taken the request yet")),
				"it takes none while no revision is in force, while the cluster cannot be read, or while another agent is the writer: gitops-agent status; the request stays")
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// retryOutcome returns what the running agent did for a request, or nil if its status does not tell.
func retryOutcome(ctx context.Context, config agent.Config, request retry.Request) *retry.Outcome {
	client, err := statusview.NewClient(statusview.Target{}, func() (agent.Config, error) { return config, nil })
	if err != nil {
		return nil
	}
	for range 20 { // the agent publishes its report shortly after it has removed the file
		document, _, err := client.Read(ctx)
		if err != nil {
			return nil
		}
		if r := document.Retried; r != nil && r.ID == request.ID {
			return r
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}

// writeRetry prints what the agent did for each guest and object, and what it will not do.
func writeRetry(out io.Writer, d retryDocument) {
	what := "everything that waits"
	if !d.Request.All {
		what = strings.Join(d.Request.Guests, ", ")
	}
	switch {
	case !d.Taken:
		_, _ = fmt.Fprintf(out, "No agent of %s runs: it tries %s when it starts.\n", term.Printable(d.Cluster), what)
		return
	case d.Outcome == nil:
		_, _ = fmt.Fprintf(out, "The agent of %s tries %s again. gitops-agent journal show names what it cleared (event retried).\n", term.Printable(d.Cluster), what)
		return
	case len(d.Outcome.Guests) == 0 && d.Request.All:
		_, _ = fmt.Fprintln(out, "Nothing waits.")
	}
	for _, g := range d.Outcome.Guests {
		_, _ = fmt.Fprintln(out, term.Printable(g.Guest)+": "+clearedText(g))
		for _, r := range g.Remains {
			_, _ = fmt.Fprintf(out, "  not tried yet (%s): %s\n", r.Reason, term.Printable(r.Message))
			if r.Hint != "" {
				_, _ = fmt.Fprintf(out, "    %s\n", term.Printable(r.Hint))
			}
		}
	}
	for _, label := range d.Outcome.Unknown {
		_, _ = fmt.Fprintf(out, "%s: there is no such guest or object any more\n", term.Printable(label))
	}
}

// clearedText describes what the agent forgot of a guest.
func clearedText(g retry.Guest) string {
	var texts []string
	for _, c := range g.Cleared {
		switch c {
		case retry.Backoff:
			texts = append(texts, "the wait after failures is over")
		case retry.Flapping:
			texts = append(texts, "repairs are no longer spaced out")
		case retry.Restart:
			texts = append(texts, "the restart that had no effect may be tried once more")
		}
	}
	if len(texts) == 0 {
		return "it did not wait"
	}
	return strings.Join(texts, "; ")
}
