package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gitops-agent/cmd/gitops-agent/internal/term"
)

// ending is an exit status of a command and its meaning.
type ending struct {
	status int
	when   string
}

// help returns the help of a command above its flags: its description and its exit statuses. It adds the status of a wrong command line, which
// every command has.
func help(what string, endings ...ending) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(what) + "\n\nExit status:\n")
	endings = append(endings, ending{term.ExitUsage, "the command line is wrong"})
	slices.SortFunc(endings, func(a, b ending) int { return cmp.Compare(a.status, b.status) })
	for _, e := range endings {
		fmt.Fprintf(&b, "  %d  %s\n", e.status, e.when)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// newHelpCommand returns the command that prints the same text as --help.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND...]",
		Short:   "Explain a command",
		Long:    help("Explains a command, like its flag --help.", ending{term.ExitDone, "done"}),
		Example: "  gitops-agent help journal show",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return term.UsageErrorf("there is no command %q", strings.Join(args, " "))
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}
