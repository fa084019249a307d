package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gitops-agent/gitsource"
	"gitops-agent/internal/gittest"
	"gitops-agent/internal/sigtest"
)

// signer signs every commit of the tests.
var signer = sigtest.Identity{Subject: "alice@example.org", Issuer: "https://accounts.test"}

// longHistory is a repository with n signed commits on main, and the trusted root to verify them by.
func longHistory(tb testing.TB, n int) (dir, trustedRoot string) {
	tb.Helper()
	sig, err := sigtest.New(sigtest.Options{Seed: "range"})
	if err != nil {
		tb.Fatal(err)
	}
	repo := gittest.New(tb)
	repo.Files["cluster.yaml"] = "kind: Cluster\n"
	spec := sigtest.CommitSpec{Tree: repo.Tree()}
	var stream strings.Builder // one process for all objects
	for i := range n {
		spec.Message = fmt.Sprintf("change %d", i)
		raw, id, err := sig.Commit(spec, signer, sigtest.SignOptions{})
		if err != nil {
			tb.Fatal(err)
		}
		path := filepath.Join(tb.TempDir(), "commit")
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			tb.Fatal(err)
		}
		fmt.Fprintln(&stream, path)
		spec.Parents = []string{id}
	}
	if n > 0 {
		repo.Git([]byte(stream.String()), "hash-object", "-t", "commit", "-w", "--stdin-paths")
		repo.Git(nil, "update-ref", "refs/heads/main", spec.Parents[0])
	}
	repo.Git(nil, "repack", "-q", "-a", "-d")
	root, err := sig.TrustedRoot()
	if err != nil {
		tb.Fatal(err)
	}
	trustedRoot = filepath.Join(tb.TempDir(), "trusted_root.json")
	if err := os.WriteFile(trustedRoot, root, 0o600); err != nil {
		tb.Fatal(err)
	}
	return repo.Dir, trustedRoot
}

// BenchmarkAuditRange is a range of 1,000 commits. With -cpu 1,2 its time halves.
func BenchmarkAuditRange(b *testing.B) {
	const commits = 1000
	dir, root := longHistory(b, commits)
	policy, err := policyOf(root, []string{signer.Issuer + "=" + signer.Subject})
	if err != nil {
		b.Fatal(err)
	}
	repo, err := gitsource.OpenRepository(dir)
	if err != nil {
		b.Fatal(err)
	}
	a := auditor{repo: repo, judge: policy, policy: policy, done: func(int, int) {}}
	for b.Loop() {
		verdicts, err := auditOf(b, a, "..main")
		if err != nil || len(verdicts) != commits || !verdicts[0].Accepted {
			b.Fatalf("got %d verdicts and %v, want %d", len(verdicts), err, commits)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*commits), "ms/commit")
}
