package main

import (
	"fmt"
	"io"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/metrics"

	"github.com/spf13/cobra"
)

func newVersionCommand(p *program) *cobra.Command {
	opts := versionOptions{build: thisBuild()}
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print what this program was built from",
		Long:    help("Prints the version, the commit and the Go release that this program was built from.", ending{term.ExitDone, "done"}),
		Example: "  gitops-agent version -o json",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return runVersion(p.out, opts) },
	}
	outputFlag(cmd, &opts.output, outputText, outputJSON)
	return cmd
}

type versionOptions struct {
	build  metrics.Build
	output string
}

type versionDocument struct {
	SchemaVersion int    `json:"schemaVersion"`
	Version       string `json:"version"`
	Commit        string `json:"commit"`
	GoVersion     string `json:"goVersion"`
}

func runVersion(out io.Writer, opts versionOptions) error {
	b := opts.build
	if opts.output == outputJSON {
		return term.WriteJSON(out, versionDocument{term.SchemaVersion, b.Version, b.Commit, b.GoVersion})
	}
	_, err := fmt.Fprintf(out, "gitops-agent %s, commit %s, %s\n", b.Version, b.Commit, b.GoVersion)
	return err
}
