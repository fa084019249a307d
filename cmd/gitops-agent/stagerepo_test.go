package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"gitops-agent/internal/gittest"
	"gitops-agent/internal/sigtest"
)

// The repositories of a script are those of git, and scripts run git in them. What every script does, git's own programs would do in ten processes
// and a signing program: this file does it in the process of the test.

// newRepository makes an empty repository whose branch is main. More are lines of its configuration, from the section core on.
func newRepository(dir, more string) error {
	for _, folder := range []string{"objects", "refs/heads", "hooks", "info"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			return err
		}
	}
	config := "[core]\n\trepositoryformatversion = 0\n\tlogallrefupdates = true\n\t" + more
	return errors.Join(os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o600), os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600))
}

// commit commits all of repo/ as git commit with the signing program sign-as-WHO does, or without a signature if WHO is nobody. It returns the id.
func (s *stage) commit(who, message string) (string, error) {
	repo := s.path("repo")
	if err := s.git(repo, "add", "--all"); err != nil {
		return "", err
	}
	tree, err := s.gitOutput(repo, "write-tree")
	if err != nil {
		return "", err
	}
	branch, parent, err := s.head()
	if err != nil {
		return "", err
	}
	author := sigtest.Person{Name: "alice", Email: "alice@example.org", When: time.Now()}
	if who != "nobody" {
		author.Name = who
	}
	spec := sigtest.CommitSpec{Tree: tree, Author: author, Committer: author, Message: message}
	if parent != "" {
		spec.Parents = []string{parent}
	}
	raw := spec.Payload(author.When)
	if who != "nobody" {
		if raw, err = s.signCommit(who, raw); err != nil {
			return "", err
		}
	}
	id, err := gittest.WriteObject(filepath.Join(repo, ".git"), "commit", raw)
	return id, errors.Join(err, writeRef(filepath.Join(repo, ".git"), branch, id))
}

func (s *stage) signCommit(who string, payload []byte) ([]byte, error) {
	program, known := signers()["sign-as-"+who]
	if !known {
		return nil, fmt.Errorf("no signing program sign-as-%s", who)
	}
	var signature bytes.Buffer
	if err := sign(s.path("sigstore"), program, []string{"--status-fd=2", "-bsau", who}, bytes.NewReader(payload), &signature, io.Discard); err != nil {
		return nil, err
	}
	return sigtest.AttachToCommit(payload, signature.Bytes())
}

// head returns the branch that is checked out in repo/, or "HEAD" if none is, and its commit, or "" before the first.
func (s *stage) head() (branch, commit string, err error) {
	text, err := os.ReadFile(s.path("repo/.git/HEAD"))
	if err != nil {
		return "", "", err
	}
	branch, found := strings.CutPrefix(strings.TrimSpace(string(text)), "ref: ")
	if !found {
		return "HEAD", branch, nil
	}
	id, err := os.ReadFile(filepath.Join(s.path("repo/.git"), branch))
	if errors.Is(err, fs.ErrNotExist) {
		if _, packed := os.Stat(s.path("repo/.git/packed-refs")); packed == nil {
			commit, err = s.gitOutput(s.path("repo"), "rev-parse", branch)
			return branch, commit, err
		}
		return branch, "", nil
	}
	return branch, strings.TrimSpace(string(id)), err
}

// push replaces the remote's main by that of repo/, as git push --force does. With a hook, git does it.
func (s *stage) push() error {
	forge := s.path("forge.git")
	if hooks, err := os.ReadDir(filepath.Join(forge, "hooks")); err != nil || len(hooks) > 0 {
		return errors.Join(err, s.git(s.path("repo"), "push", "--quiet", "--force", "origin", "main"))
	}
	id, err := os.ReadFile(s.path("repo/.git/refs/heads/main"))
	if err != nil {
		return err
	}
	commit := strings.TrimSpace(string(id))
	return errors.Join(linkObjects(s.path("repo/.git/objects"), filepath.Join(forge, "objects")), writeRef(forge, "refs/heads/main", commit),
		writeRef(s.path("repo/.git"), "refs/remotes/origin/main", commit))
}

// linkObjects gives the repository of a second folder the objects of the first. It links the index of a pack last, because git looks for that.
func linkObjects(from, to string) error {
	var indexes []string
	link := func(name string) error {
		err := os.MkdirAll(filepath.Join(to, filepath.Dir(name)), 0o700)
		if linked := os.Link(filepath.Join(from, name), filepath.Join(to, name)); !errors.Is(linked, fs.ErrExist) {
			err = errors.Join(err, linked)
		}
		return err
	}
	err := fs.WalkDir(os.DirFS(from), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir():
			return err
		case strings.HasPrefix(name, "info/"):
			return nil
		case strings.HasSuffix(name, ".idx"):
			indexes = append(indexes, name)
			return nil
		}
		return link(name)
	})
	for _, name := range indexes {
		err = errors.Join(err, link(name))
	}
	return err
}

func writeRef(repository, name, id string) error {
	return replaceFile(filepath.Join(repository, name), []byte(id+"\n"))
}

// replaceFile writes a file in one step, so that a process that reads it at the same time never sees half of it.
func replaceFile(name string, content []byte) error {
	return errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name+".new", content, 0o600), os.Rename(name+".new", name))
}

func (s *stage) git(dir string, args ...string) error {
	_, err := s.gitOutput(dir, args...)
	return err
}

// gitOutput runs git and returns its output without the space around it.
func (s *stage) gitOutput(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, s.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), nil
}
