package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/subject"
	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"
	"gitops-agent/internal/proxmox"
	"gitops-agent/internal/shell"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/preflight"
	"gitops-agent/reconcile/rollout"

	"github.com/spf13/cobra"
)

func newOrderCommand(p *program) *cobra.Command {
	var opts orderOptions
	cmd := &cobra.Command{
		Use:   "order OPERATION KIND/NAME [KEY=VALUE...]",
		Short: "Check a one-shot operation and print the git command that orders it",
		Long: help(`Prints the git command that creates a signed order for a one-shot operation, such as a restart. A signer with the role operate runs it in a
clone and pushes the commit. The agent executes an order at most once. This command changes nothing.

On the agent's host, the order is checked against the accepted revision, as the agent checks it: the guest, its owner, and the state in its manifest. The signer
and the present run state of the guest are checked only when the order arrives. If the config is on another host, use --target.

Operations and their keys; docs/orders.md describes them:

`+operationsHelp(),
			ending{term.ExitDone, "the command was printed"}, ending{term.ExitError, "error"}, ending{term.ExitUsage, "there is no such operation, kind, key or value"},
			ending{term.ExitRefused, "the agent would refuse the order"}),
		Example: `  gitops-agent order reboot VirtualMachine/db-1 -m 'db-1 hangs after the migration'
  gitops-agent order shutdown VirtualMachine/web-1 timeout=2m for=8h
  gitops-agent order snapshot VirtualMachine/db-1 name=before-upgrade
  gitops-agent order start Container/dns-1 --target home/main -o json
  gitops-agent order promote Rollout/web revision=3f2a1c9e0d4b5a6c7d8e9f0a1b2c3d4e5f6a7b8c`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.config, opts.words = p.config, args
			opts.required = cmd.Flags().Changed("config")
			return runOrder(cmd.Context(), p.out, p.err, opts)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return orderWords(cmd.Context(), p.config, args)
		},
	}
	cmd.Flags().StringVarP(&opts.reason, "message", "m", "", "the subject of the commit: why the operation is needed")
	cmd.Flags().StringVar(&opts.target, "target", "", "the `CLUSTER/BRANCH` of the agent that shall execute it (default that of the config)")
	outputFlag(cmd, &opts.output, outputText, outputJSON)
	return cmd
}

// operationsHelp lists the operations with the keys that they take, one on each line.
func operationsHelp() string {
	var lines []string
	for _, name := range order.Operations() {
		lines = append(lines, fmt.Sprintf("  %-16s %s", name, strings.Join(order.Keys(cluster.Op(name), guest.VirtualMachine), ", ")))
		lines[len(lines)-1] = strings.TrimRight(lines[len(lines)-1], " ")
	}
	for _, name := range rollout.Operations() {
		lines = append(lines, fmt.Sprintf("  %-16s revision; of Rollout/NAME", name))
	}
	return strings.Join(lines, "\n")
}

type orderOptions struct {
	config   string
	required bool // the flag --config was given, so the file must exist
	words    []string
	reason   string
	target   string
	output   string
}

// orderDocument is the JSON of order.
type orderDocument struct {
	SchemaVersion int    `json:"schemaVersion"`
	Order         string `json:"order"` // the value of the trailer Gitops-Run
	Target        string `json:"target"`
	VMID          int    `json:"vmid,omitempty"` // of the guest, if the order was checked
	Checked       bool   `json:"checked"`        // against the accepted revision
	NeedsApproval bool   `json:"needsApproval"`
	Command       string `json:"command"`
}

func runOrder(ctx context.Context, out, notes io.Writer, opts orderOptions) error {
	if opts.target != "" && (term.Printable(opts.target) != opts.target || !strings.Contains(opts.target, "/")) {
		return term.UsageErrorf("--target %q: want CLUSTER/BRANCH", opts.target)
	}
	if rollout.IsOrder(strings.Join(opts.words, " ")) {
		return runRolloutOrder(out, notes, opts)
	}
	words, labels := opts.named(ctx)
	if meant := closestName(words[1], labels); meant != "" && !strings.Contains(words[1], "/") {
		return term.UsageErrorf("no guest has the name %q (did you mean %s?)", words[1], meant)
	}
	r, err := order.Parse(strings.Join(words, " "))
	if err != nil {
		if meant := manifest.Closest(opts.words[0], order.Operations()); meant != "" && meant != opts.words[0] {
			return term.UsageErrorf("%v (did you mean %s?)", err, meant)
		}
		return term.UsageErrorf("%v", err)
	}
	document := orderDocument{SchemaVersion: term.SchemaVersion, Order: r.String(), Target: opts.target, NeedsApproval: r.Class() == guest.Destructive}
	config, err := agent.ReadConfig(opts.config)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !opts.required && opts.target == "":
		return errNoTarget()
	case errors.Is(err, fs.ErrNotExist) && !opts.required:
		_, _ = fmt.Fprintln(notes, "gitops-agent: note: no config on this host, so the order is not compared with the accepted revision")
	case err != nil:
		return err
	default:
		document.Target = cmp.Or(document.Target, config.Cluster.Name+"/"+config.Source.Branch)
		if err := document.check(ctx, notes, config, r); err != nil {
			return err
		}
	}
	document.Command = orderCommand(cmp.Or(opts.reason, strings.ToUpper(string(r.Op[:1]))+string(r.Op[1:])+" "+r.Guest.Label()), document.Order, document.Target)
	if opts.output == outputJSON {
		return term.WriteJSON(out, document)
	}
	if document.NeedsApproval {
		_, _ = fmt.Fprintln(notes, "gitops-agent: note: it loses data, so the agent holds it until it is approved: status shows the digest")
	}
	_, err = fmt.Fprintln(out, document.Command)
	return err
}

