package main

import (
	"context"
	"io"
	"log/slog"

	"gitops-agent/cmd/gitops-agent/internal/planview"
	"gitops-agent/cmd/gitops-agent/internal/subject"
	"gitops-agent/cmd/gitops-agent/internal/term"

	"github.com/spf13/cobra"
)

func newPlanCommand(p *program) *cobra.Command {
	var opts planOptions
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show what the agent would do, without doing it",
		Long: help(`Shows the changes that would bring the cluster to a revision: for each guest the keys that differ, the line of the manifest, the effect
on the guest, and the steps that are held. It reads the cluster and cannot write to it.

Without --ref and --dir it plans the revision that the agent accepted last. --ref plans any revision that the agent fetched; a revision that
the agent would refuse is also planned, with a note on stderr, and never applied. --dir plans a working copy before it is committed; if
source.paths names a folder, name that folder.`,
			ending{term.ExitDone, "the plan was computed"}, ending{term.ExitError, "error"},
			ending{term.ExitChanges, "with --exit-code: the cluster differs, steps are held, or a guest could not be read"}),
		Example: `  gitops-agent plan --dir .
  gitops-agent plan --ref main~1 --guest VirtualMachine/web-1
  gitops-agent plan --dir . -o markdown > comment.md
  gitops-agent plan --exit-code > /dev/null || echo 'not in sync'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.config, opts.log = p.config, p.logger()
			return runPlan(cmd.Context(), p.out, p.err, opts)
		},
	}
	cmd.Flags().StringVar(&opts.ref, "ref", "", "plan this `revision` of the fetched repository")
	cmd.Flags().StringVar(&opts.dir, "dir", "", "plan the manifests below this `directory`")
	cmd.Flags().StringSliceVar(&opts.guests, "guest", nil, "show only these guests, as `KIND/NAME`")
	cmd.Flags().BoolVar(&opts.exitCode, "exit-code", false, "end with status 3 if the cluster differs")
	completeWith(cmd, "guest", func(ctx context.Context) []string { return subject.GuestLabels(ctx, opts.dir) })
	outputFlag(cmd, &opts.output, outputText, outputJSON, outputMarkdown)
	return cmd
}

type planOptions struct {
	config   string
	ref, dir string
	guests   []string
	output   string
	exitCode bool
	log      *slog.Logger
}

func runPlan(ctx context.Context, out, notes io.Writer, opts planOptions) error {
	if opts.ref != "" && opts.dir != "" {
		return term.UsageErrorf("--ref and --dir exclude each other")
	}
	config, err := readConfig(opts.config)
	if err != nil {
		return err
	}
	reader := subject.Reader{Config: config, Notes: notes}
	state, err := reader.State()
	if err != nil {
		return err
	}
	live, err := readCluster(ctx, config, state, notes, opts.log)
	if err != nil {
		return err
	}
	defer live.close()
	manifests, err := reader.ReadWith(ctx, state, opts.ref, opts.dir)
	if err != nil {
		return err
	}
	preview, err := live.preview(ctx, config, manifests)
	if err != nil {
		return err
	}
	document, err := planview.NewDocument(manifests, preview, opts.guests)
	if err != nil {
		return err
	}
	if err := writePlan(out, document, opts.output); err != nil {
		return err
	}
	if opts.exitCode && document.Differs() {
		return term.WithStatus(term.ExitChanges, nil)
	}
	return nil
}

func writePlan(out io.Writer, document planview.Document, output string) error {
	switch output {
	case outputJSON:
		return term.WriteJSON(out, document)
	case outputMarkdown:
		return planview.WriteMarkdown(out, document)
	default:
		planview.WriteText(out, document)
		return nil
	}
}
