package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/setup"
	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/shell"
	"gitops-agent/verify"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newInitCommand(p *program) *cobra.Command {
	var opts setup.Options
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write the first config of an agent",
		Long: help(`Writes the config of an agent, with the trusted root and the token beside it, and checks the result as config check --cluster does. It asks at a
terminal what no flag answers.

It fetches the repository and proposes what it finds: the name of the Cluster, the signer of the newest commit whose signature proves one, the binding and
the anchor. It obtains the trusted root of the public Sigstore by TUF, shows the fingerprint of the API's certificate, prints the pveum commands for the
agent's role, and checks the token. Each decision becomes a comment in the config.

With --yes it takes every proposal except those about trust, which need their flags: --fingerprint or --ca-file, --signer and --anchor. Without a
terminal it asks nothing. No secret is printed.

With --repository it prepares the clone of a person who signs instead, on any machine: the settings of git and gitsign, the hook that adds the trailer
Gitops-Target, the trusted root with which verify checks there, and a Cluster manifest if the repository has none. It needs --cluster, --branch and --signer, or asks.

A second run with the same answers changes nothing. Files that differ are never overwritten: the command shows the difference and fails. Root's files
belong to root, and the group gitops-agent may read them.`,
			ending{term.ExitDone, "the config is there, and every check passed"}, ending{term.ExitError, "nothing was written, or a check failed"}),
		Example: `  gitops-agent init
  gitops-agent init --remote https://github.com/example/homelab.git --endpoint pve1.lan --endpoint pve2.lan
  gitops-agent init --yes --remote git@forge.lan:ops/home.git --ssh-key-file /etc/gitops-agent/id_ed25519 --known-hosts-file /etc/gitops-agent/known_hosts \
    --endpoint pve1.lan --ca-file /etc/gitops-agent/pve-root-ca.pem --token-file /etc/gitops-agent/token \
    --signer https://github.com/login/oauth=alice@example.org --may change,approve --anchor tip
  gitops-agent init --repository .`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.Config, opts.Out, opts.Logger = p.config, p.out, p.logger()
			opts.Progress, opts.Dialogue = term.NewProgress(p.err), term.NewDialogue(os.Stdin, p.err)
			if opts.Clone != "" {
				if err := onlyForClone(cmd); err != nil {
					return err
				}
				return runInitClone(cmd.Context(), p.out, opts)
			}
			return runInit(cmd.Context(), p.out, p.err, opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.Clone, "repository", "", "prepare this `clone` of a person who signs, instead of a host of the agent")
	flags.StringVar(&opts.Cluster, "cluster", "", "`name` of the Cluster manifest")
	flags.StringVar(&opts.Remote.URL, "remote", "", "`URL` of the repository")
	flags.StringVar(&opts.Branch, "branch", "", "the `branch` that the agent follows (default main)")
	flags.StringSliceVar(&opts.Paths, "path", nil, "`folder` of the repository with this cluster's manifests (default the whole tree)")
	flags.StringVar(&opts.Remote.Username, "git-username", "", "the `user` for --git-token-file (default x-access-token)")
	flags.StringVar(&opts.Remote.TokenFile, "git-token-file", "", "a `file` with the token for a private repository over https")
	flags.StringVar(&opts.Remote.CAFile, "git-ca-file", "", "a `file` with certificates to trust for the repository in addition to those of the system")
	flags.StringVar(&opts.Remote.SSHKeyFile, "ssh-key-file", "", "a `file` with the private key for ssh, without a passphrase")
	flags.StringVar(&opts.Remote.KnownHostsFile, "known-hosts-file", "", "a `file` with the host keys for ssh")
	flags.StringSliceVar(&opts.Endpoints, "endpoint", nil, "a `host` of the cluster, such as pve1.lan; several are possible")
	flags.StringSliceVar(&opts.Fingerprints, "fingerprint", nil, "trust the API's certificate with this SHA-256 `fingerprint`")
	flags.StringVar(&opts.CAFile, "ca-file", "", "trust certificates of the authority in this `file`: /etc/pve/pve-root-ca.pem of a node")
	flags.StringVar(&opts.TokenFile, "token-file", "", "the `file` with the API token, one line: user@realm!name=secret")
	flags.StringVar(&opts.TrustedRoot, "trusted-root", "", "use this Sigstore trusted_root.json `file` instead of TUF")
	flags.StringVar(&opts.TUFMirror, "tuf-mirror", "", "obtain the trusted root from the TUF repository at this `URL` (default that of the public Sigstore)")
	flags.StringVar(&opts.TUFRoot, "tuf-root", "", "with --tuf-mirror: a root.json `file` of that repository")
	flags.StringArrayVar(&opts.Signers, "signer", nil, "accept this signer, as `[NAME=]ISSUER=SUBJECT`; several are possible")
	flags.StringSliceVar(&opts.May, "may", nil, "the `roles` of the signers: "+verify.RoleNames()+" (default change and, for people, approve)")
	flags.StringVar(&opts.Binding, "binding", "", "what ties a commit to this cluster: `trailer`, certificate or none")
	flags.StringVar(&opts.Anchor, "anchor", "", "the `commit` that was reviewed: a full id, or tip")
	flags.StringVar(&opts.StateDir, "state-dir", "", "the `directory` of the agent's state (default /var/lib/gitops-agent)")
	flags.BoolVar(&opts.Yes, "yes", false, "take every proposal that decides nothing about trust")
	completeWords(cmd, "binding", words([]verify.Binding{verify.BindingTrailer, verify.BindingCertificate, verify.BindingNone}))
	completeWords(cmd, "may", words(verify.Roles()))
	completeWords(cmd, "anchor", []string{"tip"})
	for _, flag := range []string{"git-token-file", "git-ca-file", "ssh-key-file", "known-hosts-file", "ca-file", "token-file", "trusted-root", "tuf-root"} {
		_ = cmd.MarkFlagFilename(flag) // the flag exists
	}
	_ = cmd.MarkFlagDirname("state-dir")
	_ = cmd.MarkFlagDirname("repository")
	return cmd
}

