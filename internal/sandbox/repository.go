package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"gitops-agent/internal/sigtest"
)

// Person is someone who commits in a sandbox. What each of them may do is in the agent's config.
type Person struct{ Name, Subject, Issuer string }

// Repository is a bare repository that the agent fetches, and a working copy that pushes to it.
type Repository struct {
	Work string // the working copy
	bare string
	dir  string // contains the saved Sigstore and the signing programs
}

// SignCommand is the first argument with which git runs this program as its signing program: SignCommand DIR SUBJECT ISSUER ARGS...
const SignCommand = "sign"

// newRepository creates the bare repository and an empty working copy, in which the first person commits.
func newRepository(ctx context.Context, dir string, people []Person) (*Repository, error) {
	r := &Repository{bare: filepath.Join(dir, "forge.git"), Work: filepath.Join(dir, "work"), dir: dir}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for _, p := range people {
		script := fmt.Sprintf("#!/bin/sh\nexec '%s' %s '%s' '%s' '%s' \"$@\"\n", exe, SignCommand, filepath.Join(dir, "sigstore"), p.Subject, p.Issuer)
		if err := os.WriteFile(r.Program(p.Name), []byte(script), 0o700); err != nil { //nolint:gosec // git has to run it
			return nil, fmt.Errorf("write the signing program: %w", err)
		}
	}
	if err := os.Mkdir(r.Work, 0o700); err != nil {
		return nil, err
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--bare", "--initial-branch=main", r.bare},
		{"init", "--quiet", "--initial-branch=main"},
		{"config", "gpg.format", "x509"},
		{"config", "commit.gpgsign", "true"},
		{"config", "gpg.x509.program", r.Program(people[0].Name)},
		{"config", "user.name", people[0].Name},
		{"config", "user.email", people[0].Subject},
		{"config", "push.default", "current"},
		{"remote", "add", "origin", r.bare},
	} {
		if _, err := r.git(ctx, args...); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Program returns the path of a person's signing program.
func (r *Repository) Program(name string) string { return filepath.Join(r.dir, "sign-as-"+name) }

// Commit commits all files of the working copy and pushes them. Config is settings for git, "key=value", such as those of another signer. It returns
// the id of the commit.
func (r *Repository) Commit(ctx context.Context, config []string, paragraphs ...string) (string, error) {
	if _, err := r.git(ctx, "add", "--all", "--force"); err != nil {
		return "", err
	}
	var args []string
	for _, setting := range config {
		args = append(args, "-c", setting)
	}
	args = append(args, "commit", "--quiet", "--allow-empty")
	for _, p := range paragraphs {
		args = append(args, "-m", p)
	}
	if _, err := r.git(ctx, args...); err != nil {
		return "", err
	}
	if _, err := r.git(ctx, "push", "--quiet", "origin", "main"); err != nil {
		return "", err
	}
	id, err := r.git(ctx, "rev-parse", "HEAD")
	return strings.TrimSpace(id), err
}

// RevertPush moves main back by one commit with a forced push.
func (r *Repository) RevertPush(ctx context.Context) error {
	if _, err := r.git(ctx, "reset", "--quiet", "--hard", "HEAD~1"); err != nil {
		return err
	}
	_, err := r.git(ctx, "push", "--quiet", "--force", "origin", "main")
	return err
}

// Replace changes a text in a manifest of the working copy.
func (r *Repository) Replace(name, old, text string) error {
	path := filepath.Join(r.Work, name)
	data, err := os.ReadFile(path) //nolint:gosec // a file that the sandbox created
	if err != nil {
		return fmt.Errorf("edit manifest: %w", err)
	}
	if !strings.Contains(string(data), old) {
		return fmt.Errorf("edit manifest %s: it does not contain %q", name, old)
	}
	return os.WriteFile(path, []byte(strings.Replace(string(data), old, text, 1)), 0o600)
}

// Remove removes a file of the working copy.
func (r *Repository) Remove(name string) error { return os.Remove(filepath.Join(r.Work, name)) }

func (r *Repository) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.Work
	cmd.Env = quietGit()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// quietGit returns environment variables that switch off the reader's own git settings.
func quietGit() []string {
	return append(WithoutGit(os.Environ()), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "GIT_TERMINAL_PROMPT=0")
}

// WithoutGit leaves out the variables of git. In a hook they name the repository of the hook, and git would work on that one.
func WithoutGit(environment []string) []string {
	return slices.DeleteFunc(environment, func(v string) bool { return strings.HasPrefix(v, "GIT_") })
}

// Sign is git's signing program: it signs with the Sigstore that was saved to a directory. The arguments are those of SignCommand.
func Sign(ctx context.Context, args []string, stdin io.Reader, stdout, status io.Writer) error {
	if len(args) < 3 {
		return fmt.Errorf("%s: got %d arguments, want a directory, a subject and an issuer", SignCommand, len(args))
	}
	dir, identity := args[0], sigtest.Identity{Subject: args[1], Issuer: args[2]}
	sigstore, err := sigtest.Load(dir)
	if err != nil {
		return err
	}
	program := sigtest.GitProgram{Sigstore: sigstore, Identity: identity}
	return errors.Join(program.Run(ctx, args[3:], stdin, stdout, status), sigstore.Save(dir))
}