// named returns the words with the label of the guest, if they have a name that one guest of the accepted revision has.
func (o orderOptions) named(ctx context.Context) (words, labels []string) {
	words = slices.Clone(o.words)
	if !strings.Contains(words[1], "/") {
		labels = orderLabels(ctx, o.config, cluster.Op(words[0]))
		words[1] = cmp.Or(guest.FindLabel(words[1], labels), words[1])
	}
	return words, labels
}

// closestName returns the label whose name is most similar to a name that no guest has, or "" if none is similar or a guest has the name.
func closestName(name string, labels []string) string {
	names := make([]string, len(labels))
	for i, label := range labels {
		_, names[i], _ = strings.Cut(label, "/")
	}
	at := slices.Index(names, manifest.Closest(name, names))
	if at < 0 || names[at] == name {
		return ""
	}
	return labels[at]
}

func errNoTarget() error {
	return term.WithHint(errors.New("no config on this host, and an order names the agent that shall execute it"), "add --target CLUSTER/BRANCH")
}

// check returns an error if the agent of this host would refuse the order when it accepts its commit.
func (d *orderDocument) check(ctx context.Context, notes io.Writer, config agent.Config, r order.Request) error {
	if own := config.Cluster.Name + "/" + config.Source.Branch; d.Target != own {
		_, _ = fmt.Fprintf(notes, "gitops-agent: note: the agent of this host is %s, so the order is not compared with its revision\n", own)
		return nil
	}
	manifests, err := subject.Reader{Config: config, Notes: notes}.Read(ctx, "", "")
	if err != nil {
		return err
	}
	guests, err := manifests.Set.Lower(plan.AssignedLabels(manifests.Set, manifests.State))
	if err != nil {
		return err
	}
	desired, refused := order.Check(r, guests, manifests.State)
	if refused != "" {
		err := term.WithStatus(term.ExitRefused, fmt.Errorf("the agent would refuse the order: %s", refused))
		if meant := manifests.Set.Closest(r.Guest.Label()); desired == nil && meant != "" {
			err = term.WithHint(err, "did you mean "+meant+"?")
		}
		return err
	}
	d.VMID, d.Checked = desired.VMID, true
	d.noteOfCluster(ctx, notes, config, r)
	return nil
}

// privilegeTimeout is how long the command waits for the cluster. An order may be written while the cluster does not answer.
const privilegeTimeout = 10 * time.Second

// noteOfCluster notes what Proxmox would refuse after the order was signed: a privilege that the token lacks, and a node that does not exist.
func (d *orderDocument) noteOfCluster(ctx context.Context, notes io.Writer, config agent.Config, r order.Request) {
	ctx, cancel := context.WithTimeout(ctx, privilegeTimeout)
	defer cancel()
	reader, err := config.ProxmoxReader(slog.New(slog.DiscardHandler))
	if err == nil {
		defer reader.Close()
		var granted map[string]map[string]bool
		if granted, err = reader.Permissions(ctx); err == nil {
			if lacks := preflight.LackedByOrder(r, d.VMID, granted); lacks != "" {
				_, _ = fmt.Fprintf(notes, "gitops-agent: warning: the token lacks %s, so Proxmox would refuse the order: a role on a path replaces those above; gitops-agent config check --cluster shows where\n", lacks)
			}
			if target := r.Params["target"]; target != "" {
				noteTarget(ctx, notes, reader, target)
			}
			return
		}
	}
	_, _ = fmt.Fprintf(notes, "gitops-agent: note: the privileges of the token were not checked: %v\n", err)
}

// noteTarget warns if no node of the cluster has the name to which an order moves a guest.
func noteTarget(ctx context.Context, notes io.Writer, reader *proxmox.Reader, target string) {
	nodes, err := reader.Nodes(ctx)
	if err != nil || slices.ContainsFunc(nodes, func(n cluster.Node) bool { return n.Name == target }) {
		return
	}
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.Name
	}
	_, _ = fmt.Fprintf(notes, "gitops-agent: warning: target: %s is not a node of the cluster, so the order would fail: it has %s\n", target, strings.Join(names, ", "))
}

// orderCommand returns the command for a POSIX shell. All trailers are in the last paragraph of the message; elsewhere they have no effect.
func orderCommand(reason, text, target string) string {
	return shell.Commit(term.Printable(reason), order.RunPrefix+text, "Gitops-Target: "+target)
}
