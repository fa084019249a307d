package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"

	"gitops-agent/cmd/gitops-agent/internal/adoption"
	"gitops-agent/cmd/gitops-agent/internal/term"

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
With --as-set, guests that differ in few fields become members of one GuestSet, in a file guestset-NAME.yaml; each member means what its own manifest
would mean.
Guests that an agent or a manifest manages already are not adopted again; --all skips them.`,
			ending{term.ExitDone, "every manifest was written"}, ending{term.ExitError, "error, or a guest was not adopted; the others were"}),
		Example: `  gitops-agent adopt 105
  gitops-agent adopt 105 106 --out guests
  gitops-agent adopt --all --out guests && gitops-agent plan --dir .
  gitops-agent adopt --all --as-set --out guests`,
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
	cmd.Flags().BoolVar(&opts.asSet, "as-set", false, "write a GuestSet for guests that differ in few fields")
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
	asSet  bool
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
	case o.force && o.asSet:
		return term.UsageErrorf("--force and --as-set exclude each other: a set would describe guests that have a file already")
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
	result, err := adoption.Run(ctx, adoption.Options{
		Config: config, Logger: opts.log, Hint: hintFor, Notes: notes,
		VMIDs: opts.vmids, Dir: opts.dir, Force: opts.force, Env: opts.env, AsSet: opts.asSet,
	})
	if err != nil {
		return err
	}
	if opts.output == outputJSON {
		err = term.WriteJSON(out, result.Document())
	} else {
		err = result.WriteText(out)
	}
	return cmp.Or(err, result.Err())
}
