package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"
	"gitops-agent/reconcile/manifest"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// defaultConfig is the path of the agent's config without --config.
const defaultConfig = "/etc/gitops-agent/config.yaml"

// program holds the writers and the flags that all commands share.
type program struct {
	out, err io.Writer
	config   string // path
	level    string // of the log
	started  bool   // the code of a command runs, so the parser has accepted the command line

	claimWait time.Duration // of the agent after its claim of the cluster; 0 is that of the agent
}

// run runs one command line and returns the exit status.
func (p *program) run(ctx context.Context, args []string) int {
	root := newRootCommand(p)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	switch {
	case err != nil && !p.started:
		err = term.WithStatus(term.ExitUsage, err)
	case ctx.Err() != nil && errors.Is(err, context.Canceled): // the error of the interrupted operation is not the cause
		err = errors.New("interrupted")
	}
	if term.ExitStatus(err) == term.ExitUsage && hintFor(err) == "" {
		err = term.WithHint(err, cmp.Or(similarFlag(cmd, err), cmd.CommandPath()+" --help"))
	}
	term.PrintError(p.err, err, hintFor(err))
	return term.ExitStatus(err)
}

// similarFlag returns "did you mean --NAME?" for a flag that the command does not have, or "" if no flag of the command is similar.
func similarFlag(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	})
	return manifest.Suggestion("--"+unknown.GetSpecifiedName(), names)
}

func newRootCommand(p *program) *cobra.Command {
	root := &cobra.Command{
		Use:   "gitops-agent",
		Short: "Apply a git repository to the guests of a Proxmox VE cluster",
		Long: help(`Applies a git repository to the guests of a Proxmox VE cluster: it accepts only commits that trusted people and workflows signed
with Sigstore, compares them with the cluster, and carries out the changes.`,
			ending{term.ExitDone, "done"}, ending{term.ExitError, "error"}, ending{term.ExitChanges, "guests are out of sync, or steps are held"},
			ending{term.ExitRefused, "a revision is refused"}, ending{term.ExitTimeout, "the time of --wait ran out"}),
		SilenceErrors: true, SilenceUsage: true, Args: groupArgs,
		RunE:              func(*cobra.Command, []string) error { return term.UsageErrorf("name a command") },
		PersistentPreRun:  func(*cobra.Command, []string) { p.started = true },
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetOut(p.out)
	root.SetErr(p.err)
	root.PersistentFlags().StringVar(&p.config, "config", defaultConfig, "the agent's config `file`")
	p.level = "info"
	words := []string{"debug", "info", "warn", "error"}
	root.PersistentFlags().Var(choice{&p.level, words}, "log-level", "lowest level that is logged to stderr")
	completeWords(root, "log-level", words)
	root.AddCommand(
		newInitCommand(p), newRunCommand(p), newPlanCommand(p), newCommentCommand(p), newAdoptCommand(p), newValidateCommand(p), newRenderCommand(p), newVerifyCommand(p), newEvidenceCommand(p), newStatusCommand(p), newFleetCommand(p), newApproveCommand(p), newOrderCommand(p),
		newConfigCommand(p), newJournalCommand(p), newAllowRewriteCommand(p), newPauseCommand(p), newResumeCommand(p), newRetryCommand(p), newSyncCommand(p), newRecoverCommand(p), newNotifyCommand(p),
		newPolicyCommand(p),
		newSchemaCommand(p), newVersionCommand(p), newCompletionCommand(p),
	)
	root.SetHelpCommand(newHelpCommand())
	nameArguments(root)
	return root
}

// nameArguments adds the usage of a command to the errors about its arguments, because those of the library only count them.
func nameArguments(cmd *cobra.Command) {
	if check := cmd.Args; check != nil && !cmd.HasSubCommands() {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return fmt.Errorf("%w: want %s", err, cmd.UseLine())
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		nameArguments(sub)
	}
}

// wordsOfOthers are commands of similar tools, and what does the same here.
var wordsOfOthers = map[string]string{
	"apply":    "the running agent applies each signed commit that is pushed; gitops-agent run --once applies the newest one and ends",
	"delete":   "remove the manifest in a signed commit, and push it; gitops-agent approve releases the step that destroys the guest",
	"destroy":  "remove the manifest in a signed commit, and push it; gitops-agent approve releases the step that destroys the guest",
	"diff":     "gitops-agent plan shows what differs, and plan --dir DIR what a working copy would change",
	"get":      "gitops-agent status lists all guests, and status KIND/NAME shows one; gitops-agent render shows a manifest with all inherited values",
	"history":  "gitops-agent status KIND/NAME shows what was done to a guest, and by which commit; gitops-agent journal show lists everything that the agent did",
	"import":   "gitops-agent adopt writes the manifests of existing guests",
	"logs":     "the agent logs to stderr: journalctl -u gitops-agent; gitops-agent journal show lists what it did",
	"rollback": "git revert, in a signed commit that is pushed, brings manifests back; gitops-agent order rollback KIND/NAME name=SNAPSHOT a guest to a snapshot",
}

// groupArgs checks the arguments of a command that only groups other commands.
func groupArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
	if instead, known := wordsOfOthers[args[0]]; known && !cmd.HasParent() {
		return term.WithHint(err, instead)
	}
	cmd.SuggestionsMinimumDistance = 2 // edits
	if meant := cmd.SuggestionsFor(args[0]); len(meant) > 0 {
		return term.WithHint(err, "did you mean "+strings.Join(meant, " or ")+"?")
	}
	return err
}

func (p *program) logger() *slog.Logger { return newLogger(p.err, p.level) }

// readConfig reads the config that --config names.
func readConfig(path string) (agent.Config, error) {
	c, err := agent.ReadConfig(path)
	return c, term.WithHint(err, "gitops-agent config example shows every field; name another file with --config FILE")
}

// configReader returns a function that reads the config that --config names.
func configReader(path string) func() (agent.Config, error) {
	return func() (agent.Config, error) { return readConfig(path) }
}
