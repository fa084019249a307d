package verify_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"gitops-agent/gitsource"
	_ "gitops-agent/internal/memtemp"
	"gitops-agent/verify"
)

// residentDir is the environment variable that makes the test binary verify the range in the named directory and print how
// much memory the process used.
const residentDir = "VERIFY_RESIDENT_DIR"

// maxResident is the most resident memory of a process that verifies a thousand commits, in bytes.
const maxResident = 64 << 20

func TestMain(m *testing.M) {
	if dir := os.Getenv(residentDir); dir != "" {
		if err := verifyAlone(dir, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err) // the parent fails because the output lacks the value
		}
		return
	}
	m.Run()
}

// verifyAlone checks the range in dir and writes /proc/self/status of this process.
func verifyAlone(dir string, out io.Writer) error {
	var files [3][]byte
	for i, name := range []string{"root.json", "base", "tip"} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		files[i] = content
	}
	p, err := verify.NewPolicy(verify.Options{
		TrustedRoot: files[0], Branch: "main", Binding: verify.BindingNone, TrustOnFirstUse: true,
		Signers: []verify.Signer{{Name: "alice", Issuer: alice.Issuer, Subject: alice.Subject, May: []verify.Role{verify.RoleChange}}},
	})
	if err != nil {
		return err
	}
	repo, err := gitsource.OpenRepository(dir)
	if err != nil {
		return err
	}
	revision, err := p.Check(context.Background(), repo, gitsource.ID(files[2]), verify.Base{Commit: gitsource.ID(files[1])})
	if err != nil {
		return err
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "commits %d\n%s", len(revision.Commits()), status)
	return err
}

// thousandCommits makes a range of a thousand commits.
func thousandCommits(l *testRepo) (base, tip gitsource.ID) {
	l.Helper()
	tree := l.tree("web.yaml=1")
	base = l.commit(draft{tree: tree})
	tip = base
	for i := range 1000 {
		tip = l.commit(draft{tree: tree, parents: []gitsource.ID{tip}, message: fmt.Sprintf("commit %d", i)})
	}
	return base, tip
}

var residentLine = regexp.MustCompile(`(?s)^commits 1000\n.*\nVmHWM:\s+(\d+) kB\n`)

// BenchmarkCheckResident verifies a thousand commits in a separate process. MiB is the highest resident memory of that
// process, including the program itself. The benchmark fails above 64 MiB and needs Linux.
func BenchmarkCheckResident(b *testing.B) {
	l := newTestRepo(b)
	base, tip := thousandCommits(l)
	l.writeFile(filepath.Join(l.dir, "root.json"), l.options().TrustedRoot)
	l.writeFile(filepath.Join(l.dir, "base"), []byte(base))
	l.writeFile(filepath.Join(l.dir, "tip"), []byte(tip))
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	most := 0
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), self)
		cmd.Env, cmd.Stderr = append(os.Environ(), residentDir+"="+l.dir), os.Stderr
		out, err := cmd.Output()
		found := residentLine.FindSubmatch(out)
		if err != nil || found == nil {
			b.Fatalf("verify in a child: got %v and %q, want its status", err, out)
		}
		kib, err := strconv.Atoi(string(found[1]))
		if err != nil {
			b.Fatal(err)
		}
		most = max(most, kib<<10)
	}
	b.ReportMetric(float64(most)/(1<<20), "MiB")
	if most > maxResident {
		b.Errorf("got %d bytes resident, want at most %d", most, maxResident)
	}
}
