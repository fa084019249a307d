package audit

import (
	"runtime"
	"testing"
	"time"

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
