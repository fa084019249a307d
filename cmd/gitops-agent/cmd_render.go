package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"gitops-agent/cmd/gitops-agent/internal/manifestview"
	"gitops-agent/cmd/gitops-agent/internal/subject"
	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest"

	"github.com/spf13/cobra"
)

func newRenderCommand(p *program) *cobra.Command {
	var opts renderOptions
	cmd := &cobra.Command{
		Use:   "render KIND/NAME",
		Short: "Show a guest with all inherited values",
		Long: help(`Prints one guest of a working copy as one manifest: its own spec over the classes that it names, over those that select it, over the
defaults of the Cluster, each value with its file and line. The output parses to the same guest. Comments at its end are what policies of the
working copy would say if the guest were created now.`,
			ending{term.ExitDone, "done"}, ending{term.ExitError, "the manifests cannot be read, or none describes this guest"}),
		Example: `  gitops-agent render VirtualMachine/web-1
  gitops-agent render Container/dns-1 --dir clusters/home -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.label = args[0]
			return runRender(cmd.Context(), p.out, opts)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return subject.GuestLabels(cmd.Context(), opts.dir), cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().StringVar(&opts.dir, "dir", ".", "the `directory` of the working copy, or of one cluster in it")
	if err := cmd.MarkFlagDirname("dir"); err != nil {
		panic(err) // the flag is defined one line above
	}
	outputFlag(cmd, &opts.output, outputText, outputJSON)
	return cmd
}

type renderOptions struct {
	label, dir, output string
}

func runRender(ctx context.Context, out io.Writer, opts renderOptions) error {
	set, err := subject.ReadDirs(ctx, []string{opts.dir})
	switch {
	case errors.As(err, new(*manifest.Problems)):
		return term.WithHint(err, "gitops-agent validate "+opts.dir+" prints the same problems")
	case err != nil:
		return err
	}
	label := guest.FindLabel(opts.label, set.Labels())
	i := slices.IndexFunc(set.Guests, func(g manifest.Guest) bool { return g.Label() == label })
	if i < 0 {
		return noGuest(set, opts)
	}
	result := manifestview.NewRendering(set, set.Guests[i])
	if opts.output == outputJSON {
		return term.WriteJSON(out, result)
	}
	return result.WriteText(out)
}

// noGuest returns the error for a guest without a manifest. Its hint suggests the guest that may be meant.
func noGuest(set manifest.Set, opts renderOptions) error {
	hint := "guests are named KIND/NAME, such as VirtualMachine/web-1"
	if meant := set.Closest(opts.label); meant != "" {
		hint = "did you mean " + meant + "?"
	}
	return term.WithHint(fmt.Errorf("no guest %s among the %s of %s", opts.label, term.Count(len(set.Guests), "guest"), opts.dir), hint)
}
