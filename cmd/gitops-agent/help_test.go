package main

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"gitops-agent/cmd/gitops-agent/internal/term"
)

// Scripts rely on exit statuses, so the help of every command lists them, and has an example.
func TestHelpListsExitStatuses(t *testing.T) {
	t.Parallel()
	root := newRootCommand(&program{out: io.Discard, err: io.Discard})
	root.InitDefaultHelpCmd()
	walk(root, func(cmd *cobra.Command) {
		name := cmd.CommandPath()
		for _, want := range []string{"\n\nExit status:\n", fmt.Sprintf("\n  %d  ", term.ExitDone), fmt.Sprintf("\n  %d  ", term.ExitUsage)} {
			if !strings.Contains(cmd.Long, want) {
				t.Errorf("%s: got help %q, want %q in it", name, cmd.Long, want)
			}
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: got short help %q, want a phrase", name, cmd.Short)
		}
		if !cmd.HasSubCommands() && !strings.Contains(cmd.Example, name) {
			t.Errorf("%s: got example %q, want one that shows the command", name, cmd.Example)
		}
	})
}

func TestHelpSortsEndings(t *testing.T) {
	t.Parallel()
	got := help(" Does it. ", ending{term.ExitRefused, "refused"}, ending{term.ExitDone, "done"})
	want := "Does it.\n\nExit status:\n  0  done\n  2  the command line is wrong\n  4  refused"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, c := range cmd.Commands() {
		walk(c, visit)
	}
}
