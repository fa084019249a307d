package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"regexp"
	"runtime/debug"
	"sync"

	"gitops-agent/cmd/gitops-agent/internal/planview"
	"gitops-agent/cmd/gitops-agent/internal/subject"
	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"

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
source.paths names a folder, name that folder.

The plan names what the guests that differ need and the cluster does not have: nodes, storages, bridges, images, templates, backups, pools, CPU
models, tags, and privileges of the token.

--base is for a host without the agent's journal, such as a runner of a pull request: the guests that this directory names and that have an agent's
marker count as the agent's own. --agent-token is for a token that may only read: it names the token whose privileges are checked.`,
			ending{term.ExitDone, "the plan was computed"}, ending{term.ExitError, "error; or the plan has a problem that would stop the agent"},
			ending{term.ExitChanges, "with --exit-code: guests or objects are out of sync, steps are held, or a guest could not be read"}),
		Example: `  gitops-agent plan --dir .
  gitops-agent plan --ref main~1 --guest VirtualMachine/web-1
  gitops-agent plan --dir . -o markdown > comment.md
  gitops-agent plan --dir head --base base --agent-token 'gitops@pve!agent'
  gitops-agent plan --exit-code > /dev/null || echo 'not in sync'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return term.UsageErrorf("got %q: a working copy is planned with --dir %[1]s, a revision with --ref %[1]s", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.config, opts.log = p.config, p.logger()
			return runPlan(cmd.Context(), p.out, p.err, opts)
		},
	}
	cmd.Flags().StringVar(&opts.ref, "ref", "", "plan this `revision` of the fetched repository")
	cmd.Flags().StringVar(&opts.dir, "dir", "", "plan the manifests below this `directory`")
	cmd.Flags().StringVar(&opts.base, "base", "", "take the guests of this `directory` for the agent's own, and read no journal")
	cmd.Flags().StringVar(&opts.commit, "commit", "", "the `id` of the commit that --dir contains, for the heading")
	cmd.Flags().StringVar(&opts.writer, "agent-token", "", "check the privileges of this `token`, USER@REALM!NAME, with which the agent writes")
	cmd.Flags().StringSliceVar(&opts.guests, "guest", nil, "show only these guests, as `KIND/NAME`")
	cmd.Flags().BoolVar(&opts.exitCode, "exit-code", false, "end with status 3 if guests or objects are out of sync")
	completeWith(cmd, "guest", func(ctx context.Context) []string { return subject.GuestLabels(ctx, opts.dir) })
	outputFlag(cmd, &opts.output, outputText, outputJSON, outputMarkdown)
	return cmd
}

type planOptions struct {
	config   string
	ref, dir string
	base     string // directory
	commit   string
	writer   string // name of the agent's token
	guests   []string
	output   string
	exitCode bool
	log      *slog.Logger
}

// planGCPercent lets the heap of a plan grow further before it is collected than Go's default of 100. The process ends soon, and a fifth of its processor time was the
// collector's. A plan of 500 guests then takes 58 instead of 53 MiB.
const planGCPercent = 200

func runPlan(ctx context.Context, out, notes io.Writer, opts planOptions) error {
	debug.SetGCPercent(planGCPercent)
	if err := opts.check(); err != nil {
		return err
	}
	config, err := readConfig(opts.config)
	if err != nil {
		return err
	}
	document, err := newPlan(ctx, config, notes, opts)
	if err != nil {
		if opts.output == outputMarkdown {
			return errors.Join(err, planview.WriteMarkdownError(out, config.Cluster.Name, opts.commit, err))
		}
		return err
	}
	if err := writePlan(out, document, opts.output); err != nil {
		return err
	}
	if err := document.Err(); err != nil {
		return err
	}
	if opts.exitCode && document.Differs() {
		return term.WithStatus(term.ExitChanges, nil)
	}
	return nil
}

// commitID and tokenName match the values of flags.
var (
	commitID  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{7,64}$`) })
	tokenName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^\s:/@!]+@[A-Za-z][\w.-]*![A-Za-z][\w.-]*$`) })
)

func (o planOptions) check() error {
	switch {
	case o.ref != "" && o.dir != "":
		return term.UsageErrorf("--ref and --dir exclude each other")
	case o.dir == "" && (o.base != "" || o.commit != ""):
		return term.UsageErrorf("--base and --commit belong to --dir")
	case o.commit != "" && !commitID().MatchString(o.commit):
		return term.UsageErrorf("--commit: want the hexadecimal id of a commit")
	case o.writer != "" && !tokenName().MatchString(o.writer):
		return term.UsageErrorf("--agent-token: want the name of a token, USER@REALM!NAME, without its secret")
	}
	return nil
}

// newPlan reads the manifests and the cluster.
func newPlan(ctx context.Context, config agent.Config, notes io.Writer, opts planOptions) (planview.Document, error) {
	reader := subject.Reader{Config: config, Notes: notes}
	live, err := readCluster(ctx, config, notes, opts.log)
	if err != nil {
		return planview.Document{}, err
	}
	defer live.close()
	state := journal.State{}
	if opts.base == "" {
		state, err = reader.State()
	}
	if err != nil {
		return planview.Document{}, err
	}
	manifests, err := reader.ReadWith(ctx, state, opts.ref, opts.dir)
	if err != nil {
		return planview.Document{}, err
	}
	manifests.Commit = opts.commit
	if opts.base != "" {
		if manifests.State, err = assumedState(ctx, reader, live, opts.base); err != nil {
			return planview.Document{}, err
		}
		manifests.Ownership = planview.OwnershipAssumed
	}
	preview, err := live.preview(ctx, config, manifests)
	if err != nil {
		return planview.Document{}, err
	}
	document, err := planview.NewDocument(manifests, preview, opts.guests)
	if err == nil {
		document.SetProblems(live.problems(ctx, preview, opts.guests, opts.writer))
	}
	return document, err
}

// assumedState returns the state of an agent that has applied the manifests of a directory.
func assumedState(ctx context.Context, reader subject.Reader, live *liveCluster, dir string) (journal.State, error) {
	base, err := reader.Base(ctx, dir)
	if errors.As(err, new(*manifest.Problems)) {
		reader.Note("the manifests of the base are not valid, so no guest counts as the agent's own: %v", err)
		return journal.State{}, nil
	}
	if err != nil {
		return journal.State{}, err
	}
	return live.assume(ctx, base)
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
