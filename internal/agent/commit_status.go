package agent

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"gitops-agent/internal/commitstatus"
	"gitops-agent/internal/forge"
)

// CommitStatusConfig shows at the forge what became of each revision.
type CommitStatusConfig struct {
	// Forge is github, gitlab or gitea (also for Forgejo). Default: none, no status is shown.
	Forge string `yaml:"forge"`
	// TokenFile is a file with a token that may write statuses of commits. It is read for each request. Required.
	TokenFile string `yaml:"token_file"`
	// API is the address of the API, such as https://forge.example.org/api/v1. Default: that of the host of the first remote.
	API string `yaml:"api"`
	// Repository is owner/name, at GitLab the path of the project. Default: that of the first remote.
	Repository string `yaml:"repository"`
	// Context is the name of the status at the forge. Default gitops-agent/ and cluster.name.
	Context string `yaml:"context"`
	// CAFile is a file with certificates that are trusted in addition to those of the system. Default: none.
	CAFile string `yaml:"ca_file"`
	// Timeout is the upper bound of one request. Default 15s.
	Timeout Duration `yaml:"timeout"`
}

// commitForge returns the forge that shows statuses, nil without one, and every problem that needs no file to be found.
func (c Config) commitForge() (*commitstatus.Forge, error) {
	s := c.CommitStatus
	if s == (CommitStatusConfig{}) {
		return nil, nil //nolint:nilnil // no forge is configured
	}
	target := &commitstatus.Forge{
		Kind: forge.Kind(s.Forge), CAFile: s.CAFile, Context: cmp.Or(s.Context, "gitops-agent/"+c.Cluster.Name), Link: c.Notifications.StatusURL,
		Timeout: cmp.Or(time.Duration(s.Timeout), 15*time.Second),
		Token:   func() (string, error) { return readBearer("commit_status.token_file", s.TokenFile) },
	}
	var problems []error
	if !slices.Contains(forge.Kinds(), target.Kind) {
		problems = append(problems, fmt.Errorf("commit_status.forge: got %q, want one of %s", s.Forge, strings.Join(texts(forge.Kinds()), ", ")))
	}
	if s.TokenFile == "" {
		problems = append(problems, errors.New("commit_status.token_file is required: a file with a token that may write statuses of commits"))
	}
	api, repository, found := "", "", false
	if len(c.Source.Remotes) > 0 {
		api, repository, found = commitstatus.Derive(target.Kind, c.Source.Remotes[0].URL)
	}
	if !found && (s.API == "" || s.Repository == "") {
		problems = append(problems, errors.New("commit_status: the first remote is not served by a forge: set api and repository"))
	}
	target.API, target.Repository = cmp.Or(s.API, api), cmp.Or(s.Repository, repository)
	if u, err := url.Parse(target.API); err != nil || u.User != nil {
		problems = append(problems, errors.New("commit_status.api: want https://host/path without credentials"))
	}
	return target, errors.Join(problems...)
}

// checkCommitStatus returns an error if the files or the address of the forge cannot be used. It sends nothing.
func (c Config) checkCommitStatus() error {
	forge, err := c.commitForge()
	if err != nil || forge == nil {
		return err
	}
	if err := forge.Check(); err != nil {
		return fmt.Errorf("commit_status: %w", err)
	}
	return nil
}

// openReporter makes the part of a session that shows statuses of commits.
func (s *session) openReporter(a *Agent) error {
	forge, err := s.config.commitForge()
	if err != nil || forge == nil {
		return err
	}
	s.reporter = commitstatus.New(*forge, func(r commitstatus.Result) { a.metrics.CommitStatus(string(r)) }, a.opts.Logger)
	return nil
}
