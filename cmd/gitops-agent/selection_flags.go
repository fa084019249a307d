package main

import (
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/selection"

	"github.com/spf13/cobra"
)

// addSelectionFlags adds a flag for each parameter of a selection of guests.
func addSelectionFlags(cmd *cobra.Command) {
	for _, p := range selection.Parameters() {
		switch {
		case p.IsSwitch():
			cmd.Flags().Bool(p.Name, false, p.Usage)
			continue
		case p.Words != nil:
			cmd.Flags().String(p.Name, "", p.Usage+": "+strings.Join(p.Words, ", "))
		default:
			cmd.Flags().String(p.Name, "", p.Usage)
		}
		completeWords(cmd, p.Name, p.Words)
	}
}

// selectionOf returns the selection that the flags state.
func selectionOf(cmd *cobra.Command) (selection.Selection, error) {
	s, err := selection.Parse(func(name string) string {
		value := cmd.Flags().Lookup(name).Value
		if value.Type() != "bool" {
			return value.String()
		}
		if value.String() == "true" {
			return "yes"
		}
		return ""
	})
	if err != nil {
		return s, term.UsageErrorf("--%s", strings.ReplaceAll(err.Error(), "\n", "\n--"))
	}
	return s, nil
}
