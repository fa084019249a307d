package audit

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/gitsource"
)

// With two processors, two commits are verified at the same time: each waits for the other.
func TestAuditUsesEveryProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	dir, root := longHistory(t, 2)
	policy, err := policyOf(root, []string{signer.Issuer + "=" + signer.Subject})
	if err != nil {
		t.Fatal(err)
	}
	repo, err := gitsource.OpenRepository(dir)
	if err != nil {
		t.Fatal(err)
	}
	meeting := make(chan struct{})
	a := auditor{repo: repo, policy: policy, done: func(int, int) {
		select {
		case meeting <- struct{}{}:
		case <-meeting:
		case <-time.After(time.Minute):
			t.Error("got one commit at a time, want two at once")
		}
	}}
	verdicts, err := a.audit(t.Context(), "..main")
	if err != nil || len(verdicts) != 2 || !verdicts[0].Accepted || !verdicts[1].Accepted {
		t.Errorf("got %+v and %v, want two accepted commits", verdicts, err)
	}
}

// A history that ends because the clone is shallow is refused with the command that completes it.
func TestAuditOfAShallowClone(t *testing.T) {
	t.Parallel()
	dir, root := longHistory(t, 3)
	policy, err := policyOf(root, []string{signer.Issuer + "=" + signer.Subject})
	if err != nil {
		t.Fatal(err)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	if out, err := exec.CommandContext(t.Context(), "git", "clone", "-q", "--depth=1", "file://"+dir, clone).CombinedOutput(); err != nil {
		t.Fatalf("clone: %v\n%s", err, out)
	}
	repo, err := gitsource.OpenRepository(clone)
	if err != nil {
		t.Fatal(err)
	}
	a := auditor{repo: repo, policy: policy, done: func(int, int) {}}
	_, err = a.audit(t.Context(), "..HEAD")
	if hint, _ := term.Hint(err); !strings.Contains(hint, "--unshallow") || term.ExitStatus(err) != term.ExitRefused {
		t.Errorf("got %v with the hint %q, want a refusal with git fetch --unshallow", err, hint)
	}
}
