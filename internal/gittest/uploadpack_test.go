package gittest_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/internal/gittest"
	_ "gitops-agent/internal/memtemp"
	"gitops-agent/internal/sigtest"
)

// TestUploadPackServesWhatGitServes fetches each state of a repository from UploadPack and from the git program. Git finds the same objects in both stores.
func TestUploadPackServesWhatGitServes(t *testing.T) {
	t.Parallel()
	sig, err := sigtest.New(sigtest.Options{Seed: "gittest", From: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), CAKey: sigtest.P256})
	if err != nil {
		t.Fatal(err)
	}
	alice := sigtest.Identity{Subject: "alice@lab.test", Issuer: "https://issuer.test"}
	r := gittest.New(t)
	stores := map[string]*gitsource.Source{}
	dirs := map[string]string{}
	for name, opts := range map[string]gitsource.Options{"git": {}, "process": {UploadPack: gittest.UploadPack}} {
		dirs[name] = filepath.Join(t.TempDir(), "store")
		opts.Dir, opts.Branch, opts.Notes, opts.Remotes = dirs[name], "main", "refs/notes/commits", []gitsource.Remote{{URL: "file://" + r.Dir}}
		if stores[name], err = gitsource.Open(opts); err != nil {
			t.Fatal(err)
		}
	}
	fetched := func(what string, fetch func(*gitsource.Source) (string, error)) {
		t.Helper()
		head, wantErr := fetch(stores["git"])
		got, err := fetch(stores["process"])
		if got != head || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("%s: got %s, %v, want %s, %v as from git", what, got, err, head, wantErr)
		}
		objects := make(map[string]string)
		for name, dir := range dirs {
			git := func(args ...string) string {
				cmd := exec.CommandContext(t.Context(), "git", append([]string{"--git-dir", dir}, args...)...)
				cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%s: git %v: %v\n%s", what, args, err, out)
				}
				return string(out)
			}
			git("fsck", "--full", "--no-dangling")
			objects[name] = git("cat-file", "--batch-all-objects", "--batch-check")
		}
		if objects["process"] != objects["git"] {
			t.Errorf("%s: got the objects\n%s\nwant as from git\n%s", what, objects["process"], objects["git"])
		}
	}
	branch := func(s *gitsource.Source) (string, error) {
		head, err := s.Fetch(t.Context())
		return string(head.Commit) + " " + string(head.Notes), err
	}

	fetched("empty", branch)
	r.Files["a"], r.Files["deep/er/b"], r.Files["empty"], r.Files["large"] = "one\n", "two\n", "", strings.Repeat("0123456789abcdef\n", 20_000)
	first := r.Push(sig, alice, "first")
	fetched("first", branch)
	fetched("unchanged", branch)
	for i := range 3 {
		r.Files["a"] = fmt.Sprint("version ", i)
		r.Push(sig, alice, "further")
	}
	delete(r.Files, "large")
	second := r.Push(sig, alice, "without a file")
	fetched("further commits", branch)
	r.SetMain(first)
	fetched("rewound", branch)
	r.Tip = first
	r.Files["c"] = "three"
	r.Push(sig, alice, "another history")
	fetched("another history", branch)
	r.Note("refs/notes/commits", second, []byte("a note"))
	fetched("notes", branch)
	r.Git(nil, "-c", "user.name=a", "-c", "user.email=a@lab.test", "tag", "-a", "-m", "a tag", "v1", second)
	tag := func(name string) func(*gitsource.Source) (string, error) {
		return func(s *gitsource.Source) (string, error) {
			id, err := s.FetchTag(t.Context(), name)
			return string(id), err
		}
	}
	fetched("tag", tag("v1"))
	fetched("no such tag", tag("v2"))
	r.Git(nil, "update-ref", "-d", "refs/heads/main")
	fetched("no such branch", branch)
	if err := os.RemoveAll(r.Dir); err != nil {
		t.Fatal(err)
	}
	if _, err := branch(stores["process"]); !errors.Is(err, gitsource.ErrUnreachable) || !strings.Contains(err.Error(), "does not appear to be a git repository") {
		t.Errorf("got %v without the repository, want git's message", err)
	}
}
