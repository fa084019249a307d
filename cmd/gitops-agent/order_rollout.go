package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/rollout"

	"github.com/spf13/cobra"
)

// runRolloutOrder prints the command that orders something of a rollout. On the agent's host the order is compared with the rollouts of the journal.
func runRolloutOrder(out, notes io.Writer, opts orderOptions) error {
	o, err := rollout.ParseOrder(strings.Join(opts.words, " "))
	if err != nil {
		return term.UsageErrorf("%v", err)
	}
	document := orderDocument{SchemaVersion: term.SchemaVersion, Order: o.String(), Target: opts.target}
	config, err := agent.ReadConfig(opts.config)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !opts.required && opts.target == "":
		return errNoTarget()
	case errors.Is(err, fs.ErrNotExist) && !opts.required:
		_, _ = fmt.Fprintln(notes, "gitops-agent: note: no config on this host, so the order is not compared with the rollouts of the agent")
	case err != nil:
		return err
	default:
		own := config.Cluster.Name + "/" + config.Source.Branch
		if document.Target = cmp.Or(document.Target, own); document.Target != own {
			_, _ = fmt.Fprintf(notes, "gitops-agent: note: the agent of this host is %s, so the order is not compared with its rollouts\n", own)
			break
		}
		state, err := journal.ReadState(config.JournalDir())
		if err != nil {
			return err
		}
		if why := rollout.Refuse(o, state.Rollouts); why != "" {
			return term.WithStatus(term.ExitRefused, fmt.Errorf("the agent would refuse the order: %s", why))
		}
		document.Checked = true
	}
	reason := strings.ToUpper(o.Op[:1]) + o.Op[1:] + " the rollout " + o.Name
	document.Command = orderCommand(cmp.Or(opts.reason, reason), document.Order, document.Target)
	if opts.output == outputJSON {
		return term.WriteJSON(out, document)
	}
	_, err = fmt.Fprintln(out, document.Command)
	return err
}

// rolloutWords completes the words of an order about a rollout after the operation.
func rolloutWords(configPath string, args []string) []cobra.Completion {
	config, err := readConfig(configPath)
	if err != nil {
		return nil
	}
	state, err := journal.ReadState(config.JournalDir())
	if err != nil {
		return nil
	}
	switch len(args) {
	case 1:
		var list []cobra.Completion
		for _, name := range slices.Sorted(maps.Keys(state.Rollouts)) {
			list = append(list, "Rollout/"+name)
		}
		return list
	case 2:
		if r, known := state.Rollouts[strings.TrimPrefix(args[1], "Rollout/")]; known {
			return []cobra.Completion{"revision=" + r.Revision}
		}
	}
	return nil
}
