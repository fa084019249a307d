package subject

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gitops-agent/internal/agent"
	"gitops-agent/internal/gittest"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
)

// TestReadAccepted reads a revision that an older release accepted and this one refuses, from the repository of the agent: it is read as the agent reads it, with
// a warning at the place. A working copy with the same manifests is refused, and as the base of a plan it is read as it was accepted.
func TestReadAccepted(t *testing.T) {
	t.Parallel()
	const cluster = "apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home}\nspec: {vmids: {from: 200, to: 299}}\n"
	tests := map[string]struct{ text, warning string }{
		"key_that_a_comment_hides": {
			"apiVersion: proxmox.gitops/v1alpha1\nkind: Pool\nmetadata: {name: media}\nspec: # of the house \u2028  comment: hidden\n",
			"gitops-agent: warning: all.yaml:4:22: accepted before, refused in a new revision: got the line separator U+2028, ",
		},
		"compressed_disk_image": {
			"apiVersion: proxmox.gitops/v1alpha1\nkind: Image\nmetadata: {name: haos}\nspec:\n  url: https://images.example/haos.qcow2.gz\n" +
				"  checksum: sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0bc822cd15d6c15b0f00a0\n  storage: local\n  content: import\n  decompression: gz\n",
			"gitops-agent: warning: all.yaml:9:18: Image haos: decompression: accepted before, refused in a new revision: ",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ok := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			repo := gittest.New(t)
			repo.Files["cluster.yaml"], repo.Files["all.yaml"] = cluster, test.text
			sig, err := sigtest.New(sigtest.Options{Seed: "subject"})
			ok(err)
			commit := repo.Push(sig, sigtest.Identity{Subject: "alice@lab.test", Issuer: "https://issuer.test"}, "accepted by an older release")
			notes, state := &bytes.Buffer{}, t.TempDir()
			ok(os.CopyFS(filepath.Join(state, "repository"), os.DirFS(repo.Dir)))
			j, err := journal.Open(journal.Options{Dir: filepath.Join(state, "journal")})
			ok(err)
			ok(j.Append(t.Context(), journal.Accepted{Commit: commit, Branch: "main", Sequence: 1}))
			ok(j.Close())
			r := Reader{Config: agent.Config{StateDir: state}, Notes: notes}
			r.Config.Cluster.Name, r.Config.Source.Branch = "home", "main"
			got, err := r.Read(t.Context(), "", "")
			if err != nil || got.Set.Cluster.Name != "home" || !strings.HasPrefix(notes.String(), test.warning) {
				t.Errorf("got %v, notes %q and %+v, want it read with the warning %q", err, notes, got.Set, test.warning)
			}
			if _, err := r.Read(t.Context(), commit, ""); err != nil {
				t.Errorf("got %v for the commit by its name, want it read too", err)
			}
			dir := t.TempDir()
			ok(os.WriteFile(filepath.Join(dir, "all.yaml"), []byte(cluster+"---\n"+test.text), 0o600))
			if _, err := r.Read(t.Context(), "", dir); !errors.As(err, new(*manifest.Problems)) {
				t.Errorf("got %v for a working copy, want it refused", err)
			}
			if _, err := r.Base(t.Context(), dir); err != nil {
				t.Errorf("got %v for the base of a plan, want it read as it was accepted", err)
			}
		})
	}
}
