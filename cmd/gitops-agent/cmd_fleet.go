package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/fleetview"
	"gitops-agent/cmd/gitops-agent/internal/statusview"
	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/fleet"
	"gitops-agent/internal/status/access"

	"github.com/spf13/cobra"
)

// fleetMemory is from which size on the program collects garbage more often, in bytes: agents are read one after the other, and each may send a document of 64 MiB.
const fleetMemory = 144 << 20

func newFleetCommand(p *program) *cobra.Command {
	opts := fleetOptions{interval: 15 * time.Second}
	cmd := &cobra.Command{
		Use:   "fleet FILE",
		Short: "Show the agents of several clusters in one table or page",
		Long: help(`Reads the status of several agents and shows one line for each cluster: the revision in force, how long the newest commit has waited to be
in force and converged, guests that have drifted, held steps, and the age of the report. The most urgent cluster is first. An agent that
does not answer is a line with the reason.

FILE lists the agents in the format of file_sd_configs of Prometheus, in YAML or JSON. The labels __scheme__ and __metrics_path__ have the meaning that they
have there; __token_file, __user with __password_file, __ca_file, and __cert_file with __key_file name how to log in to the agents of a group, and the
flags of the same names apply to the other groups. The page and JSON show other labels.

With --listen the command serves the table as a page and as /fleet.json, reads the agents again at each interval, and reads FILE again when it changes.`,
			ending{term.ExitDone, "every agent answered; with --exit-code: and every cluster is converged"}, ending{term.ExitError, "error, or an agent does not answer"},
			ending{term.ExitChanges, "with --exit-code: a cluster is not converged"}),
		Example: `  gitops-agent fleet agents.yaml
  gitops-agent fleet agents.yaml --token-file /etc/gitops-agent/status-token -o json
  gitops-agent fleet agents.yaml --listen 127.0.0.1:9747`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.targets = args[0]
			if os.Getenv("GOMEMLIMIT") == "" {
				debug.SetMemoryLimit(fleetMemory)
			}
			if opts.listen != "" {
				return serveFleet(cmd.Context(), p.err, opts, p.logger())
			}
			return runFleet(cmd.Context(), p.out, p.err, opts)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return []cobra.Completion{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	credentialFlags(cmd, &opts.agent, "for the groups of FILE without credentials", "for the groups of FILE without such a label")
	cmd.Flags().BoolVar(&opts.exitCode, "exit-code", false, "end with 3 if a cluster is not converged")
	cmd.Flags().StringVar(&opts.listen, "listen", "", "serve a page at this `address` until the command is interrupted")
	cmd.Flags().DurationVar(&opts.interval, "interval", opts.interval, "with --listen: between two readings of the agents")
	cmd.Flags().StringVar(&opts.webConfig, "web-config-file", "", "with --listen: `file` with TLS and users, as for the exporters of Prometheus")
	cmd.Flags().StringArrayVar(&opts.hosts, "host", nil, "with --listen: a further `name` that requests may use for this host")
	_ = cmd.MarkFlagFilename("web-config-file") // the flag exists
	completeWords(cmd, "listen", nil)
	completeWords(cmd, "host", nil)
	outputFlag(cmd, &opts.output, outputText, outputJSON)
	return cmd
}

type fleetOptions struct {
	targets   string // a file
	agent     statusview.Target
	exitCode  bool
	listen    string
	interval  time.Duration
	webConfig string
	hosts     []string
	output    string
}

// runFleet reads the agents once and prints their table.
func runFleet(ctx context.Context, out, notes io.Writer, opts fleetOptions) error {
	if opts.webConfig != "" || len(opts.hosts) > 0 {
		return term.UsageErrorf("--web-config-file and --host belong to --listen")
	}
	targets, err := fleetview.ReadTargets(opts.targets, opts.agent)
	if err != nil {
		return err
	}
	progress := term.NewProgress(notes)
	rows := fleetview.Poll(ctx, targets, progress.Count("agents read"))
	progress.End()
	if err := ctx.Err(); err != nil {
		return err
	}
	now := time.Now()
	if opts.output == outputJSON {
		err = term.WriteJSON(out, fleetview.NewDocument(rows, now))
	} else {
		fleetview.WriteTable(out, rows, now)
	}
	switch {
	case err != nil:
		return err
	case rows[0].State == fleet.Unreachable:
		return term.WithStatus(term.ExitError, nil)
	case opts.exitCode && !fleet.AllConverged(rows):
		return term.WithStatus(term.ExitChanges, nil)
	}
	return nil
}

// serveFleet serves the page until ctx ends.
func serveFleet(ctx context.Context, notes io.Writer, opts fleetOptions, log *slog.Logger) error {
	if opts.interval < time.Second {
		return term.UsageErrorf("--interval %s: want 1s or more", opts.interval)
	}
	if opts.output == outputJSON || opts.exitCode {
		return term.UsageErrorf("-o json and --exit-code do not go together with --listen, which serves /fleet.json")
	}
	read := func() ([]fleetview.Target, error) { return fleetview.ReadTargets(opts.targets, opts.agent) }
	if _, err := read(); err != nil {
		return err
	}
	guard, err := access.New(access.Options{Listen: opts.listen, WebConfigFile: opts.webConfig, Hosts: opts.hosts, Logger: log})
	if open := (*access.OpenError)(nil); errors.As(err, &open) {
		return term.WithHint(fmt.Errorf("--listen: everyone who reaches %s could read the page", open.Listen), "add --web-config-file with users, or listen on 127.0.0.1")
	}
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", opts.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	server := &fleetview.Server{Targets: read, Interval: opts.interval, Version: thisBuild().Version, Logger: log}
	_, _ = fmt.Fprintf(notes, "gitops-agent: the fleet is served at %s\n", listener.Addr())
	return server.Serve(ctx, listener, guard)
}
