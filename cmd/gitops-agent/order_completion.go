package main

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"gitops-agent/internal/agent"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/rollout"

	"github.com/spf13/cobra"
)

// completionTimeout bounds the calls to the cluster while a person waits for a completion.
const completionTimeout = 3 * time.Second

// orderWords completes the words of an order: the operation, a guest that has it, and keys that were not given yet, with their values where these are known.
func orderWords(ctx context.Context, configPath string, args []string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const words = cobra.ShellCompDirectiveNoFileComp
	if len(args) == 0 {
		return append(order.Operations(), rollout.Operations()...), words
	}
	if slices.Contains(rollout.Operations(), args[0]) {
		return rolloutWords(configPath, args), words
	}
	op := cluster.Op(args[0])
	if len(args) == 1 {
		return orderLabels(ctx, configPath, op), words
	}
	var list []cobra.Completion
	complete := true // each word is
	for _, key := range order.Keys(op, guest.Kind(kindOf(args[1]))) {
		if slices.ContainsFunc(args[2:], func(word string) bool { return strings.HasPrefix(word, key+"=") }) {
			continue
		}
		values := order.Values(op, key)
		if key == order.KeyName && op != cluster.OpSnapshot {
			values = snapshotsOf(ctx, configPath, args[1])
		}
		if len(values) == 0 {
			values, complete = []string{""}, false
		}
		for _, value := range values {
			list = append(list, key+"="+value)
		}
	}
	if complete {
		return list, words
	}
	return list, words | cobra.ShellCompDirectiveNoSpace
}

// kindOf returns the kind in "<kind>/<name>".
func kindOf(label string) string {
	kind, _, _ := strings.Cut(label, "/")
	return kind
}

// snapshotsOf returns the names of the snapshots that a guest of the agent has now, nil if they cannot be read.
func snapshotsOf(ctx context.Context, configPath, label string) []string {
	config, err := readConfig(configPath)
	if err != nil {
		return nil
	}
	state, err := config.JournalState(ctx)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	for _, owned := range state.Owned {
		if ref := (guest.Ref{Kind: guest.Kind(owned.Kind), Name: owned.Name}); ref.Label() == label {
			return readSnapshots(ctx, config, owned.VMID)
		}
	}
	return nil
}

func readSnapshots(ctx context.Context, config agent.Config, vmid int) []string {
	reader, err := config.ProxmoxReader(slog.New(slog.DiscardHandler))
	if err != nil {
		return nil
	}
	defer reader.Close()
	inventory, err := reader.Inventory(ctx)
	if err != nil {
		return nil
	}
	row, _ := inventory.Row(vmid)
	snapshots, err := reader.Snapshots(ctx, row)
	if err != nil {
		return nil
	}
	return snapshots.Names()
}

// orderLabels returns the guests of the accepted revision that have an operation: none without a config.
func orderLabels(ctx context.Context, configPath string, op cluster.Op) []cobra.Completion {
	has := func(label string) bool { return slices.Contains(order.Kinds(op), kindOf(label)) }
	return slices.DeleteFunc(retryLabels(ctx, configPath, nil), func(label string) bool { return !has(label) })
}
