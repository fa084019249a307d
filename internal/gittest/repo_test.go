package gittest

import (
	"testing"
	"time"

	"gitops-agent/internal/sigtest"
)

// TestGitReadsWhatThePackageWrites checks the files, trees and references with the git program.
func TestGitReadsWhatThePackageWrites(t *testing.T) {
	sig, err := sigtest.New(sigtest.Options{Seed: "gittest", From: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	alice := sigtest.Identity{Subject: "alice@lab.test", Issuer: "https://issuer.test"}
	r := New(t)
	r.Files["a.yaml"], r.Files["a"], r.Files["empty"] = "first\n", "no newline", ""
	first := r.Push(sig, alice, "first")
	r.Files["a.yaml"] = "second\n"
	second := r.Push(sig, alice, "second")
	r.Git(nil, "fsck", "--strict", "--no-dangling")
	for spec, want := range map[string]string{first + ":a.yaml": "first\n", "main:a.yaml": "second\n", "main:a": "no newline", "main:empty": ""} {
		if got := r.Git(nil, "cat-file", "blob", spec); got != want {
			t.Errorf("%s: got %q, want %q", spec, got, want)
		}
	}
	if got, want := r.Git(nil, "rev-list", "main"), second+"\n"+first+"\n"; got != want || r.Tip != second {
		t.Errorf("got commits %q and tip %s, want %q", got, r.Tip, want)
	}
	r.SetMain(first)
	if got := r.Git(nil, "rev-parse", "HEAD"); got != first+"\n" || r.Tip != second {
		t.Errorf("got HEAD %q and tip %s, want %s and %s", got, r.Tip, first, second)
	}
}
