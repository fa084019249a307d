package gittest

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gitops-agent/internal/sigtest"
)

// Repo is a bare repository whose branch is main. Files is the content of the next commit, by path; folders are not supported.
type Repo struct {
	Dir   string
	Tip   string // commit of main, "" before the first
	Files map[string]string

	tb testing.TB
}

// New creates an empty repository that is removed after the test.
func New(tb testing.TB) *Repo {
	tb.Helper()
	r := &Repo{Dir: filepath.Join(tb.TempDir(), "forge.git"), Files: map[string]string{}, tb: tb}
	r.Git(nil, "init", "--quiet", "--bare", "--initial-branch=main", r.Dir)
	return r
}

// Push commits Files, signed by who, moves main to the commit and returns the id of the commit.
func (r *Repo) Push(sig *sigtest.Sigstore, who sigtest.Identity, message string) string {
	r.tb.Helper()
	spec := sigtest.CommitSpec{Tree: r.Tree(), Message: message}
	if r.Tip != "" {
		spec.Parents = []string{r.Tip}
	}
	raw, id, err := sig.Commit(spec, who, sigtest.SignOptions{})
	if err != nil {
		r.tb.Fatal(err)
	}
	return r.Place(raw, id)
}

// Place stores the raw bytes of a commit, moves main to it and returns id. It fails the test if git computes another id.
func (r *Repo) Place(raw []byte, id string) string {
	r.tb.Helper()
	if got := strings.TrimSpace(r.Git(raw, "hash-object", "-t", "commit", "-w", "--stdin")); got != id {
		r.tb.Fatalf("got commit %s from git, want %s", got, id)
	}
	r.Git(nil, "update-ref", "refs/heads/main", id)
	r.Tip = id
	return id
}

// Tree writes Files as a tree and returns its id.
func (r *Repo) Tree() string {
	r.tb.Helper()
	var listing strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		blob := strings.TrimSpace(r.Git([]byte(r.Files[name]), "hash-object", "-w", "--stdin"))
		fmt.Fprintf(&listing, "100644 blob %s\t%s\n", blob, name)
	}
	return strings.TrimSpace(r.Git([]byte(listing.String()), "mktree"))
}

// Git runs git on the repository, without the settings of the user who runs the tests, and returns its output.
func (r *Repo) Git(stdin []byte, args ...string) string {
	r.tb.Helper()
	cmd := exec.CommandContext(r.tb.Context(), "git", args...)
	cmd.Env = append(os.Environ(), "GIT_DIR="+r.Dir, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.tb.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}
