package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/statusview"
	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"

	"github.com/spf13/cobra"
)

func newApproveCommand(p *program) *cobra.Command {
	var opts approveOptions
	cmd := &cobra.Command{
		Use:   "approve STEP-DIGEST...",
		Short: "Print the git command that approves held steps",
		Long: help(`Prints the git command that creates a signed approval of held steps. A signer with the role approve runs it in a clone and pushes
the commit. If the agent is running, the steps that the commit would release are printed to stderr. This command changes nothing.

The trailer Gitops-Target is added if the config contains binding: trailer. If the config is on another host, use --target.`,
			ending{term.ExitDone, "the command was printed"}, ending{term.ExitError, "error"}),
		Example: `  gitops-agent approve 3c1f0f7a0e7b4a6f9d1c2b3a4d5e6f70
  gitops-agent approve --url http://pve1:9746 --target home/main 3c1f0f7a0e7b4a6f9d1c2b3a4d5e6f70`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.config, opts.digests = p.config, args
			opts.required = cmd.Flags().Changed("config")
			return runApprove(cmd.Context(), p.out, p.err, opts)
		},
	}
	targetFlags(cmd, &opts.agent)
	cmd.Flags().StringVar(&opts.target, "target", "", "add the trailer Gitops-Target with this `CLUSTER/BRANCH`")
	return cmd
}

type approveOptions struct {
	config   string
	required bool // the flag --config was given, so the file must exist
	agent    statusview.Target
	target   string
	digests  []string
}

func runApprove(ctx context.Context, out, notes io.Writer, opts approveOptions) error {
	for _, d := range opts.digests {
		if len(d) != 32 || strings.Trim(d, "0123456789abcdef") != "" {
			return term.UsageErrorf("%q is not a step digest: want 32 lower-case hex digits, as status and plan print them", d)
		}
	}
	if opts.target != "" && (term.Printable(opts.target) != opts.target || !strings.Contains(opts.target, "/")) {
		return term.UsageErrorf("--target %q: want CLUSTER/BRANCH", opts.target)
	}
	target, err := opts.bindingTarget(notes)
	if err != nil {
		return err
	}
	held := opts.released(ctx, notes)
	_, err = fmt.Fprintln(out, approvalCommand(held, opts.digests, target))
	return err
}

// bindingTarget returns the value of the trailer Gitops-Target, or "" if the trailer is not needed.
func (o approveOptions) bindingTarget(notes io.Writer) (string, error) {
	if o.target != "" {
		return o.target, nil
	}
	config, err := agent.ReadConfig(o.config)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !o.required:
		_, _ = fmt.Fprintln(notes, "gitops-agent: note: no config on this host: if the agent's config contains binding: trailer, add --target CLUSTER/BRANCH")
		return "", nil
	case err != nil:
		return "", err
	case config.Trust.Binding == string(verify.BindingTrailer):
		return config.Cluster.Name + "/" + config.Source.Branch, nil
	default:
		return "", nil
	}
}

// released reads the steps with these digests from the agent and prints them as notes. If the agent does not answer, it prints that and
// returns nil.
func (o approveOptions) released(ctx context.Context, notes io.Writer) []string {
	report, err := o.report(ctx)
	if err != nil {
		_, _ = fmt.Fprintf(notes, "gitops-agent: note: the steps that it would release are unknown: %s\n", term.Printable(err.Error()))
		return nil
	}
	var released []string
	for _, digest := range o.digests {
		if lost := report.Recovery; lost != nil && lost.Digest == digest {
			claim := "the claim of " + term.Count(len(lost.Claims()), "guest")
			released = append(released, claim)
			_, _ = fmt.Fprintf(notes, "gitops-agent: note: %s would release %s whose records were lost: gitops-agent recover lists them\n", digest, claim)
			continue
		}
		what, h, found := heldStep(report, digest)
		if !found {
			_, _ = fmt.Fprintf(notes, "gitops-agent: note: the agent holds no step %s: it may be approved, done or outdated\n", digest)
			continue
		}
		released = append(released, fmt.Sprintf("%s of %s", h.Op, what.Label()))
		_, _ = fmt.Fprintf(notes, "gitops-agent: note: %s would release %s of %s, which is %s: %s\n", digest, h.Op, term.Printable(what.String()), h.Class, term.Printable(h.Message))
	}
	return released
}

func (o approveOptions) report(ctx context.Context) (report.Report, error) {
	client, err := statusview.NewClient(o.agent, configReader(o.config))
	if err != nil {
		return report.Report{}, err
	}
	document, _, err := client.Read(ctx)
	return document.Report, err
}

// heldStep returns the step with a digest, and the guest or the Cluster that it concerns.
func heldStep(r report.Report, digest string) (guest.Ref, report.HeldStep, bool) {
	if r.Guards != nil {
		if at := slices.IndexFunc(r.Guards.Held, func(h report.HeldStep) bool { return h.Digest == digest }); at >= 0 {
			return guest.Ref{Kind: "Cluster", Name: r.Cluster}, r.Guards.Held[at], true
		}
	}
	for _, g := range r.Guests {
		if at := slices.IndexFunc(g.Held, func(h report.HeldStep) bool { return h.Digest == digest }); at >= 0 {
			return g.Ref(), g.Held[at], true
		}
	}
	return guest.Ref{}, report.HeldStep{}, false
}

// approvalCommand returns the command for a POSIX shell. All trailers are in the last paragraph of the message; elsewhere they have no effect.
func approvalCommand(released, digests []string, target string) string {
	subject := "Approve " + strings.Join(released, ", ")
	if len(released) != len(digests) {
		subject = "Approve " + term.Count(len(digests), "step")
	}
	trailers := make([]string, 0, len(digests)+1)
	for _, d := range digests {
		trailers = append(trailers, "Gitops-Approve: "+d)
	}
	if target != "" {
		trailers = append(trailers, "Gitops-Target: "+target)
	}
	return "git commit --allow-empty -S -m " + shellQuoted(term.Printable(subject)) + " -m " + shellQuoted(strings.Join(trailers, "\n"))
}

func shellQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
