package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gitops-agent/cmd/gitops-agent/internal/term"
)

// TestCommandsPage compares docs/commands.md with the page that is generated from the commands.
func TestCommandsPage(t *testing.T) {
	t.Parallel()
	page := filepath.Join("..", "..", "docs", "commands.md")
	want := commandsPage()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("docs/commands.md differs from the commands, run go test ./cmd/gitops-agent -run CommandsPage -update (-want +got):\n%s", diff)
	}
}

// docs/cli.md names every exit status.
func TestManualNamesEveryExitStatus(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, status := range []int{term.ExitDone, term.ExitError, term.ExitUsage, term.ExitChanges, term.ExitRefused, term.ExitTimeout} {
		if want := fmt.Sprintf("\n| %d | ", status); !strings.Contains(string(manual), want) {
			t.Errorf("docs/cli.md: got no %q", want)
		}
	}
}

const commandsHead = `# Commands and flags

Generated from the program (do not edit). ` + "`gitops-agent COMMAND --help`" + ` has a description and examples too; [cli.md](cli.md) says what commands have in common.
Every command ends with 2 if the command line is wrong.
`

// commandsPage returns the page: every command once, with its flags and exit statuses. A flag that several commands have with the same words is described
// once, in a table at the end.
func commandsPage() string {
	root := newRootCommand(&program{out: io.Discard, err: io.Discard})
	root.InitDefaultHelpCmd()
	var commands []*cobra.Command
	usedBy := map[string][]string{} // names of commands by the row of a flag
	walk(root, func(cmd *cobra.Command) {
		if cmd.HasSubCommands() || cmd.Hidden {
			return
		}
		commands = append(commands, cmd)
		for _, row := range flagRows(cmd.LocalNonPersistentFlags()) {
			usedBy[row] = append(usedBy[row], strings.TrimPrefix(cmd.CommandPath(), root.Name()+" "))
		}
	})
	var b strings.Builder
	b.WriteString(commandsHead)
	for _, cmd := range commands {
		_, statuses, _ := strings.Cut(cmd.Long, "\n\nExit status:\n")
		var endings, shared []string
		for line := range strings.Lines(statuses) {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, fmt.Sprint(term.ExitUsage)+" ") {
				status, when, _ := strings.Cut(line, "  ")
				endings = append(endings, "**"+status+"** "+when)
			}
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s: `%s`. Ends with %s.\n", cmd.CommandPath(), cmd.Short, cmd.UseLine(), strings.Join(endings, "; "))
		table := "\n| flag | |\n|---|---|\n"
		for _, row := range flagRows(cmd.LocalNonPersistentFlags()) {
			if len(usedBy[row]) > 1 {
				name, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
				shared = append(shared, strings.ReplaceAll(name, `\|`, "|"))
				continue
			}
			b.WriteString(table + row)
			table = ""
		}
		if len(shared) > 0 {
			fmt.Fprintf(&b, "\nAlso %s: [below](#flags-of-several-commands).\n", strings.Join(shared, ", "))
		}
	}
	b.WriteString("\n## Flags of several commands\n\n| flag | | commands |\n|---|---|---|\n")
	for _, row := range flagRows(root.PersistentFlags()) {
		b.WriteString(strings.TrimSuffix(row, "\n") + " all |\n")
	}
	rows := make([]string, 0, len(usedBy))
	for row, names := range usedBy {
		if len(names) > 1 {
			rows = append(rows, strings.TrimSuffix(row, "\n")+" "+strings.Join(names, ", ")+" |\n")
		}
	}
	slices.Sort(rows)
	b.WriteString(strings.Join(rows, ""))
	return b.String()
}

// flagRows returns a row of a table for each flag of the set.
func flagRows(flags *pflag.FlagSet) []string {
	var rows []string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if value != "" {
			name += " " + value
		}
		if !slices.Contains([]string{"", "false", "0", "0s", "[]"}, f.DefValue) {
			usage += ", default " + f.DefValue
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s |\n", strings.ReplaceAll(name, "|", `\|`), strings.ReplaceAll(usage, "|", `\|`)))
	})
	return rows
}
