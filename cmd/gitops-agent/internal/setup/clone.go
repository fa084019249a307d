package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/clone"
	"gitops-agent/cmd/gitops-agent/internal/subject"
	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/examples/hooks"
	"gitops-agent/internal/agent"
	"gitops-agent/internal/shell"
	"gitops-agent/reconcile/manifest"
)

// GitsignModule is the version of gitsign with which signing is tested.
const GitsignModule = "github.com/sigstore/gitsign@v0.17.1"

// Gitsign is the program that signs commits.
const Gitsign = "gitsign"

// providers are the issuers of the public Sigstore's certificates for people. gitsign opens the page of the one that gitsign.connectorID names.
var providers = map[string]string{
	"github":    "https://github.com/login/oauth",
	"google":    "https://accounts.google.com",
	"microsoft": "https://login.microsoftonline.com",
}

// newCluster is the first manifest of a repository. The range is far above what people use.
const newCluster = `# The name of the cluster, as cluster.name in the config of the agent, and the vmids of guests that have none in their manifest.
apiVersion: proxmox.gitops/v1alpha1
kind: Cluster
metadata: {name: %s}
spec:
  vmids: {from: 9100, to: 9199}
`

// setting is a setting of git in the clone.
type setting struct{ key, value string }

// A CloneResult is what RunClone did.
type CloneResult struct {
	Dir     string   // the top of the clone
	Written []string // paths
	Set     []string // "key = value" of the settings that the clone did not have
	Created string   // path of the new Cluster manifest, relative to Dir; "" if there was one
}

