package clone

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// The settings of a clone. The hook prepare-commit-msg reads the first two.
const (
	KeyCluster = "gitops.cluster" // of the targets that commits name
	KeyBranch  = "gitops.branch"
	KeySigner  = "gitops.signer" // who signs here, as ISSUER=SUBJECT
)

// A Clone is a working copy of a person.
type Clone struct {
	Dir    string // its top
	GitDir string // what all its worktrees share
}

// Find returns the clone that contains a directory. Its error is what git says. A folder that looks like a git directory is no clone, since a checkout may have made it: the git
// directory is .git at the top, or what a file of that name points to.
func Find(ctx context.Context, dir string) (Clone, error) {
	out, err := git(ctx, dir, "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir", "--git-dir")
	if err != nil {
		return Clone{}, err
	}
	paths := strings.Split(out, "\n")
	if len(paths) != 3 {
		return Clone{}, fmt.Errorf("%s: got %q from git rev-parse, want three paths", dir, out)
	}
	if !isGitDir(paths[0], paths[2]) {
		return Clone{}, fmt.Errorf("%s: %s is not the git directory of %s", dir, paths[2], paths[0])
	}
	return Clone{paths[0], paths[1]}, nil
}

// maxPointer is the longest file .git, in bytes: one path.
const maxPointer = 8 << 10

// isGitDir reports whether a directory is .git at the top of a working copy, or the one to which a file of that name points: that of a linked worktree, of a submodule, or
// another one that the user chose.
func isGitDir(top, dir string) bool {
	path := filepath.Join(top, ".git")
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return false
	case info.IsDir():
		return dir == path
	case !info.Mode().IsRegular():
		return false
	}
	file, err := os.Open(path) //nolint:gosec // the file .git of a working copy
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxPointer))
	to, found := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if !filepath.IsAbs(to) {
		to = filepath.Join(top, to)
	}
	return err == nil && found && filepath.Clean(to) == dir
}

// TrustedRoot returns the path of the trusted root of Sigstore that init puts beside the settings.
func (c Clone) TrustedRoot() string {
	return filepath.Join(c.GitDir, "gitops-agent", "trusted_root.json")
}

// Hook returns the path of a hook. It lies outside of the clone if core.hooksPath says so.
func (c Clone) Hook(ctx context.Context, name string) (string, error) {
	return git(ctx, c.Dir, "rev-parse", "--path-format=absolute", "--git-path", "hooks/"+name)
}

// Branch returns the branch that is checked out, "" on a detached HEAD.
func (c Clone) Branch(ctx context.Context) string {
	branch, _ := git(ctx, c.Dir, "symbolic-ref", "--quiet", "--short", "HEAD") // it fails on a detached HEAD
	return branch
}

// Value returns the value of a setting that is in force in the clone, "" if there is none.
func (c Clone) Value(ctx context.Context, key string) (string, error) {
	return c.get(ctx, key)
}

// Own returns the value of a setting in the clone's own file, "" if there is none.
func (c Clone) Own(ctx context.Context, key string) (string, error) {
	return c.get(ctx, "--local", key)
}

func (c Clone) get(ctx context.Context, args ...string) (string, error) {
	value, err := git(ctx, c.Dir, append([]string{"config", "--get"}, args...)...)
	if exit := new(exec.ExitError); errors.As(err, &exit) && exit.ExitCode() == 1 { // there is none
		return "", nil
	}
	return value, err
}

// Set writes a setting into the clone's own file.
func (c Clone) Set(ctx context.Context, key, value string) error {
	_, err := git(ctx, c.Dir, "config", "--local", key, value)
	return err
}

// Trust is what init --repository wrote about signing.
type Trust struct {
	Root            string // path of a trusted root
	Signer          string // ISSUER=SUBJECT
	Cluster, Branch string // the target of commits
}

// ReadTrust returns what the clone that contains a directory says about signing. It returns false if init --repository did not run there.
func ReadTrust(ctx context.Context, dir string) (Trust, bool) {
	c, err := Find(ctx, dir)
	if err != nil {
		return Trust{}, false
	}
	t := Trust{Root: c.TrustedRoot()}
	for key, value := range map[string]*string{KeySigner: &t.Signer, KeyCluster: &t.Cluster, KeyBranch: &t.Branch} {
		if *value, err = c.Own(ctx, key); err != nil || *value == "" {
			return Trust{}, false
		}
	}
	_, err = os.Stat(t.Root)
	return t, err == nil
}

// git runs git in a directory and returns what it prints.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "safe.bareRepository=explicit", "-C", dir}, args...)...) //nolint:gosec // git, with a directory and settings of the user
	cmd.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {                                                // those of a hook or an alias, which name its repository
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains([]string{"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT"}, name)
	})
	var problem bytes.Buffer
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %.500s", args[0], err, bytes.TrimSpace(problem.Bytes()))
	}
	return strings.TrimRight(string(out), "\n"), nil
}
