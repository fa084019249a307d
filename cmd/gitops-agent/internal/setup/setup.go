package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"
)

// Options are the answers that the command line gave. The zero value of a field leaves the answer open.
type Options struct {
	Config       string // path of the config to write; the other files are put beside it
	Cluster      string
	Remote       agent.RemoteConfig
	Branch       string
	Paths        []string
	Endpoints    []string
	Fingerprints []string
	CAFile       string
	TokenFile    string
	TrustedRoot  string // a trusted_root.json
	TUFMirror    string
	TUFRoot      string   // a root.json of TUFMirror
	Signers      []string // each ISSUER=SUBJECT or NAME=ISSUER=SUBJECT
	May          []string
	Binding      string
	Anchor       string // a full id, or AnchorTip
	StateDir     string
	Yes          bool // take every proposal that decides nothing about trust

	Clone string // a directory in a person's clone, for RunClone

	Dialogue *term.Dialogue // nil asks nothing
	Out      io.Writer
	Progress *term.Progress
	Logger   *slog.Logger
}

// AnchorTip as the anchor is the tip of the branch when the config is written.
const AnchorTip = "tip"

// A Result is what Run did.
type Result struct {
	Config  string   // its absolute path
	Written []string // paths
	Kept    []string // files that were there, with the same content
}

// setup is one run. The config grows with each decision.
type setup struct {
	Options
	dir       string       // of the config
	config    agent.Config // as decided so far
	found     bool         // a config is there, and config began as a copy of it
	before    []field      // of that config
	files     []file       // to write
	decisions decisions
	repo      *repository
	scratch   string // a directory for what is needed only now
}

