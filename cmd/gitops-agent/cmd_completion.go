package main

import (
	"io"

	"github.com/spf13/cobra"

	"gitops-agent/cmd/gitops-agent/internal/term"
)

func newCompletionCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a completion script for a shell",
		Long:  help("Prints a script that lets a shell complete commands, flags and their words.", ending{term.ExitDone, "done"}, ending{term.ExitError, "error"}),
		Example: `  gitops-agent completion bash > /etc/bash_completion.d/gitops-agent
  source <(gitops-agent completion zsh)`,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE:      func(cmd *cobra.Command, args []string) error { return runCompletion(p.out, cmd.Root(), args[0]) },
	}
}

func runCompletion(out io.Writer, root *cobra.Command, shell string) error {
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(out, true)
	case "zsh":
		return root.GenZshCompletion(out)
	case "fish":
		return root.GenFishCompletion(out, true)
	default:
		return root.GenPowerShellCompletionWithDesc(out)
	}
}
