package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"gitops-agent/cmd/gitops-agent/internal/term"
)

// docs/cli.md names every command, every exit status, every rule of an audit in its order, and every field of its JSON.
func TestManualNamesEverything(t *testing.T) {
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
	var rules strings.Builder
	for _, r := range auditRules() {
		rules.WriteString("\n| " + r.name + " | " + r.asks)
		if r.name == ruleChange {
			rules.WriteString(" (commits alone)")
		}
		rules.WriteString(" |")
	}
	want(rules.String())
	for _, document := range []reflect.Type{reflect.TypeFor[verifyDocument](), reflect.TypeFor[signerView](), reflect.TypeFor[verdictView](), reflect.TypeFor[ruleView]()} {
		for field := range document.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name != "schemaVersion" {
				want("`" + name + "`")
			}
		}
	}
}
