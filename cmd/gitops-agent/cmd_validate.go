package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/manifestview"
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
source.paths of the config; check each cluster separately. It uses neither the cluster nor the network. It says when each
schedule of Proxmox runs. Classes that apply to no guest, and schedules that are not what they look like, are reported as warnings, which are not problems. Of an encrypted password it checks without the key that the file exists in the repository and has the right
format, a recipient and the key in it; the agent accepts a commit in which such a file is wrong, and blocks the guests that need it. It also accepts a commit in
which the spec of a Policy is wrong, and holds the guests in and below its folder. What valid policies would say of guests that are created now is printed, and is no problem.`,
			ending{term.ExitDone, "the manifests are valid"}, ending{term.ExitError, "a directory cannot be read"},
			ending{term.ExitRefused, "the agent would refuse a commit with these manifests, or block guests of them for encrypted passwords or a wrong Policy"}),
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

func runValidate(ctx context.Context, out io.Writer, opts validateOptions) error {
	set, err := subject.ReadDirs(ctx, opts.dirs)
	var problems *manifest.Problems
	if err != nil && !errors.As(err, &problems) {
		return err
	}
	if held := slices.Concat(set.Secrets, set.Mistakes); problems == nil && len(held) > 0 {
		problems = &manifest.Problems{List: held}
	}
	result := manifestview.NewValidation(set, problems, time.Now())
	if opts.output == outputJSON {
		if err := term.WriteJSON(out, result); err != nil {
			return err
		}
	} else {
		result.WriteText(out)
	}
	if problems != nil {
		return term.WithStatus(term.ExitRefused, nil)
	}
	return nil
}
