package main

import (
	"fmt"
	"io"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/manifest"

	"github.com/spf13/cobra"
)

func newSchemaCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of manifests",
		Long: help(`Prints the JSON Schema (2020-12) of every kind of manifest, for editors: they complete fields and show their description.`,
			ending{term.ExitDone, "done"}, ending{term.ExitError, "error"}),
		Example: `  gitops-agent schema > schema.json
  # and in each manifest:
  # yaml-language-server: $schema=schema.json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return runSchema(p.out) },
	}
}

func runSchema(out io.Writer) error {
	text, err := manifest.Schema()
	if err != nil {
		return fmt.Errorf("make schema: %w", err)
	}
	_, err = out.Write(text)
	return err
}
