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
		Use:   "adopt VMID... | KIND/ID... | --all",
		Short: "Write manifests of existing guests, pools and other objects",
		Long: help(`Writes the manifest of each guest: every key that is set, in the fields of manifests or under raw, and a comment on settings that cannot be
pinned. The agent then changes nothing on the guest except the ownership tag, which it sets when the committed manifest is accepted:
this command reads the cluster and cannot write to it. Before it writes a manifest it plans it, and rejects one that would change the guest.

Manifests go to standard output, or with --out to one file KIND-NAME.yaml each. An existing file is not overwritten unless --force is given.
With --as-set, guests that differ in few fields become members of one GuestSet, in a file guestset-NAME.yaml; each member means what its own manifest
would mean.
Guests that an agent or a manifest manages already are not adopted again; --all skips them.

KIND/ID names a pool or another object by its id in Proxmox, and KIND/* all of a kind that no agent and no manifest manages. The agent then changes nothing
but the comment, to which it adds its marker.`,
			ending{term.ExitDone, "every manifest was written"}, ending{term.ExitError, "error, or a guest was not adopted; the others were"}),
		Example: `  gitops-agent adopt 105
  gitops-agent adopt 105 106 --out guests
  gitops-agent adopt --all --out guests && gitops-agent plan --dir .
  gitops-agent adopt --all --as-set --out guests
  gitops-agent adopt Pool/prod/web
  gitops-agent adopt 'Pool/*' --out pools`,
		Args: func(_ *cobra.Command, args []string) error {
			var err error
			if opts.objects, err = parseObjects(args); len(opts.objects) == 0 && err == nil {
				opts.vmids, err = parseVMIDs(args)
			}
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

// parseObjects parses arguments that name objects; none if the first one names a guest.
func parseObjects(args []string) ([]adoption.ObjectName, error) {
	var objects []adoption.ObjectName
	for i, arg := range args {
		name, isObject := adoption.ParseObjectName(arg)
		switch {
		case isObject && len(objects) == i:
			objects = append(objects, name)
		case isObject || len(objects) > 0:
			return nil, fmt.Errorf("got %q beside %s, want either vmids of guests or objects such as Pool/web", arg, args[0])
		}
	}
	return objects, nil
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

	objects []adoption.ObjectName
	all     bool
	dir     string
	force   bool
	env     bool
	asSet   bool
	output  string
	log     *slog.Logger
}

func (o adoptOptions) check() error {
	switch {
	case len(o.objects) > 0 && (o.all || o.asSet || o.env):
		return term.UsageErrorf("--all, --as-set and --env are for guests, and exclude names of other objects")
	case len(o.objects) > 0 && o.force && o.dir == "":
		return term.UsageErrorf("--force needs --out, whose files it overwrites")
	case len(o.objects) > 0:
		return nil
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
	options := adoption.Options{
		Config: config, Logger: opts.log, Hint: hintFor, Notes: notes,
		VMIDs: opts.vmids, Dir: opts.dir, Force: opts.force, Env: opts.env, AsSet: opts.asSet,
	}
	if len(opts.objects) > 0 {
		result, err := adoption.RunObjects(ctx, options, opts.objects)
		if err != nil {
			return err
		}
		return printAdopted(out, opts.output, result, result.Document())
	}
	result, err := adoption.Run(ctx, options)
	if err != nil {
		return err
	}
	return printAdopted(out, opts.output, result, result.Document())
}

// printAdopted prints a result, and returns the error that names what was refused.
func printAdopted(out io.Writer, output string, result interface {
	WriteText(out io.Writer) error
	Err() error
}, document any,
) error {
	var err error
	if output == outputJSON {
		err = term.WriteJSON(out, document)
	} else {
		err = result.WriteText(out)
	}
	return cmp.Or(err, result.Err())
}
