package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"gitops-agent/cmd/gitops-agent/internal/term"
)

// docs/cli.md names every command and every exit status.
func TestManualNamesEverything(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	manual := string(text)
	want := func(part string) {
		t.Helper()
		if !strings.Contains(manual, part) {
			t.Errorf("docs/cli.md: got no %q", part)
		}
	}
	root := newRootCommand(&program{out: io.Discard, err: io.Discard})
	root.InitDefaultHelpCmd()
	walk(root, func(cmd *cobra.Command) {
		if !cmd.HasSubCommands() {
			want("\n| `" + cmd.CommandPath() + "` | ")
		}
	})
	for _, status := range []int{term.ExitDone, term.ExitError, term.ExitUsage, term.ExitChanges, term.ExitRefused, term.ExitTimeout} {
		want(fmt.Sprintf("\n| %d | ", status))
	}
}
