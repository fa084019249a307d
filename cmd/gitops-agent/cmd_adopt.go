package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest"

	"github.com/spf13/cobra"
)

func newAdoptCommand(p *program) *cobra.Command {
	var opts adoptOptions
	cmd := &cobra.Command{
		Use:   "adopt VMID... | --all",
		Short: "Write manifests of existing guests",
		Long: help(`Writes the manifest of each guest: every key that is set, in the fields of manifests or under raw, and a comment on settings that cannot be
pinned. The agent then changes nothing on the guest except the ownership tag, which it sets when the committed manifest is accepted:
this command reads the cluster and cannot write to it. Before it writes a manifest it plans it, and rejects one that would change the guest.

Manifests go to standard output, or with --out to one file KIND-NAME.yaml each. An existing file is not overwritten unless --force is given.
Guests that an agent or a manifest manages already are not adopted again; --all skips them.`,
			ending{term.ExitDone, "every manifest was written"}, ending{term.ExitError, "error, or a guest was not adopted; the others were"}),
		Example: `  gitops-agent adopt 105
  gitops-agent adopt 105 106 --out guests
  gitops-agent adopt --all --out guests && gitops-agent plan --dir .`,
		Args: func(_ *cobra.Command, args []string) error {
			var err error
			opts.vmids, err = parseVMIDs(args)
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.config, opts.log = p.config, p.logger()
			return runAdopt(cmd.Context(), p.out, p.err, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.all, "all", false, "adopt every guest that no agent and no manifest manages")
	cmd.Flags().StringVar(&opts.dir, "out", "", "write a file for each guest into this `directory`")
	cmd.Flags().BoolVar(&opts.force, "force", false, "overwrite files that exist")
	cmd.Flags().BoolVar(&opts.env, "env", false, "also write the environments of containers, which often contain secrets")
	outputFlag(cmd, &opts.output, outputText, outputJSON)
	return cmd
}

// parseVMIDs parses the arguments of the command line.
func parseVMIDs(args []string) ([]int, error) {
	var out []int
	for _, arg := range args {
		vmid, err := strconv.Atoi(arg)
		if err != nil || vmid < 100 {
			return nil, fmt.Errorf("got %q, want the vmid of a guest, such as 105", arg)
		}
		out = append(out, vmid)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

type adoptOptions struct {
	config string
	vmids  []int
	all    bool
	dir    string
	force  bool
	env    bool
	output string
	log    *slog.Logger
}

func (o adoptOptions) check() error {
	switch {
	case len(o.vmids) == 0 && !o.all:
		return term.UsageErrorf("name the vmids of the guests to adopt, or --all")
	case len(o.vmids) > 0 && o.all:
		return term.UsageErrorf("vmids and --all exclude each other")
	case o.force && o.dir == "":
		return term.UsageErrorf("--force needs --out, whose files it overwrites")
	default:
		return nil
	}
}

func runAdopt(ctx context.Context, out, notes io.Writer, opts adoptOptions) error {
	if err := opts.check(); err != nil {
		return err
	}
	config, err := readConfig(opts.config)
	if err != nil {
		return err
	}
	conflicts, err := newAdoptConflicts(ctx, config, notes, opts.dir)
	if err != nil {
		return err
	}
	cluster, err := config.ProxmoxReader(opts.log)
	if err != nil {
		return err
	}
	defer cluster.Close()
	found, err := adoptReader{cluster, term.NewProgress(notes), notes}.read(ctx, opts.vmids)
	if err != nil {
		return err
	}
	a := adopter{opts: opts, cluster: config.Cluster.Name, conflicts: conflicts, found: found}
	for _, vmid := range found.vmids {
		if err := a.adopt(vmid); err != nil {
			a.refuse(vmid, err)
		}
	}
	return a.finish(out, notes)
}

// adopter writes the manifests of one command line.
type adopter struct {
	opts      adoptOptions
	cluster   string
	conflicts *adoptConflicts
	found     liveGuests
	done      []adoptedGuest
	refused   []refusedGuest
	skipped   int // guests that --all skipped, because an agent or a manifest manages them
}

// adoptedGuest is a guest with its manifest, and the file of the manifest.
type adoptedGuest struct {
	manifest.Adopted
	file string // "" for standard output
}

// refusedGuest is a guest for which no manifest was written.
type refusedGuest struct {
	vmid int
	err  error
}

func (a *adopter) refuse(vmid int, err error) {
	a.refused = append(a.refused, refusedGuest{vmid, err})
}

func (a *adopter) adopt(vmid int) error {
	o, err := a.found.guest(vmid)
	if err != nil {
		return err
	}
	if err := a.conflicts.check(o, a.opts.force); err != nil {
		if a.opts.all {
			a.skipped++
			return nil
		}
		return err
	}
	name := a.conflicts.name(o)
	adopted, err := manifest.Adopt(o, manifest.AdoptOptions{Cluster: a.cluster, Name: name, Env: a.opts.env})
	var unfit *manifest.AdoptError
	switch {
	case errors.As(err, &unfit):
		return term.WithHint(err, unfit.Hint)
	case err != nil:
		return err
	}
	file := ""
	if a.opts.dir != "" {
		if file, err = a.write(adopted); err != nil {
			return err
		}
	}
	a.done = append(a.done, adoptedGuest{adopted, file})
	return nil
}

// finish prints the result and returns an error that names the refused guests.
func (a *adopter) finish(out, notes io.Writer) error {
	if a.skipped > 0 {
		_, _ = fmt.Fprintf(notes, "gitops-agent: note: skipped %s that an agent or a manifest manages already\n", term.Count(a.skipped, "guest"))
	}
	if err := a.print(out); err != nil {
		return err
	}
	if len(a.refused) == 0 {
		return nil
	}
	var lines []error
	hint := ""
	for _, r := range a.refused {
		lines = append(lines, fmt.Errorf("guest %d %w", r.vmid, r.err))
		hint = cmp.Or(hint, hintFor(r.err))
	}
	return term.WithHint(errors.Join(lines...), hint)
}

// label returns the name of an adopted guest in the repository, as KIND/NAME.
func (g adoptedGuest) label() string { return guest.Ref{Kind: g.Kind, Name: g.Name}.Label() }
