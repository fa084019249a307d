package setup

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/audit"
	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/gitsource"
	"gitops-agent/internal/agent"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/manifest"
)

// repository is the branch as it was fetched. Nothing in it is trusted.
type repository struct {
	source *gitsource.Source
	head   gitsource.Head
}

func (s *setup) decideSource(ctx context.Context) error {
	s.heading("Repository")
	var remote agent.RemoteConfig
	if len(s.config.Source.Remotes) > 0 {
		remote = s.config.Source.Remotes[0]
	}
	given := s.Remote
	var err error
	if remote.URL, err = s.answer(ctx, "remote URL", given.URL, remote.URL, "Remote of the repository (https://..., user@host:path)", ""); err != nil {
		return err
	}
	remote.Username, remote.CAFile = cmp.Or(given.Username, remote.Username), cmp.Or(given.CAFile, remote.CAFile)
	remote.TokenFile, remote.SSHKeyFile, remote.KnownHostsFile = cmp.Or(given.TokenFile, remote.TokenFile), cmp.Or(given.SSHKeyFile, remote.SSHKeyFile), cmp.Or(given.KnownHostsFile, remote.KnownHostsFile)
	if err := s.decideCredentials(ctx, &remote); err != nil {
		return err
	}
	for _, path := range []*string{&remote.TokenFile, &remote.SSHKeyFile, &remote.KnownHostsFile, &remote.CAFile} {
		if err := absolute(path); err != nil {
			return err
		}
	}
	existing := s.config.Source.Branch
	if !s.found {
		existing = ""
	}
	if s.config.Source.Branch, err = s.answer(ctx, "branch NAME", s.Branch, existing, "Branch", "main"); err != nil {
		return err
	}
	if len(s.Paths) > 0 {
		s.config.Source.Paths = s.Paths
	}
	s.config.Source.Remotes = append([]agent.RemoteConfig{remote}, s.config.Source.Remotes[min(1, len(s.config.Source.Remotes)):]...)
	s.say("%s of %s", s.config.Source.Branch, remote.URL)
	return nil
}

// decideCredentials asks for the files that a remote needs: those of ssh always, a token only if a person wants one.
func (s *setup) decideCredentials(ctx context.Context, r *agent.RemoteConfig) error {
	var err error
	switch {
	case strings.HasPrefix(r.URL, "https://") && r.TokenFile == "" && !s.found && !s.Yes && s.Dialogue != nil:
		r.TokenFile, err = s.Dialogue.Ask(ctx, "  File with a token that may read it (empty: the repository is public)", "")
	case strings.Contains(r.URL, "@") && !strings.HasPrefix(r.URL, "https://") || strings.HasPrefix(r.URL, "ssh://"):
		if r.SSHKeyFile, err = s.answer(ctx, "ssh-key-file FILE", "", r.SSHKeyFile, "File with the private key, without a passphrase", ""); err == nil {
			r.KnownHostsFile, err = s.answer(ctx, "known-hosts-file FILE", "", r.KnownHostsFile, "File with the host key of the forge, in the format of known_hosts", "")
		}
	}
	return err
}

// fetched returns the branch, which is fetched when it is first needed.
func (s *setup) fetched(ctx context.Context) (*repository, error) {
	if s.repo != nil {
		return s.repo, nil
	}
	s.Progress.Show("fetching %s", s.config.Source.Remotes[0].URL)
	defer s.Progress.End()
	source, err := s.config.OpenSource(filepath.Join(s.scratch, "repository"), slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	head, err := source.Fetch(ctx)
	if err != nil {
		return nil, term.WithHint(err, "check --remote, --branch and the credentials: --git-username, --git-token-file, --ssh-key-file, --known-hosts-file, --git-ca-file")
	}
	s.repo = &repository{source, head}
	return s.repo, nil
}

func (s *setup) decideCluster(ctx context.Context) error {
	proposal := ""
	if s.Cluster == "" && s.config.Cluster.Name == "" {
		r, err := s.fetched(ctx)
		if err != nil {
			return err
		}
		if proposal = s.clusterName(ctx, r); proposal != "" {
			s.say("its Cluster manifest is named %q", proposal)
		}
	}
	name, err := s.answer(ctx, "cluster NAME", s.Cluster, s.config.Cluster.Name, "Name of the cluster, as metadata.name of the Cluster manifest", proposal)
	s.config.Cluster.Name = name
	return err
}

// clusterName returns the name in the one Cluster manifest of the tip, or "". The manifests may still have problems; the check at the end reports them.
func (s *setup) clusterName(ctx context.Context, r *repository) string {
	repo := r.source.Repository()
	commit, err := repo.Commit(ctx, r.head.Commit)
	if err != nil {
		return ""
	}
	tree, err := audit.TreeOf(commit)
	if err != nil {
		return ""
	}
	files, err := intake.ManifestFiles(ctx, repo, tree, s.config.Source.Paths)
	if err != nil {
		return ""
	}
	set, err := manifest.Parse(files)
	if err != nil || term.CheckAnswer(set.Cluster.Name) != nil {
		return ""
	}
	return set.Cluster.Name
}

// absolute makes a path absolute, because the agent runs in another directory.
func absolute(path *string) error {
	if *path == "" {
		return nil
	}
	full, err := filepath.Abs(*path)
	if err != nil {
		return fmt.Errorf("find %s: %w", *path, err)
	}
	*path = full
	return nil
}
