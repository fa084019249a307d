package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/gitsource"
	"gitops-agent/verify"

	"github.com/spf13/cobra"
)

func newVerifyCommand(p *program) *cobra.Command {
	var opts verifyOptions
	cmd := &cobra.Command{
		Use:   "verify [REV | A..B]",
		Short: "Say who signed commits, and whether they may",
		Long: help(`Verifies commits and tags of a repository, each on its own, against the config's signers and trusted root, or against those of
--trusted-root and --signer, for which no config is needed. The default is HEAD. A range A..B is walked along first parents, as the policy
does; an annotated tag is verified together with its commit; --since-anchor verifies everything after the config's trust.anchor.

The repository is the one that the agent fetched, or that of --repo: a directory, or a remote, of which one branch with its history, and
a tag that is asked for, is fetched into a temporary directory. For a remote that the config names, its credentials are those of the config.

A commit's place in history, its age and its target are left to the agent: "accepted" here means that somebody who may sign it did, and
"sealed" that a later commit of the range, by a signer with the role seal, vouches for it. An audit reads no manifests, so it does not
compare what a commit changes with the guests of its signer. The agent does, before it accepts a tip.`,
			ending{term.ExitDone, "everything is accepted or sealed"}, ending{term.ExitError, "something could not be read"},
			ending{term.ExitRefused, "something is refused, or the history is not whole"}),
		Example: `  gitops-agent verify main~20..main
  gitops-agent verify --since-anchor --explain
  gitops-agent verify --repo . --trusted-root trusted_root.json --signer https://accounts.google.com=alice@example.org v1.2
  gitops-agent verify --repo https://github.com/example/homelab.git --since-anchor -o sarif > verify.sarif`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.trust.config = p.config
			if len(args) == 1 {
				opts.revision = args[0]
			}
			return runVerify(cmd.Context(), p.out, p.err, opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.repo.where, "repo", "", "verify this repository, a `directory or URL`, instead of the one that the agent fetched")
	flags.StringVar(&opts.repo.branch, "branch", "", "with a URL: the `branch` to fetch (default the config's, or main)")
	flags.StringVar(&opts.repo.remote.Username, "username", "", "with a URL: the `user` that goes with the token (default x-access-token)")
	flags.StringVar(&opts.repo.remote.TokenFile, "token-file", "", "with a URL: a `file` with the token for https")
	flags.StringVar(&opts.repo.remote.SSHKeyFile, "ssh-key-file", "", "with a URL: a `file` with the private key for ssh")
	flags.StringVar(&opts.repo.remote.KnownHostsFile, "known-hosts-file", "", "with a URL: a `file` with the host keys for ssh")
	flags.StringVar(&opts.repo.remote.CAFile, "ca-file", "", "with a URL: a `file` with certificates to trust for https beside the system's")
	flags.StringVar(&opts.trust.root, "trusted-root", "", "trust this Sigstore trusted_root.json `file`, with --signer")
	flags.StringArrayVar(&opts.trust.signers, "signer", nil, "accept this signer, as `ISSUER=SUBJECT`, with --trusted-root")
	flags.BoolVar(&opts.sinceAnchor, "since-anchor", false, "verify everything after the config's anchor, up to REV")
	flags.BoolVar(&opts.explain, "explain", false, "say for each refusal what to do")
	outputFlag(cmd, &opts.output, outputText, outputJSON, outputSARIF)
	return cmd
}

type verifyOptions struct {
	repo        auditRepo
	trust       auditTrust
	revision    string
	sinceAnchor bool
	output      string
	explain     bool
}

func runVerify(ctx context.Context, out, notes io.Writer, opts verifyOptions) (err error) {
	grounds, err := opts.trust.read()
	if err != nil {
		return err
	}
	revision, err := opts.subject(grounds)
	if err != nil {
		return err
	}
	shown := term.NewProgress(notes)
	defer shown.End()
	repo, err := opts.repo.open(ctx, grounds.config, shown)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, repo.close()) }()
	a := auditor{
		repo: repo.Repository, policy: grounds.policy, denied: grounds.config.Trust.Deny.Commits,
		done: func(n, of int) { shown.Show("verified %d of %d", n, of) },
	}
	verdicts, err := a.audit(ctx, revision)
	if errors.Is(err, gitsource.ErrNotFound) && repo.fetchTag(ctx, revision) {
		verdicts, err = a.audit(ctx, revision)
	}
	if isRemote(opts.repo.where) && errors.Is(err, gitsource.ErrNotFound) {
		err = term.WithHint(err, "name a commit of the branch that --branch names, or a tag of the remote")
	}
	if err != nil {
		return err
	}
	if opts.output == outputSARIF {
		a.locate(ctx, verdicts)
	}
	shown.End()
	document := newVerifyDocument(revision, verdicts)
	return cmp.Or(opts.write(out, document, verdicts), unread(verdicts), document.outcome())
}

// subject returns the revision or range to verify.
func (o verifyOptions) subject(grounds auditGrounds) (string, error) {
	revision := cmp.Or(o.revision, "HEAD")
	if !o.sinceAnchor {
		return revision, nil
	}
	_, _, isRange := cutRange(revision)
	anchor := grounds.config.Trust.Anchor
	switch {
	case isRange:
		return "", term.UsageErrorf("--since-anchor and a range exclude each other")
	case o.trust.root != "":
		return "", term.UsageErrorf("--since-anchor goes with a config, which has the anchor; name a range A..B instead")
	case anchor == "":
		return "", term.WithHint(errors.New("the config has no trust.anchor"), "name a range instead: gitops-agent verify A..B")
	}
	return anchor + ".." + revision, nil
}

func (o verifyOptions) write(out io.Writer, document verifyDocument, verdicts []audited) error {
	switch o.output {
	case outputJSON:
		return term.WriteJSON(out, document)
	case outputSARIF:
		return term.WriteJSON(out, newSARIF(thisBuild(), verdicts))
	default:
		writeVerdicts(out, document)
		if o.explain {
			explainVerdicts(out, document, verdicts)
		}
		if len(verdicts) > 1 || o.explain && document.Accepted < len(verdicts) { // more than a table stands above
			_, _ = fmt.Fprintln(out)
		}
		writeTotals(out, document)
		return nil
	}
}

// unread returns why an object could not be read, which is no verdict on it.
func unread(verdicts []audited) error {
	for _, v := range verdicts {
		if v.Err != nil && !errors.As(v.Err, new(*verify.RejectedError)) {
			return v.Err
		}
	}
	return nil
}
