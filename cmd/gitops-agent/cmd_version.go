package main

import (
	"fmt"
	"io"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/term"

	"github.com/spf13/cobra"
)

func newVersionCommand(p *program) *cobra.Command {
	opts := versionOptions{build: thisBuild()}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print what this program was built from",
		Long: help("Prints the version, the commit with its time, whether the sources differed from the commit, the Go release and the platform of this program. "+
			"With -o json it also lists the modules that are linked, with their versions.", ending{term.ExitDone, "done"}),
		Example: "  gitops-agent version -o json",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return runVersion(p.out, opts) },
	}
	outputFlag(cmd, &opts.output, outputText, outputJSON)
	return cmd
}

type versionOptions struct {
	build  build
	output string
}

type versionDocument struct {
	SchemaVersion int             `json:"schemaVersion"`
	Version       string          `json:"version"`
	Commit        string          `json:"commit"`
	CommitTime    string          `json:"commitTime,omitempty"`
	Modified      bool            `json:"modified"`
	GoVersion     string          `json:"goVersion"`
	Platform      string          `json:"platform"`
	Modules       []versionModule `json:"modules"`
}

type versionModule struct {
	Path    string `json:"path"`
	Version string `json:"version"`
}

func runVersion(out io.Writer, opts versionOptions) error {
	b := opts.build
	if opts.output == outputJSON {
		modules := make([]versionModule, 0, len(b.Modules))
		for _, m := range b.Modules {
			modules = append(modules, versionModule{m.Path, m.Version})
		}
		return term.WriteJSON(out, versionDocument{term.SchemaVersion, b.Version, b.Commit, b.CommitTime, b.Modified, b.GoVersion, b.Platform, modules})
	}
	commit := "commit " + b.Commit
	if b.CommitTime != "" {
		commit += " of " + b.CommitTime
	}
	if b.Modified {
		commit += " with changes"
	}
	_, err := fmt.Fprintln(out, strings.Join([]string{"gitops-agent " + b.Version, commit, b.GoVersion, b.Platform}, ", "))
	return err
}
