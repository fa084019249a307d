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
	"gitops-agent/internal/shell"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/report"

	"github.com/spf13/cobra"
)

func newApproveCommand(p *program) *cobra.Command {
	var opts approveOptions
	cmd := &cobra.Command{
		Use:   "approve STEP...",
		Short: "Print the git command that approves held steps",
		Long: help(`Prints the git command that creates a signed approval of held steps. A signer with the role approve runs it in a clone and pushes
the commit. If the agent is running, the steps that the commit would release are printed to stderr. This command changes nothing.

A step is its digest, as status and plan print it. If the agent is running, the beginning of a digest is enough, or the guest or object whose held steps
are all meant: web-1, VirtualMachine/web-1 or 201.

The trailer Gitops-Target is added if the config contains binding: trailer. If the config is on another host, use --target.`,
			ending{term.ExitDone, "the command was printed"}, ending{term.ExitError, "error"}),
		Example: `  gitops-agent approve 3c1f0f7a0e7b4a6f9d1c2b3a4d5e6f70
  gitops-agent approve 3c1f web-1
  gitops-agent approve --url http://pve1:9746 --target home/main 3c1f0f7a0e7b4a6f9d1c2b3a4d5e6f70`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.config, opts.words = p.config, args
			opts.required = cmd.Flags().Changed("config")
			return runApprove(cmd.Context(), p.out, p.err, opts)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
			defer cancel()
			opts.config = p.config
			newest, err := opts.report(ctx)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var list []cobra.Completion
			for _, s := range heldSteps(newest) {
				if !slices.Contains(args, s.digest) {
					list = append(list, cobra.CompletionWithDesc(s.digest, s.what))
				}
			}
			return list, cobra.ShellCompDirectiveNoFileComp
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
	words    []string
}

func runApprove(ctx context.Context, out, notes io.Writer, opts approveOptions) error {
	if opts.target != "" && (term.Printable(opts.target) != opts.target || !strings.Contains(opts.target, "/")) {
		return term.UsageErrorf("--target %q: want CLUSTER/BRANCH", opts.target)
	}
	target, err := opts.bindingTarget(notes)
	if err != nil {
		return err
	}
	newest, unread := opts.report(ctx)
	digests, err := digestsOf(opts.words, newest, unread)
	if err != nil {
		return err
	}
	var released []string
	if unread != nil {
		_, _ = fmt.Fprintf(notes, "gitops-agent: note: the steps that it would release are unknown: %s\n", term.Printable(unread.Error()))
	} else {
		released = releasedBy(digests, newest, notes)
	}
	_, err = fmt.Fprintln(out, approvalCommand(released, digests, target))
	return err
}

// shortestDigest is how many digits of a digest name a step at least.
const shortestDigest = 4

// digestsOf returns the digests of the steps that the words name, without repetition. Without a report, each word has to be a digest.
func digestsOf(words []string, newest report.Report, unread error) ([]string, error) {
	var digests []string
	add := func(digest string) {
		if !slices.Contains(digests, digest) {
			digests = append(digests, digest)
		}
	}
	for _, word := range words {
		isHex := strings.Trim(word, "0123456789abcdef") == ""
		if gate.IsDigest(word) {
			add(word)
			continue
		}
		if unread != nil {
			return nil, term.UsageErrorf("%q is not the digest of a step (%d lower-case hex digits), and what it names is not known: %s; --url ADDRESS names an agent on another host", word, gate.DigestLength, term.Printable(unread.Error()))
		}
		g, isGuest := newest.Find(word)
		var found []step
		for _, s := range heldSteps(newest) {
			if isGuest && s.of == g.Ref() || isHex && len(word) >= shortestDigest && strings.HasPrefix(s.digest, word) {
				found = append(found, s)
			}
		}
		begins := slices.ContainsFunc(found, func(s step) bool { return strings.HasPrefix(s.digest, word) })
		switch {
		case len(found) == 0 && isGuest:
			return nil, term.UsageErrorf("%s has no held step", g.Label())
		case len(found) == 0:
			return nil, term.UsageErrorf("no held step has the digest %q, or a digest that begins so with %d digits or more, and no guest or object with held steps has the name: status lists them", word, shortestDigest)
		case begins && len(found) > 1:
			var lines []string
			for _, s := range found {
				lines = append(lines, s.digest+" "+s.what)
			}
			return nil, term.UsageErrorf("%q names more than one held step: %s", word, strings.Join(lines, "; "))
		}
		for _, s := range found {
			add(s.digest)
		}
	}
	return digests, nil
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
	}
	return config.TrailerTarget(), nil
}

// releasedBy returns what approvals of the digests would release, and prints it as notes.
func releasedBy(digests []string, newest report.Report, notes io.Writer) []string {
	held := heldSteps(newest)
	var released []string
	for _, digest := range digests {
		at := slices.IndexFunc(held, func(s step) bool { return s.digest == digest })
		if at < 0 {
			_, _ = fmt.Fprintf(notes, "gitops-agent: note: the agent holds no step %s: it may be approved, done or outdated\n", digest)
			continue
		}
		released = append(released, held[at].what)
		_, _ = fmt.Fprintf(notes, "gitops-agent: note: %s would release %s\n", digest, held[at].effect)
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

// step is a held step, or the claim of guests whose records were lost.
type step struct {
	digest string
	of     guest.Ref // the zero value of a claim
	what   string    // "destroy of VirtualMachine/web-1"
	effect string    // a sentence without its end, which says more
}

// heldSteps returns what an approval can release: steps of the cluster, of guests and objects, and the claim.
func heldSteps(r report.Report) []step {
	var list []step
	add := func(of guest.Ref, held []report.HeldStep) {
		for _, h := range held {
			list = append(list, step{
				h.Digest, of, fmt.Sprintf("%s of %s", h.Op, of.Label()), fmt.Sprintf("%s of %s, which is %s: %s", h.Op, term.Printable(of.String()), h.Class, term.Printable(h.Message)),
			})
		}
	}
	if r.Guards != nil {
		add(guest.Ref{Kind: "Cluster", Name: r.Cluster}, r.Guards.Held)
	}
	for _, g := range r.Guests {
		add(g.Ref(), g.Held)
	}
	if lost := r.Recovery; lost != nil && lost.Digest != "" {
		claim := "the claim of " + term.Count(len(lost.Claims()), "guest")
		list = append(list, step{lost.Digest, guest.Ref{}, claim, claim + " whose records were lost: gitops-agent recover lists them"})
	}
	return list
}

// approvalCommand returns the git command that approves the steps.
func approvalCommand(released, digests []string, target string) string {
	subject := "Approve " + strings.Join(released, ", ")
	if len(released) != len(digests) {
		subject = "Approve " + term.Count(len(digests), "step")
	}
	return shell.Commit(term.Printable(subject), gate.ApprovalTrailers(digests, target)...)
}
