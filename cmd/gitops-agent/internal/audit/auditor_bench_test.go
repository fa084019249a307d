package audit

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/clone"
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
	objects := tb.TempDir()
	for i := range n {
		spec.Message = fmt.Sprintf("change %d", i)
		raw, id, err := sig.Commit(spec, signer, sigtest.SignOptions{})
		if err != nil {
			tb.Fatal(err)
		}
		path := filepath.Join(objects, strconv.Itoa(i))
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
	policy, err := policyOf(root, []string{signer.Issuer + "=" + signer.Subject}, clone.Trust{})
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

var historyCommits = flag.Int("history-commits", 15_507, "signed commits of BenchmarkAuditHistory")

// BenchmarkAuditHistory runs the program on the history of a large project, by default of 15,507 signed commits. Resident memory is the most of the process.
func BenchmarkAuditHistory(b *testing.B) {
	commits := *historyCommits
	dir, root := longHistory(b, commits)
	program := filepath.Join(b.TempDir(), "gitops-agent")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", program, "gitops-agent/cmd/gitops-agent").CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	var processor time.Duration
	var resident int64 // KiB
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), program, "verify", "--repo", dir, "--trusted-root", root, "--signer", signer.Issuer+"="+signer.Subject, "..main")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), fmt.Sprintf("%d accepted, 0 refused", commits)) {
			b.Fatalf("got %v, want every commit accepted:\n%s", err, out)
		}
		processor += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			resident = max(resident, usage.Maxrss)
		}
	}
	b.ReportMetric(processor.Seconds()*1000/float64(b.N*commits), "cpu-ms/commit")
	b.ReportMetric(float64(resident)/1024, "rss-MiB")
}