// RunClone prepares a person's clone for signing: settings of git and gitsign, the hook that names the target, the trusted root for verify, and a Cluster manifest if
// the repository has none. It overwrites nothing.
func RunClone(ctx context.Context, opts Options) (_ CloneResult, err error) {
	s := &setup{Options: opts, decisions: decisions{}}
	if err := s.checkAnswers(); err != nil {
		return CloneResult{}, err
	}
	if s.scratch, err = os.MkdirTemp("", "gitops-agent-init-"); err != nil {
		return CloneResult{}, fmt.Errorf("create a temporary directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.scratch)) }()
	c, err := clone.Find(ctx, opts.Clone)
	if err != nil {
		return CloneResult{}, term.WithHint(err, "name a clone: git clone URL, then gitops-agent init --repository DIR")
	}
	result := CloneResult{Dir: c.Dir}
	settings, err := s.decideClone(ctx, c, &result)
	if err != nil {
		return CloneResult{}, err
	}
	missing, err := missingSettings(ctx, c, settings)
	if err != nil {
		return CloneResult{}, err
	}
	written, err := write(ctx, s.files, "", owner{})
	result.Written = written.Written
	if err != nil {
		return result, err
	}
	for _, m := range missing {
		if err := c.Set(ctx, m.key, m.value); err != nil {
			return result, err
		}
		result.Set = append(result.Set, m.key+" = "+m.value)
	}
	return result, nil
}

// decideClone decides what is open, adds the files, and returns the settings.
func (s *setup) decideClone(ctx context.Context, c clone.Clone, result *CloneResult) ([]setting, error) {
	s.heading("Cluster")
	cluster, branch, err := s.decideTarget(ctx, c, result)
	if err != nil {
		return nil, err
	}
	s.heading("Signing")
	signer, err := s.decideOwnSigner(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := s.decideCloneRoot(ctx, c.TrustedRoot()); err != nil {
		return nil, err
	}
	hook, err := c.Hook(ctx, "prepare-commit-msg")
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(hook, c.GitDir+"/") && !strings.HasPrefix(hook, c.Dir+"/") {
		return nil, term.WithHint(fmt.Errorf("core.hooksPath puts the hooks of this clone into %s, where other clones have theirs", filepath.Dir(hook)),
			"give this clone its own: git -C "+shell.Word(c.Dir)+" config --local core.hooksPath "+shell.Word(filepath.Join(c.GitDir, "hooks")))
	}
	s.files = append(s.files, file{path: hook, content: hooks.PrepareCommitMsg, mode: modeProgram})
	settings := []setting{
		{"gpg.format", "x509"},
		{"gpg.x509.program", Gitsign},
		{"commit.gpgsign", "true"},
		{"gitsign.rekorMode", "offline"},
		{clone.KeyCluster, cluster},
		{clone.KeyBranch, branch},
		{clone.KeySigner, signer.Issuer + "=" + signer.Subject},
	}
	for _, issuer := range providers {
		if issuer == signer.Issuer {
			settings = append(settings, setting{"gitsign.connectorID", issuer})
		}
	}
	return settings, nil
}

// decideTarget decides the cluster and the branch that commits name, and adds a Cluster manifest if there is none.
func (s *setup) decideTarget(ctx context.Context, c clone.Clone, result *CloneResult) (cluster, branch string, err error) {
	paths := s.Paths
	if len(paths) == 0 {
		paths = []string{"."}
	}
	dirs := make([]string, 0, len(paths))
	for _, path := range paths {
		dirs = append(dirs, filepath.Join(c.Dir, path))
	}
	set, err := subject.ReadDirs(ctx, dirs)
	var problems *manifest.Problems
	if err != nil && !errors.As(err, &problems) {
		return "", "", err
	}
	existing, err := c.Own(ctx, clone.KeyCluster)
	if err != nil {
		return "", "", err
	}
	found := set.Cluster.Name
	if found != "" {
		s.say("its Cluster manifest is named %q", found)
	}
	if cluster, err = s.answer(ctx, "cluster NAME", s.Cluster, cmp.Or(existing, found), "Name of the cluster, as cluster.name in the config of the agent", "home"); err != nil {
		return "", "", err
	}
	if found != "" && found != cluster {
		return "", "", term.WithHint(fmt.Errorf("the Cluster manifest is named %q, and not %q", found, cluster), "one repository may be for several clusters: give the folder of this one with --path")
	}
	missing := problems != nil && slices.ContainsFunc(problems.List, func(p manifest.Problem) bool { return p.Message == manifest.NoCluster })
	if missing {
		result.Created = filepath.Join(paths[0], "cluster.yaml")
		s.files = append(s.files, file{path: filepath.Join(c.Dir, result.Created), content: fmt.Appendf(nil, newCluster, cluster), mode: modePublic})
	}
	if existing, err = c.Own(ctx, clone.KeyBranch); err != nil {
		return "", "", err
	}
	branch, err = s.answer(ctx, "branch NAME", s.Branch, existing, "Branch that the agent follows", cmp.Or(c.Branch(ctx), "main"))
	s.say("commits on %s name the target %s/%s", branch, cluster, branch)
	return cluster, branch, err
}

// decideOwnSigner decides who signs in this clone. The config of the agent, and not this, gives a signer roles.
func (s *setup) decideOwnSigner(ctx context.Context, c clone.Clone) (agent.SignerConfig, error) {
	existing, err := c.Own(ctx, clone.KeySigner)
	if err != nil {
		return agent.SignerConfig{}, err
	}
	switch given := cmp.Or(strings.Join(s.Signers, " "), existing); {
	case len(s.Signers) > 1:
		return agent.SignerConfig{}, term.UsageErrorf("a clone is of one person: give --signer once")
	case given != "":
		return parseSigner(given)
	}
	const flag = "signer ISSUER=SUBJECT"
	provider, err := s.answer(ctx, flag, "", "", "Where you sign in: github, google, microsoft, or the URL of another issuer", s.interactive("github"))
	if err != nil {
		return agent.SignerConfig{}, err
	}
	email, err := c.Value(ctx, "user.email")
	if err != nil {
		return agent.SignerConfig{}, err
	}
	if email, err = s.answer(ctx, flag, "", "", "E-mail address of that account", s.interactive(email)); err != nil {
		return agent.SignerConfig{}, err
	}
	return parseSigner(cmp.Or(providers[strings.ToLower(provider)], provider) + "=" + email)
}

// interactive returns a proposal for a person, and none for --yes: who signs needs a flag.
func (s *setup) interactive(proposal string) string {
	if s.Yes {
		return ""
	}
	return proposal
}

// decideCloneRoot adds the trusted root: the file that was given, the one that is there, or the newest one of a TUF repository.
func (s *setup) decideCloneRoot(ctx context.Context, target string) error {
	if s.TrustedRoot != "" {
		root, err := agent.ReadBounded(s.TrustedRoot)
		if err != nil {
			return err
		}
		return s.useRoot(target, root)
	}
	root, err := agent.ReadBounded(target)
	if errors.Is(err, fs.ErrNotExist) {
		root, _, _, err = s.obtainRoot(ctx)
	}
	if err != nil {
		return err
	}
	return s.useRoot(target, root)
}

// missingSettings returns the settings that the clone's own file lacks. It fails for those that it has with another value.
func missingSettings(ctx context.Context, c clone.Clone, settings []setting) ([]setting, error) {
	var missing []setting
	var problems []error
	for _, want := range settings {
		own, err := c.Own(ctx, want.key)
		switch {
		case err != nil:
			return nil, err
		case own == "":
			missing = append(missing, want)
		case own != want.value:
			problems = append(problems, fmt.Errorf("%s is %q in this clone, and init would set %q", want.key, own, want.value))
		}
	}
	if len(problems) > 0 {
		return nil, term.WithHint(errors.Join(problems...), "init overwrites nothing, and wrote nothing: git config --local --unset KEY removes a setting")
	}
	return missing, nil
}