// Run decides what is open, and writes the config with the files that it needs. It overwrites nothing.
func Run(ctx context.Context, opts Options) (_ Result, err error) {
	for _, path := range []*string{&opts.Config, &opts.StateDir} {
		if err := absolute(path); err != nil {
			return Result{}, err
		}
	}
	s := &setup{Options: opts, dir: filepath.Dir(opts.Config), decisions: decisions{}}
	if s.scratch, err = os.MkdirTemp("", "gitops-agent-init-"); err != nil {
		return Result{}, fmt.Errorf("create a temporary directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.scratch)) }()
	if err := s.checkAnswers(); err != nil {
		return Result{}, err
	}
	if err := s.readExisting(); err != nil {
		return Result{}, err
	}
	for _, decide := range []func(context.Context) error{s.decideSource, s.decideCluster, s.decideRoot, s.decideSigners, s.decideBinding, s.decideAnchor, s.decideEndpoints, s.decideToken} {
		if err := decide(ctx); err != nil {
			return Result{}, err
		}
	}
	return s.finish(ctx)
}

// finish compares the decisions with an existing config, or adds the new one to the files, and writes.
func (s *setup) finish(ctx context.Context) (Result, error) {
	if s.found {
		if differ := differences(s.before, fieldsOf(s.config)); len(differ) > 0 {
			return Result{}, term.WithHint(fmt.Errorf("%s differs, and init overwrites nothing:\n%s", s.Config, strings.Join(differ, "\n")),
				"edit the file by hand, or move it away and run init again")
		}
	} else {
		text, err := s.render()
		if err != nil {
			return Result{}, err
		}
		s.files = append(s.files, file{path: s.Config, content: text, mode: modeSecret, replaces: []byte(agent.Example)})
	}
	service := findOwner()
	r, err := write(ctx, s.files, s.config.StateDir, service)
	r.Config = s.Config
	if s.found {
		r.Kept = append(r.Kept, s.Config)
	}
	if unreadable := service.unreadable(s.config); err == nil && len(unreadable) > 0 {
		s.heading("Before the service starts")
		s.say("These files are not readable for its user %s. This makes them readable for its group, and for nobody else:", serviceUser)
		_, _ = fmt.Fprintf(s.Out, "\nchgrp %s %s\nchmod g+r %s\n", serviceUser, strings.Join(unreadable, " "), strings.Join(unreadable, " "))
	}
	return r, err
}

// readExisting begins with the config that is there.
func (s *setup) readExisting() error {
	present, _ := agent.ReadBounded(s.Config)
	existing, err := agent.ReadConfig(s.Config)
	switch {
	case errors.Is(err, fs.ErrNotExist), string(present) == agent.Example: // the example that the package installs, unedited
		s.config = agent.Config{Source: agent.SourceConfig{Branch: "main"}, StateDir: "/var/lib/gitops-agent"}
		s.config.StateDir = cmp.Or(s.StateDir, s.config.StateDir)
		return nil
	case err != nil:
		return term.WithHint(err, "the file is there and init overwrites nothing: correct it, or move it away and run init again")
	}
	s.found, s.before, s.config = true, fieldsOf(existing), existing
	s.config.Source.Remotes = slices.Clone(existing.Source.Remotes) // decisions change the first one
	s.config.StateDir = cmp.Or(s.StateDir, s.config.StateDir)
	_, _ = fmt.Fprintf(s.Out, "%s is there already: nothing is asked that it answers.\n", s.Config)
	return nil
}

// checkAnswers returns an error for each flag whose value no config can have.
func (s *setup) checkAnswers() error {
	var problems []error
	r := s.Remote
	for _, given := range []struct {
		flag   string
		values []string
	}{
		{"cluster", []string{s.Cluster}},
		{"branch", []string{s.Branch}},
		{"path", s.Paths},
		{"endpoint", s.Endpoints},
		{"fingerprint", s.Fingerprints},
		{"ca-file", []string{s.CAFile}},
		{"token-file", []string{s.TokenFile}},
		{"signer", s.Signers},
		{"may", s.May},
		{"binding", []string{s.Binding}},
		{"anchor", []string{s.Anchor}},
		{"state-dir", []string{s.StateDir}},
		{"remote", []string{r.URL}},
		{"git-username", []string{r.Username}},
		{"git-token-file", []string{r.TokenFile}},
		{"ssh-key-file", []string{r.SSHKeyFile}},
		{"known-hosts-file", []string{r.KnownHostsFile}},
		{"git-ca-file", []string{r.CAFile}},
		{"tuf-mirror", []string{s.TUFMirror}},
		{"config", []string{s.Config}},
	} {
		for _, value := range given.values {
			if err := term.CheckAnswer(value); err != nil {
				problems = append(problems, fmt.Errorf("--%s: %w", given.flag, err))
			}
		}
	}
	if s.TrustedRoot != "" && (s.TUFMirror != "" || s.TUFRoot != "") {
		problems = append(problems, errors.New("--trusted-root and --tuf-mirror exclude each other: the first names the result of the second"))
	}
	if (s.TUFMirror == "") != (s.TUFRoot == "") {
		problems = append(problems, errors.New("--tuf-mirror and --tuf-root need each other: the root.json verifies the repository"))
	}
	if len(problems) > 0 {
		return term.WithStatus(term.ExitUsage, errors.Join(problems...))
	}
	return nil
}

// heading begins the part of the output about one decision.
func (s *setup) heading(text string) {
	_, _ = fmt.Fprintf(s.Out, "\n%s\n", term.NewPalette(s.Out).Paint(term.Bold, text))
}

func (s *setup) say(format string, args ...any) {
	_, _ = fmt.Fprintf(s.Out, "  %s\n", term.Printable(fmt.Sprintf(format, args...)))
}

// answer returns the value of a flag, otherwise what the config says already, otherwise the answer to a question. Without a terminal, or with --yes, it takes
// the proposal, and fails if there is none.
func (s *setup) answer(ctx context.Context, flag, given, existing, question, proposal string) (string, error) {
	switch {
	case given != "" || existing != "":
		return cmp.Or(given, existing), nil
	case s.Yes && proposal != "":
		return proposal, nil
	case s.Yes || s.Dialogue == nil:
		return "", needsFlag(flag, question)
	}
	for {
		got, err := s.Dialogue.Ask(ctx, "  "+question, proposal)
		if err != nil || got != "" {
			return got, err
		}
	}
}

// trust asks whether something is trusted. Without a terminal, or with --yes, only a flag says so.
func (s *setup) trust(ctx context.Context, flag, question string) error {
	if s.Yes || s.Dialogue == nil {
		return needsFlag(flag, question)
	}
	confirmed, err := s.Dialogue.Confirm(ctx, "  "+question)
	if err == nil && !confirmed {
		err = term.WithHint(errors.New("not confirmed, so nothing was written"), "give the right value with --"+strings.Fields(flag)[0])
	}
	return err
}

func needsFlag(flag, question string) error {
	return term.WithStatus(term.ExitUsage, term.WithHint(fmt.Errorf("%s: give --%s", question, flag), "at a terminal and without --yes, init asks"))
}
