package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/comment"
	"gitops-agent/internal/forge"

	"github.com/spf13/cobra"
)

func newCommentCommand(p *program) *cobra.Command {
	opts := commentOptions{name: "plan", timeout: 2 * time.Minute}
	cmd := &cobra.Command{
		Use:   "comment FILE",
		Short: "Keep one comment in a pull request, and update it",
		Long: help(`Writes a file of Markdown, such as that of plan -o markdown, as a comment of a pull request of GitHub, GitLab, Gitea or Forgejo. If the
account of the token has written such a comment before, it is updated. A hidden marker with --name identifies it.

In a job of a CI the environment says which pull request it is, and has the token: GITHUB_TOKEN at GitHub, Gitea and Forgejo, GITLAB_TOKEN at GitLab.
Flags replace what the environment says. What fails for a passing reason is repeated.`,
			ending{term.ExitDone, "the comment is there"}, ending{term.ExitError, "error"}),
		Example: `  gitops-agent plan --dir . -o markdown > plan.md
  gitops-agent comment plan.md
  gitops-agent comment --forge gitea --api https://git.example.org/api/v1 --repository lab/homelab --number 12 --token-file token plan.md`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runComment(cmd.Context(), p.out, args[0], opts)
		},
	}
	kinds := []string{}
	for _, k := range forge.Kinds() {
		kinds = append(kinds, string(k))
	}
	cmd.Flags().StringVar(&opts.name, "name", opts.name, "`name` of the comment, for several in one pull request")
	cmd.Flags().Var(choice{&opts.forge, kinds}, "forge", "the forge; gitea also for Forgejo")
	cmd.Flags().StringVar(&opts.api, "api", "", "`address` of the API of the forge")
	cmd.Flags().StringVar(&opts.repository, "repository", "", "`owner/name` of the repository, at GitLab the path of the project")
	cmd.Flags().IntVar(&opts.number, "number", 0, "`number` of the pull request")
	cmd.Flags().StringVar(&opts.tokenFile, "token-file", "", "`file` with the token of the forge")
	cmd.Flags().StringVar(&opts.caFile, "ca-file", "", "`file` with certificates that are trusted in addition to those of the system")
	cmd.Flags().DurationVar(&opts.timeout, "timeout", opts.timeout, "how long failed requests are repeated")
	completeWords(cmd, "forge", kinds)
	return cmd
}

type commentOptions struct {
	name, forge, api, repository string
	number                       int
	tokenFile, caFile            string
	timeout                      time.Duration
}

// Bounds of files, in bytes.
const (
	maxCommentFile = 16 << 20
	maxTokenFile   = 64 << 10
)

func runComment(ctx context.Context, out io.Writer, file string, opts commentOptions) error {
	text, err := readBounded(file, maxCommentFile)
	if err != nil {
		return err
	}
	place := comment.FromEnvironment(os.Getenv)
	place.CAFile = opts.caFile
	if opts.forge != "" {
		place.Kind = forge.Kind(opts.forge)
	}
	for _, given := range []struct {
		value string
		into  *string
	}{{opts.api, &place.API}, {opts.repository, &place.Repository}} {
		if given.value != "" {
			*given.into = given.value
		}
	}
	if opts.number != 0 {
		place.Number = opts.number
	}
	if opts.tokenFile != "" {
		token, err := readBounded(opts.tokenFile, maxTokenFile)
		if err != nil {
			return err
		}
		place.Token = strings.TrimSpace(token)
	}
	if err := errors.Join(comment.CheckName(opts.name), place.Check()); err != nil {
		return term.WithHint(err, "gitops-agent comment --help lists the variables and flags that name the pull request")
	}
	ctx, cancel := context.WithTimeout(ctx, opts.timeout)
	defer cancel()
	outcome, err := comment.Keep(ctx, place, opts.name, text)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "comment %s of pull request %d: %s\n", opts.name, place.Number, outcome)
	return err
}

// readBounded reads a file that has at most some bytes.
func readBounded(path string, limit int64) (string, error) {
	opened, err := os.Open(path) //nolint:gosec // the user names the file
	if err != nil {
		return "", err
	}
	defer func() { _ = opened.Close() }()
	text, err := io.ReadAll(io.LimitReader(opened, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes", path, limit)
	}
	return string(text), err
}