func runInit(ctx context.Context, out, notes io.Writer, opts setup.Options) error {
	result, err := setup.Run(ctx, opts)
	if err != nil {
		return err
	}
	printDone(out, result.Written, nil, result.Config)
	_, _ = fmt.Fprintln(out)
	if err := runConfigCheck(ctx, out, io.Discard, configCheckOptions{config: result.Config, cluster: true, output: outputText, log: opts.Logger}); err != nil {
		if term.ExitStatus(err) == term.ExitError && hintFor(err) == "" {
			_, _ = fmt.Fprintf(notes, "gitops-agent: hint: correct what failed, then: %s\n", commandWithConfig("config check --cluster", result.Config))
		}
		return err
	}
	_, _ = fmt.Fprintf(out, "\nNext: %s\n", nextCommand(result.Config))
	return nil
}

// printDone prints the files that were written and the settings that were made, or that there was nothing to do for what was asked about.
func printDone(out io.Writer, written, set []string, about string) {
	_, _ = fmt.Fprintln(out)
	for _, path := range written {
		_, _ = fmt.Fprintf(out, "wrote %s\n", term.Printable(path))
	}
	for _, text := range set {
		_, _ = fmt.Fprintf(out, "set %s\n", term.Printable(text))
	}
	if len(written)+len(set) == 0 {
		_, _ = fmt.Fprintf(out, "nothing to change: %s has these answers already\n", term.Printable(about))
	}
}

// ofClone are the flags that --repository takes.
var ofClone = []string{"repository", "cluster", "branch", "path", "signer", "trusted-root", "tuf-mirror", "tuf-root", "yes", "log-level"}

// onlyForClone returns an error for a flag that says something about the agent's host.
func onlyForClone(cmd *cobra.Command) error {
	var wrong []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(ofClone, f.Name) {
			wrong = append(wrong, "--"+f.Name)
		}
	})
	if len(wrong) > 0 {
		return term.UsageErrorf("--repository prepares a clone, and %s says something about the host of the agent", strings.Join(wrong, ", "))
	}
	return nil
}

// runInitClone prepares a clone, and says what it wrote and what comes next.
func runInitClone(ctx context.Context, out io.Writer, opts setup.Options) error {
	result, err := setup.RunClone(ctx, opts)
	if err != nil {
		return err
	}
	printDone(out, result.Written, result.Set, result.Dir)
	_, _ = fmt.Fprint(out, "\nThe public log of Sigstore keeps the e-mail address of each signature for ever, for everybody to read. Where that is not wanted, let a workflow sign, or use a Sigstore of your own: docs/signing.md.\n\nNext:\n")
	if _, err := exec.LookPath(setup.Gitsign); err != nil {
		_, _ = fmt.Fprintf(out, "  go install %s    # or a package of its release: the program that signs\n", setup.GitsignModule)
	}
	_, _ = fmt.Fprintf(out, "  cd %s\n", shell.Word(result.Dir))
	if result.Created != "" {
		_, _ = fmt.Fprintf(out, "  git add %s\n  git commit -m 'the cluster'    # gitsign opens a browser to sign in\n", shell.Word(result.Created))
	}
	_, _ = fmt.Fprintln(out, "  gitops-agent verify HEAD       # after a commit: is it signed as the agent wants it?")
	return nil
}

// nextCommand returns the command that starts the agent: as the service of the package, or by hand with a config elsewhere.
func nextCommand(config string) string {
	if config == defaultConfig && os.Geteuid() == 0 {
		return "systemctl enable --now gitops-agent"
	}
	return commandWithConfig("run", config)
}

func commandWithConfig(command, config string) string {
	if config != defaultConfig {
		command += " --config " + config
	}
	return "gitops-agent " + command
}
