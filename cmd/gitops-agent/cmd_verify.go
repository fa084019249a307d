package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"

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
--trusted-root and --signer, for which no config is needed. A range A..B is walked along first parents, as the policy does; an annotated
tag is verified together with its commit. The default is HEAD.

A commit's place in history, its age and its target are left to the agent: "accepted" here means that somebody who may sign it did.`,
			ending{exitDone, "everything is accepted"}, ending{exitError, "something could not be read"}, ending{exitRefused, "something is refused"}),
		Example: `  gitops-agent verify main~20..main
  gitops-agent verify --repo . HEAD --explain
  gitops-agent verify --repo . --trusted-root trusted_root.json --signer https://accounts.google.com=alice@example.org v1.2`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.config, opts.revision = p.config, "HEAD"
			if len(args) == 1 {
				opts.revision = args[0]
			}
			return runVerify(cmd.Context(), p.out, p.err, opts)
		},
	}
	cmd.Flags().StringVar(&opts.repo, "repo", "", "verify this repository, a work tree or bare `directory`, instead of the one that the agent fetched")
	cmd.Flags().StringVar(&opts.trustedRoot, "trusted-root", "", "trust this Sigstore trusted_root.json `file`, with --signer")
	cmd.Flags().StringArrayVar(&opts.signers, "signer", nil, "accept this signer, as `ISSUER=SUBJECT`, with --trusted-root")
	cmd.Flags().BoolVar(&opts.explain, "explain", false, "say for each refusal what to do")
	outputFlag(cmd, &opts.output, outputText, outputJSON)
	return cmd
}

type verifyOptions struct {
	config      string
	repo        string
	trustedRoot string
	signers     []string
	revision    string
	output      string
	explain     bool
}

func runVerify(ctx context.Context, out, notes io.Writer, opts verifyOptions) error {
	a, err := opts.auditor()
	if err != nil {
		return err
	}
	shown := newProgress(notes)
	a.done = func(n, of int) { shown.show("verified %d of %d", n, of) }
	verdicts, err := a.audit(ctx, opts.revision)
	shown.end()
	if err != nil {
		return err
	}
	document := newVerifyDocument(opts.revision, verdicts)
	if opts.output == outputJSON {
		err = writeJSON(out, document)
	} else {
		writeVerdicts(out, document, opts.explain)
	}
	return cmp.Or(err, unread(verdicts), document.outcome())
}

// auditor opens the repository and makes the policy.
func (o verifyOptions) auditor() (auditor, error) {
	switch {
	case (o.trustedRoot == "") != (len(o.signers) == 0):
		return auditor{}, usageError("--trusted-root and --signer go together")
	case o.trustedRoot != "":
		policy, err := auditPolicy(o.trustedRoot, o.signers)
		if err != nil {
			return auditor{}, err
		}
		return o.open(cmp.Or(o.repo, "."), policy)
	}
	config, err := readConfig(o.config)
	if errors.Is(err, fs.ErrNotExist) {
		return auditor{}, withHint(err, "no config is needed with --repo DIR --trusted-root FILE --signer ISSUER=SUBJECT")
	}
	if err != nil {
		return auditor{}, err
	}
	policy, err := config.Policy()
	if err != nil {
		return auditor{}, withHint(err, "gitops-agent config check names every problem of the config")
	}
	return o.open(cmp.Or(o.repo, config.RepositoryDir()), policy)
}

func (o verifyOptions) open(dir string, policy *verify.Policy) (auditor, error) {
	repo, err := gitsource.OpenRepository(dir)
	return auditor{repo: repo, policy: policy}, withHint(err, "name a repository with --repo DIR")
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
