package audit

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/clone"
	"gitops-agent/gitsource"
	"gitops-agent/verify"
)

// With two processors, two commits are verified at the same time: each waits for the other.
func TestAuditUsesEveryProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	dir, root := longHistory(t, 2)
	policy, err := policyOf(root, []string{signer.Issuer + "=" + signer.Subject}, clone.Trust{})
	if err != nil {
		t.Fatal(err)
	}
	repo, err := gitsource.OpenRepository(dir)
	if err != nil {
		t.Fatal(err)
	}
	meeting := make(chan struct{})
	a := auditor{repo: repo, judge: policy, policy: policy, done: func(int, int) {
		select {
		case meeting <- struct{}{}:
		case <-meeting:
		case <-time.After(time.Minute):
			t.Error("got one commit at a time, want two at once")
		}
	}}
	verdicts, err := auditOf(t, a, "..main")
	if err != nil || len(verdicts) != 2 || !verdicts[0].Accepted || !verdicts[1].Accepted {
		t.Errorf("got %+v and %v, want two accepted commits", verdicts, err)
	}
}

// A history that ends because the clone is shallow is refused with the command that completes it.
func TestAuditOfAShallowClone(t *testing.T) {
	t.Parallel()
	dir, root := longHistory(t, 3)
	policy, err := policyOf(root, []string{signer.Issuer + "=" + signer.Subject}, clone.Trust{})
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
	a := auditor{repo: repo, judge: policy, policy: policy, done: func(int, int) {}}
	verdicts, err := auditOf(t, a, "..HEAD")
	if err != nil || len(verdicts) != 2 || !verdicts[1].Accepted || verdicts[0].Reason != verify.ReasonIncompleteHistory || !strings.Contains(verdicts[0].Hint, "--unshallow") {
		t.Errorf("got %+v and %v, want the accepted tip, and a missing commit with git fetch --unshallow", verdicts, err)
	}
}

// A malformed commit in a range, and one that is too large, have verdicts, and so has every other commit that can be reached.
func TestAuditOfABrokenRange(t *testing.T) {
	t.Parallel()
	dir, root := longHistory(t, 2)
	policy, err := policyOf(root, []string{signer.Issuer + "=" + signer.Subject}, clone.Trust{})
	if err != nil {
		t.Fatal(err)
	}
	git := func(stdin string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	const people = "author A <a@lab.test> 1700000000 +0000\ncommitter A <a@lab.test> 1700000000 +0000\n"
	tree := git("", "rev-parse", "main^{tree}")
	commit := func(headers, message string) string {
		t.Helper()
		return git("tree "+tree+"\n"+headers+"\n"+message+"\n", "hash-object", "-t", "commit", "--literally", "-w", "--stdin")
	}
	malformed := commit("parent "+git("", "rev-parse", "main")+"\n"+people+"gpgsig-sha256 x\n", "not covered")
	above := commit("parent "+malformed+"\n"+people, "unsigned")
	large := commit("parent "+above+"\n"+people, strings.Repeat("x", 2<<20))
	top := commit("parent "+large+"\n"+people, "unsigned too")
	repo, err := gitsource.OpenRepository(dir)
	if err != nil {
		t.Fatal(err)
	}
	a := auditor{repo: repo, judge: policy, policy: policy, done: func(int, int) {}}
	for revision, want := range map[string][]verify.Reason{
		".." + above:        {"", "", verify.ReasonMalformed, verify.ReasonUnsigned},
		"main.." + above:    {verify.ReasonMalformed, verify.ReasonUnsigned},
		".." + top:          {verify.ReasonTooLarge, verify.ReasonUnsigned},
		malformed:           {verify.ReasonMalformed},
		large:               {verify.ReasonTooLarge},
		large + "^{commit}": {verify.ReasonTooLarge},
	} {
		verdicts, err := auditOf(t, a, revision)
		var got []verify.Reason
		for _, v := range verdicts {
			got = append(got, v.Reason)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q and %v, want %q", revision, got, err, want)
		}
	}
}

// auditOf verifies the objects that a revision names.
func auditOf(tb testing.TB, a auditor, revision string) ([]verdict, error) {
	tb.Helper()
	chosen, err := a.choose(tb.Context(), revision)
	if err != nil {
		return nil, err
	}
	verdicts, _, err := a.audit(tb.Context(), chosen)
	return verdicts, err
}
