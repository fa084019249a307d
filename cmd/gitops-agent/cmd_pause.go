package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/pause"

	"github.com/spf13/cobra"
)

func newPauseCommand(p *program) *cobra.Command {
	var opts pauseOptions
	cmd := &cobra.Command{
		Use:   "pause",
		Short: "Stop all writes of the agent on this host to the cluster",
		Long: help(`Stops all writes of the agent on this host to the cluster: from its next call on, it sends no request that may change the cluster. The
agent continues to poll, verify, accept, observe and plan. Calls that were already sent take effect.

The command makes the file paused in the state directory, so the pause survives restarts. It needs no running agent. It ends with
gitops-agent resume, or at the time of --until. Another pause replaces the first one.`,
			ending{term.ExitDone, "paused"}, ending{term.ExitError, "error; nothing was changed"}),
		Example: `  gitops-agent pause --reason 'kernel update on pve1' --until 2h
  gitops-agent pause --until 2026-03-01T06:00:00+01:00`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			opts.config = p.config
			return runPause(p.out, opts, time.Now())
		},
	}
	cmd.Flags().StringVar(&opts.reason, "reason", "", "why, one line of `text` for everybody who sees the pause")
	cmd.Flags().StringVar(&opts.until, "until", "", "when the pause ends by itself: a `time` in RFC 3339, or a duration from now such as 2h")
	return cmd
}

func newResumeCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "resume",
		Short: "End a pause of the agent on this host",
		Long: help(`Ends a pause of the agent on this host: it removes the file paused from the state directory. The agent notices it within a second,
compares every guest with the revision in force, and writes again. Without a pause, the command changes nothing.`,
			ending{term.ExitDone, "the agent is not paused any more, or was not paused"}, ending{term.ExitError, "error"}),
		Example: "  gitops-agent resume",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return runResume(p.out, p.config) },
	}
}

type pauseOptions struct{ config, reason, until string }

func runPause(out io.Writer, opts pauseOptions, now time.Time) error {
	until, err := parseUntil(opts.until, now)
	if err != nil {
		return err
	}
	if err := pause.CheckReason(opts.reason); err != nil {
		return term.UsageErrorf("--reason: %w", err)
	}
	config, err := readConfig(opts.config)
	if err != nil {
		return err
	}
	if err := checkOwnerOrRoot(config.StateDir); err != nil {
		return err
	}
	note := pause.Note{Reason: opts.reason, Since: now, Until: until, UID: callingUser()}
	if err := config.PauseFile().Write(note); err != nil {
		return err
	}
	end := "until gitops-agent resume"
	if !until.IsZero() {
		end = "until " + until.UTC().Format(time.RFC3339)
	}
	_, err = fmt.Fprintf(out, "The agent of %s is paused %s: it sends no request that may change the cluster.\n", term.Printable(config.Cluster.Name), end)
	return err
}

func runResume(out io.Writer, configPath string) error {
	config, err := readConfig(configPath)
	if err != nil {
		return err
	}
	if err := checkOwnerOrRoot(config.StateDir); err != nil {
		return err
	}
	note, active := config.PauseFile().Active(time.Now())
	removed, err := config.PauseFile().Remove()
	if err != nil {
		return err
	}
	name := term.Printable(config.Cluster.Name)
	switch {
	case removed && active:
		_, err = fmt.Fprintf(out, "The agent of %s may write again. It was paused %s\n", name, term.Printable(note.String()))
	default:
		_, err = fmt.Fprintf(out, "The agent of %s was not paused.\n", name)
	}
	return err
}

// parseUntil reads a time in RFC 3339 or a duration from now. It returns the zero time for "". A time that is not in the future is an error.
func parseUntil(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	until, err := time.Parse(time.RFC3339, text)
	if err != nil {
		duration, err := time.ParseDuration(text)
		if err != nil {
			return time.Time{}, term.UsageErrorf("--until %q: want a time such as 2026-03-01T06:00:00Z, or a duration such as 2h30m", text)
		}
		until = now.Add(duration)
	}
	if !until.After(now) {
		return time.Time{}, term.UsageErrorf("--until %q is not in the future", text)
	}
	return until, nil
}

// callingUser returns the user that runs the program. With sudo it is the user that called sudo: only root can set that variable for root.
func callingUser() int {
	if os.Geteuid() == 0 {
		if uid, err := strconv.Atoi(os.Getenv("SUDO_UID")); err == nil && uid >= 0 {
			return uid
		}
	}
	return os.Getuid()
}
