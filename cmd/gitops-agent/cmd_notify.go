package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/notify"

	"github.com/spf13/cobra"
)

func newNotifyCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "notify",
		Short: "Send a test message to the receivers of notifications",
		Long:  help(`Works with the receivers of notifications in the agent's config.`, ending{term.ExitDone, "done"}, ending{term.ExitError, "error"}),
		Args:  groupArgs,
		RunE:  func(*cobra.Command, []string) error { return term.UsageErrorf("choose test") },
	}
	cmd.AddCommand(newNotifyTestCommand(p))
	return cmd
}

func newNotifyTestCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "test [RECEIVER...]",
		Short: "Send a test message to some or all receivers",
		Long: help(`Sends a test message to the named receivers of the agent's config, or to all, and prints which of them took it. It does not use the
routes, and tries once. It needs no running agent. Call it as the agent's user, who must be able to read the files with secrets.`,
			ending{term.ExitDone, "every receiver took the message"}, ending{term.ExitError, "a receiver did not take it"}),
		Example: `  gitops-agent notify test
  gitops-agent notify test chat`,
		RunE: func(cmd *cobra.Command, names []string) error {
			return runNotifyTest(cmd.Context(), p.out, p.config, names)
		},
	}
}

func runNotifyTest(ctx context.Context, out io.Writer, path string, names []string) error {
	config, err := readConfig(path)
	if err != nil {
		return err
	}
	receivers, err := config.NotificationReceivers()
	if err != nil {
		return err
	}
	known := make([]string, 0, len(receivers))
	for _, r := range receivers {
		known = append(known, r.Name)
	}
	if len(known) == 0 {
		return term.WithHint(errors.New("the config has no receivers of notifications"), "add notifications.receivers, see gitops-agent config example")
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return term.UsageErrorf("no receiver has the name %q, want one of %s", name, strings.Join(known, ", "))
		}
	}
	var failed error
	for _, r := range receivers {
		if len(names) > 0 && !slices.Contains(names, r.Name) {
			continue
		}
		outcome := "sent"
		if err := probe(ctx, r, config.Cluster.Name, config.Notifications.StatusURL); err != nil {
			outcome = err.Error()
			failed = term.WithStatus(term.ExitError, errors.New("a receiver did not take the message"))
		}
		_, _ = fmt.Fprintf(out, "%s: %s\n", r.Name, outcome)
	}
	return failed
}

func probe(ctx context.Context, r notify.Receiver, cluster, link string) error {
	if err := r.Check(); err != nil {
		return err
	}
	return r.Probe(ctx, cluster, link)
}
