package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"gitops-agent/internal/sigtest"
)

// The people who commit in the demonstration. Their issuer does not exist; the agent's config defines what each of them may do.
const (
	issuer = "https://accounts.demo.test"
	alice  = "alice@demo.test" // may change guests and order one-shot operations
	olga   = "olga@demo.test"  // may approve
)

// repository is a bare repository that the agent fetches, and a working copy that pushes to it.
type repository struct {
	bare string
	work string
	dir  string // contains the saved Sigstore and the signing programs
}

// newRepository creates the bare repository and the working copy. The manifests are in the working copy and not yet committed.
func newRepository(ctx context.Context, dir string, manifests fs.FS, exe string) (*repository, error) {
	r := &repository{bare: filepath.Join(dir, "forge.git"), work: filepath.Join(dir, "homelab"), dir: dir}
	if err := os.CopyFS(r.work, manifests); err != nil {
		return nil, fmt.Errorf("copy the manifests: %w", err)
	}
	for _, name := range []string{"alice", "olga"} {
		script := fmt.Sprintf("#!/bin/sh\nexec '%s' %s '%s' %s \"$@\"\n", exe, signCommand, filepath.Join(dir, "sigstore"), name)
		if err := os.WriteFile(r.program(name), []byte(script), 0o700); err != nil { //nolint:gosec // git has to run it
			return nil, fmt.Errorf("write the signing program: %w", err)
		}
	}
	if err := runCommand(ctx, dir, "git", "init", "--quiet", "--bare", "--initial-branch=main", r.bare); err != nil {
		return nil, err
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"},
		{"config", "gpg.format", "x509"},
		{"config", "commit.gpgsign", "true"},
		{"config", "gpg.x509.program", r.program("alice")},
		{"config", "user.name", "alice"},
		{"config", "user.email", alice},
		{"config", "push.default", "current"},
		{"remote", "add", "origin", r.bare},
	} {
		if _, err := r.git(ctx, args...); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// program returns the path of a person's signing program.
func (r *repository) program(name string) string { return filepath.Join(r.dir, "sign-as-"+name) }

// commit commits all files of the working copy, signed by alice, and pushes them. It returns the id of the commit.
func (r *repository) commit(ctx context.Context, paragraphs ...string) (string, error) {
	return r.commitWith(ctx, nil, paragraphs...)
}

// commitUnsigned commits and pushes without a signature.
func (r *repository) commitUnsigned(ctx context.Context, message string) (string, error) {
	return r.commitWith(ctx, []string{"-c", "commit.gpgsign=false"}, message)
}

// commitAs commits and pushes with the signature of another person.
func (r *repository) commitAs(ctx context.Context, name string, paragraphs ...string) (string, error) {
	return r.commitWith(ctx, []string{"-c", "gpg.x509.program=" + r.program(name), "-c", "user.name=" + name}, paragraphs...)
}

func (r *repository) commitWith(ctx context.Context, config []string, paragraphs ...string) (string, error) {
	if _, err := r.git(ctx, "add", "--all"); err != nil {
		return "", err
	}
	args := append(config, "commit", "--quiet", "--allow-empty")
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

// revertPush moves main back by one commit with a forced push.
func (r *repository) revertPush(ctx context.Context) error {
	if _, err := r.git(ctx, "reset", "--quiet", "--hard", "HEAD~1"); err != nil {
		return err
	}
	_, err := r.git(ctx, "push", "--quiet", "--force", "origin", "main")
	return err
}

// replace changes a text in a manifest of the working copy.
func (r *repository) replace(name, old, text string) error {
	path := filepath.Join(r.work, name)
	data, err := os.ReadFile(path) //nolint:gosec // a file that the demo created
	if err != nil {
		return fmt.Errorf("edit manifest: %w", err)
	}
	if !strings.Contains(string(data), old) {
		return fmt.Errorf("edit manifest %s: it does not contain %q", name, old)
	}
	return os.WriteFile(path, []byte(strings.Replace(string(data), old, text, 1)), 0o600)
}

func (r *repository) remove(name string) error { return os.Remove(filepath.Join(r.work, name)) }

func (r *repository) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.work
	cmd.Env = quietGit()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

func runCommand(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, quietGit()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// quietGit returns environment variables that switch off the reader's own git settings.
func quietGit() []string {
	return append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "GIT_TERMINAL_PROMPT=0")
}

// sign is git's signing program. It signs with the saved Sigstore as the named person.
func sign(ctx context.Context, dir, name string, args []string, stdin io.Reader, stdout, status io.Writer) error {
	subjects := map[string]string{"alice": alice, "olga": olga}
	subject, ok := subjects[name]
	if !ok {
		return fmt.Errorf("unknown person %q, want alice or olga", name)
	}
	sigstore, err := sigtest.Load(dir)
	if err != nil {
		return err
	}
	program := sigtest.GitProgram{Sigstore: sigstore, Identity: sigtest.Identity{Subject: subject, Issuer: issuer}}
	return errors.Join(program.Run(ctx, args, stdin, stdout, status), sigstore.Save(dir))
}
