package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/audit"
	"gitops-agent/cmd/gitops-agent/internal/proposal"
	"gitops-agent/cmd/gitops-agent/internal/term"

	"github.com/spf13/cobra"
)

func newVerifyCommand(p *program) *cobra.Command {
	var opts verifyOptions
	cmd := &cobra.Command{
		Use:   "verify [REV | A..B]",
		Short: "Report who signed commits, and whether the signers are accepted",
		Long: help(`Verifies commits and tags of a repository, each by itself, with the signers and the trusted root of the config, or with those of
--trusted-root and --signer, which need no config. In a clone that init --repository prepared, and where no config is, its person is the accepted
signer. The default is HEAD. A range A..B follows first parents, as the agent's policy does; the commits
of side branches are counted, and verified with --side-branches. An annotated tag is verified together with its commit; --since-anchor verifies everything after the config's trust.anchor. A range of more than 50
commits is summed up by reason and by signer.

The repository is the one that the agent fetched, or that of --repo: a directory or a remote. From a remote, one branch with its history, and
the tag if REV is one, is fetched into a temporary directory. For a remote that the config names, the credentials of the config are used.

--who needs a trusted root and no signers: it lists everyone who provably signed, with the number of commits, and the first and last proven time. What
a signature only claims, as in gitsign's online mode, is listed apart as not proven.

--attestations shows which clusters matched each commit and when, as their agents signed it with the keys of --attestation-key. It changes no verdict.
It also says whether a cluster matched the commit that the trailer Gitops-Promoted names.

--since-accepted judges one tip exactly as the running agent would: the config and the journal of the host say what was accepted, and history, target,
age, roles, scopes and manifests are checked. It is for pre-receive hooks and pull requests. Only the floor in the cluster is not read.

Otherwise a commit's place in history, its age and its target are not checked here: "accepted" means that a signer who may make this change signed
it, and "sealed" that a later commit of the range, by a signer with the role seal, seals it. The command reads no manifests, so it does not
compare the changes of a commit with the guests of its signer. The agent checks all of this before it accepts a tip.`,
			ending{term.ExitDone, "everything is accepted or sealed"}, ending{term.ExitError, "something could not be read"},
			ending{term.ExitRefused, "something is refused, or the history is not whole"}),
		Example: `  gitops-agent verify main~20..main
  gitops-agent verify --since-anchor --explain
  gitops-agent verify --since-accepted --repo /srv/homelab.git 3f2a1c9
  gitops-agent verify v1.0..main --only unsigned,wrong-identity
  gitops-agent verify --repo . --trusted-root trusted_root.json --signer https://accounts.google.com=alice@example.org v1.2
  gitops-agent verify --repo . --trusted-root trusted_root.json --signer 'https://accounts.google.com=*@example.org' v1.2
  gitops-agent verify --who --repo . --trusted-root trusted_root.json ..main
  gitops-agent verify --repo https://github.com/example/homelab.git --since-anchor -o sarif > verify.sarif
  gitops-agent verify --since-anchor -o html > audit.html`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.audit.ReadConfig = configReader(p.config)
			if !cmd.Flags().Changed("config") && !opts.audit.Repository.IsRemote() {
				opts.audit.Trust.Clone = cmp.Or(opts.audit.Repository.Where, ".")
			}
			if len(args) == 1 {
				opts.audit.Revision = args[0]
			}
			return runVerify(cmd.Context(), p.out, p.err, opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.audit.Repository.Where, "repo", "", "verify this repository, a `directory or URL`, instead of the one that the agent fetched")
	flags.StringVar(&opts.audit.Repository.Branch, "branch", "", "with a URL: the `branch` to fetch (default the config's, or main)")
	flags.StringVar(&opts.audit.Repository.Remote.Username, "username", "", "with a URL: the `user` for the token (default x-access-token)")
	flags.StringVar(&opts.audit.Repository.Remote.TokenFile, "token-file", "", "with a URL: a `file` with the token for https")
	flags.StringVar(&opts.audit.Repository.Remote.SSHKeyFile, "ssh-key-file", "", "with a URL: a `file` with the private key for ssh")
	flags.StringVar(&opts.audit.Repository.Remote.KnownHostsFile, "known-hosts-file", "", "with a URL: a `file` with the host keys for ssh")
	flags.StringVar(&opts.audit.Repository.Remote.CAFile, "ca-file", "", "with a URL: a `file` with certificates to trust for https in addition to those of the system")
	flags.StringVar(&opts.audit.Trust.Root, "trusted-root", "", "trust this Sigstore trusted_root.json `file`, with --signer or --who")
	flags.StringArrayVar(&opts.audit.Trust.Signers, "signer", nil, "accept this signer, as `ISSUER=SUBJECT`, with --trusted-root; in SUBJECT, * stands for any text, also with / and @")
	flags.BoolVar(&opts.audit.Sides, "side-branches", false, "verify the commits of side branches too, each against its own first parent")
	flags.BoolVar(&opts.audit.Who, "who", false, "list who signed, without a policy")
	flags.StringVar(&opts.audit.Evidence.From, "evidence", "", "verify commits of gitsign's online mode with the evidence in this `file`, or in the notes of the repository: notes")
	flags.StringVar(&opts.audit.Evidence.Rekor, "rekor", "", "ask the Rekor log at this `URL` about commits of gitsign's online mode; tells it their ids")
	flags.StringVar(&opts.audit.Evidence.CAFile, "rekor-ca-file", "", "with --rekor: a `file` with certificates to trust in addition to those of the system")
	flags.StringVar(&opts.audit.Attested.From, "attestations", "", "show what agents stated about the commits, from this `directory`, or from the notes of the repository: notes")
	flags.StringArrayVar(&opts.audit.Attested.Keys, "attestation-key", nil, "with --attestations: a `file` with the public key of an agent")
	flags.BoolVar(&opts.audit.SinceAnchor, "since-anchor", false, "verify everything after the config's anchor, up to REV")
	flags.BoolVar(&opts.sinceAccepted, "since-accepted", false, "judge REV as the running agent would, from the config and the journal of its host")
	flags.BoolVar(&opts.explain, "explain", false, "print for each refusal the reason and the remedy")
	flags.StringSliceVar(&opts.audit.Listing.Only, "only", nil, "list only these verdicts: accepted, refused, sealed, or a `REASON` such as unsigned")
	flags.BoolVar(&opts.audit.Listing.All, "all", false, "list every verdict of a long range, and explain every refusal")
	completeWords(cmd, "only", audit.OnlyWords())
	flags.StringVar(&opts.verifier.ID, "verifier-id", "", "with -o vsa: a `URI` that says who verified")
	flags.StringVar(&opts.verifier.Resource, "resource-uri", "", "with -o vsa: the `URI` of the repository (default that of --repo or of the config's first remote)")
	outputFlag(cmd, &opts.output, outputText, outputJSON, outputSARIF, outputHTML, outputVSA)
	return cmd
}

type verifyOptions struct {
	audit    audit.Options
	output   string
	explain  bool
	verifier audit.Verifier

	sinceAccepted bool
}

// auditGarbage is the garbage that an audit may keep, in percent of what it needs. Half of the default takes a fifth less memory and no more time, because
// almost all time is spent on signatures.
const auditGarbage = 50

// auditMemory is from which size on the program collects garbage more often, in bytes. The verdicts of the longest range need about 180 MiB.
const auditMemory = 208 << 20

func runVerify(ctx context.Context, out, notes io.Writer, opts verifyOptions) (err error) {
	if err := opts.check(); err != nil {
		return err
	}
	if opts.sinceAccepted {
		return runProposal(ctx, out, notes, opts)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(auditGarbage)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(auditMemory)
	}
	opts.audit.Progress, opts.audit.Paths, opts.audit.Explain = term.NewProgress(notes), opts.output == outputSARIF, opts.explain
	opts.audit.Warn = func(text string) { _, _ = fmt.Fprintf(notes, "gitops-agent: warning: %s\n", term.Printable(text)) }
	opts.audit.Note = noteTo(notes)
	a, err := audit.Open(ctx, opts.audit)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if opts.audit.Who {
		return runWho(ctx, out, a, opts.output)
	}
	result, err := a.Run(ctx)
	if err != nil {
		return err
	}
	switch opts.output {
	case outputJSON:
		err = result.WriteJSON(out)
	case outputSARIF:
		err = result.WriteSARIF(out, thisBuild().Version)
	case outputHTML:
		err = result.WriteHTML(out, thisBuild().Version, time.Now())
	case outputVSA:
		opts.verifier.Version, opts.verifier.Time = thisBuild().Version, time.Now()
		err = result.WriteVSA(out, opts.verifier)
	default:
		result.WriteText(out, opts.explain)
	}
	return cmp.Or(err, result.Err())
}

// noteTo returns a function that shows a note.
func noteTo(notes io.Writer) func(string) {
	return func(text string) { _, _ = fmt.Fprintf(notes, "gitops-agent: note: %s\n", term.Printable(text)) }
}

// check returns an error for options that do not belong together. --who makes no verdicts.
func (o verifyOptions) check() error {
	hasVerifier := o.verifier.ID != "" || o.verifier.Resource != ""
	switch {
	case o.output != outputVSA && hasVerifier:
		return term.UsageErrorf("--verifier-id and --resource-uri belong to -o vsa")
	case o.sinceAccepted:
		return o.checkProposal()
	case !o.audit.Who && o.output == outputVSA:
		return o.verifier.Check()
	case !o.audit.Who:
		return nil
	case o.output != outputText && o.output != outputJSON:
		return term.UsageErrorf("--who prints text or json")
	case o.audit.Attested.From != "" || len(o.audit.Attested.Keys) > 0:
		return term.UsageErrorf("--who makes no verdicts: --attestations does not apply")
	case o.explain || o.audit.Listing.All || len(o.audit.Listing.Only) > 0:
		return term.UsageErrorf("--who accepts and refuses nothing: --explain, --only and --all do not apply")
	}
	return nil
}

// runWho prints who signed.
func runWho(ctx context.Context, out io.Writer, a *audit.Audit, output string) error {
	who, err := a.RunWho(ctx)
	if err != nil {
		return err
	}
	if output == outputJSON {
		err = term.WriteJSON(out, who)
	} else {
		who.WriteText(out)
	}
	return cmp.Or(err, who.Err())
}

// checkProposal returns an error for options that do not belong to --since-accepted.
func (o verifyOptions) checkProposal() error {
	_, _, isRange := strings.Cut(o.audit.Revision, "..")
	switch {
	case o.audit.Trust.Root != "" || len(o.audit.Trust.Signers) > 0:
		return term.UsageErrorf("--since-accepted judges by the config; --trusted-root and --signer do not apply")
	case o.audit.Evidence != audit.Evidence{}:
		return term.UsageErrorf("--since-accepted judges as the agent does, with the evidence in the notes of the repository")
	case o.audit.Attested.From != "" || len(o.audit.Attested.Keys) > 0:
		return term.UsageErrorf("--since-accepted judges what was not applied yet: --attestations does not apply")
	case o.audit.Who || o.audit.SinceAnchor || o.audit.Sides || o.explain || o.audit.Listing.All || len(o.audit.Listing.Only) > 0:
		return term.UsageErrorf("--since-accepted judges one tip as a whole; it takes only --repo and what belongs to it, and -o")
	case isRange:
		return term.UsageErrorf("--since-accepted begins at the accepted revision: name the tip alone")
	case o.output != outputText && o.output != outputJSON:
		return term.UsageErrorf("--since-accepted prints text or json")
	}
	return nil
}

// runProposal judges a tip as the running agent would.
func runProposal(ctx context.Context, out, notes io.Writer, opts verifyOptions) error {
	config, err := opts.audit.ReadConfig()
	if err != nil {
		return err
	}
	document, err := proposal.Judge(ctx, proposal.Options{
		Config: config, Repository: opts.audit.Repository, Tip: cmp.Or(opts.audit.Revision, "HEAD"), Progress: term.NewProgress(notes),
		Note: noteTo(notes),
	})
	if err != nil {
		return err
	}
	if opts.output == outputJSON {
		err = term.WriteJSON(out, document)
	} else {
		document.WriteText(out)
	}
	return cmp.Or(err, document.Err())
}
