package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"gitops-agent/cmd/gitops-agent/internal/subject"
	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/manifest"

	"github.com/spf13/cobra"
)

func newValidateCommand(p *program) *cobra.Command {
	var opts validateOptions
	cmd := &cobra.Command{
		Use:   "validate DIR...",
		Short: "Check manifests before they are committed",
		Long: help(`Checks the manifests below some directories and prints every problem with its position. Several directories are one source, as in
source.paths of the config; check each cluster separately. It uses neither the cluster nor the network. Classes that apply to no guest are
reported as warnings, which are not problems.`,
			ending{term.ExitDone, "the manifests are valid"}, ending{term.ExitError, "a directory cannot be read"},
			ending{term.ExitRefused, "the agent would refuse a commit with these manifests"}),
		Example: `  gitops-agent validate .
  gitops-agent validate clusters/home classes -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("name the directories with the manifests to check")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.dirs = args
			return runValidate(cmd.Context(), p.out, opts)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
	outputFlag(cmd, &opts.output, outputText, outputJSON)
	return cmd
}

type validateOptions struct {
	dirs   []string
	output string
}

type validateDocument struct {
	SchemaVersion int             `json:"schemaVersion"`
	Valid         bool            `json:"valid"`
	Cluster       string          `json:"cluster,omitempty"`
	Guests        int             `json:"guests"`
	Problems      []problemReport `json:"problems"`
	Warnings      []problemReport `json:"warnings"`
}

type problemReport struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Guest   string `json:"guest,omitempty"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func newProblemReports(list []manifest.Problem) []problemReport {
	out := make([]problemReport, 0, len(list))
	for _, p := range list {
		out = append(out, problemReport{p.Origin.File, p.Origin.Line, p.Origin.Column, p.Guest, p.Field, p.Message, p.Hint})
	}
	return out
}

func runValidate(ctx context.Context, out io.Writer, opts validateOptions) error {
	set, err := subject.ReadDirs(ctx, opts.dirs)
	var problems *manifest.Problems
	if err != nil && !errors.As(err, &problems) {
		return err
	}
	document := validateDocument{SchemaVersion: term.SchemaVersion, Valid: err == nil, Cluster: set.Cluster.Name, Guests: len(set.Guests), Problems: []problemReport{}, Warnings: newProblemReports(set.Warnings)}
	if problems != nil {
		document.Problems = newProblemReports(problems.List)
	}
	if opts.output == outputJSON {
		if err := term.WriteJSON(out, document); err != nil {
			return err
		}
	} else {
		for _, w := range set.Warnings {
			_, _ = fmt.Fprintln(out, term.Printable("warning: "+w.String()))
		}
		writeProblems(out, document, problems)
	}
	if problems != nil {
		return term.WithStatus(term.ExitRefused, nil)
	}
	return nil
}

func writeProblems(out io.Writer, document validateDocument, problems *manifest.Problems) {
	if problems == nil {
		_, _ = fmt.Fprintf(out, "Cluster %s, %s: good\n", document.Cluster, term.Count(document.Guests, "guest"))
		return
	}
	for _, p := range problems.List {
		_, _ = fmt.Fprintln(out, term.Printable(p.String()))
	}
	_, _ = fmt.Fprintln(out, term.Count(len(problems.List), "problem"))
}
