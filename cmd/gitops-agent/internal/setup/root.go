package setup

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"
	"gitops-agent/verify"
)

// decideRoot finds the trusted root: the file that was given, the one that is there, or the newest one of a TUF repository.
func (s *setup) decideRoot(ctx context.Context) error {
	s.heading("Trusted root of Sigstore")
	target := filepath.Join(s.dir, "trusted_root.json")
	if s.found && s.TrustedRoot == "" && s.TUFMirror == "" {
		s.say("%s", s.config.Trust.TrustedRootFile)
		return nil
	}
	present, err := agent.ReadBounded(target)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.config.Trust.TrustedRootFile, s.config.Trust.TUF = target, agent.TUFConfig{}
	switch {
	case s.TrustedRoot != "":
		root, err := agent.ReadBounded(s.TrustedRoot)
		if err != nil {
			return err
		}
		s.decisions["root"] = "The file that was given with --trusted-root. The agent fetches no newer one: replace the file when logs or authorities change."
		return s.useRoot(target, root)
	case present != nil && s.TUFMirror == "":
		s.decisions["root"] = "The file was there already. The agent fetches no newer one, unless tuf is set: replace the file when logs or authorities change."
		return s.useRoot(target, present)
	}
	return s.fetchRoot(ctx, target)
}

// fetchRoot obtains the trusted root by TUF, and has the agent refresh it from there.
func (s *setup) fetchRoot(ctx context.Context, target string) error {
	s.decisions["root"] = "The public Sigstore's, obtained by TUF from the root.json that is built into gitops-agent. The agent refreshes it from the same place."
	if s.TUFMirror != "" {
		s.decisions["root"] = "Obtained by TUF with the root.json that was given with --tuf-root. The agent refreshes it from the same place."
	}
	root, mirror, pin, err := s.obtainRoot(ctx)
	if err != nil {
		return err
	}
	s.config.Trust.TUF = agent.TUFConfig{URL: mirror, RootFile: filepath.Join(s.dir, "tuf-root.json")}
	s.files = append(s.files, file{path: s.config.Trust.TUF.RootFile, content: pin, mode: modePublic})
	return s.useRoot(target, root)
}

// obtainRoot returns the trusted root of a TUF repository, with the repository's URL and the root.json that verified it.
func (s *setup) obtainRoot(ctx context.Context) (root []byte, mirror string, pin []byte, err error) {
	mirror, pin = agent.PublicMirror, agent.PublicTUFRoot()
	if s.TUFMirror != "" {
		mirror = s.TUFMirror
		if pin, err = agent.ReadBounded(s.TUFRoot); err != nil {
			return nil, "", nil, err
		}
	}
	s.Progress.Show("fetching the trusted root from %s", mirror)
	root, err = agent.FetchTrustedRoot(ctx, mirror, pin, filepath.Join(s.scratch, "tuf"))
	s.Progress.End()
	if err != nil {
		return nil, "", nil, term.WithHint(fmt.Errorf("obtain the trusted root from %s: %w", mirror, err),
			"without a way to it, give a file with --trusted-root FILE: cosign trusted-root create --with-default-services --out FILE makes it on another machine")
	}
	s.say("obtained by TUF from %s", mirror)
	return root, mirror, pin, nil
}

// useRoot checks a trusted root and adds it to the files.
func (s *setup) useRoot(target string, root []byte) error {
	identifier, err := verify.NewIdentifier(root)
	if err != nil {
		return err
	}
	if end := identifier.Root().Expiry; !end.IsZero() && end.Before(time.Now()) {
		return term.WithHint(fmt.Errorf("the trusted root expired at %s", end.Format(time.RFC3339)), "obtain a newer one")
	}
	s.say("sha256:%x, will be %s", sha256.Sum256(root), target)
	s.files = append(s.files, file{path: target, content: root, mode: modePublic})
	return nil
}
