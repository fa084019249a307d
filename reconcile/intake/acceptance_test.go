package intake

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"gitops-agent/gitsource"
	"gitops-agent/internal/gittest"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile/epoch"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// accepting is an intake with a repository of two guests and a signed order, and the number of records in each commit of its journal.
type accepting struct {
	testing.TB
	sig    *sigtest.Sigstore
	repo   *gittest.Repo
	policy *verify.Policy
	dir    string // of the journal
	opts   Options
	intake *Intake
	epochs epoch.Counter

	mu      sync.Mutex
	commits []int
}

var alice = sigtest.Identity{Subject: "alice@lab.test", Issuer: "https://issuer.test"}

const twoGuests = `apiVersion: proxmox.gitops/v1alpha1
kind: VirtualMachine
metadata: {name: web-1}
spec: {vmid: 201, node: pve1, lifecycle: {destroy: allow}}
---
apiVersion: proxmox.gitops/v1alpha1
kind: VirtualMachine
metadata: {name: web-2}
spec: {vmid: 202, node: pve1, lifecycle: {destroy: deny}}
`

func newAccepting(t testing.TB) *accepting {
	t.Helper()
	a := &accepting{TB: t, dir: filepath.Join(t.TempDir(), "journal")}
	var err error
	a.sig, err = sigtest.New(sigtest.Options{Name: "accepting", Seed: "accepting", CAKey: sigtest.P256})
	a.ok(err)
	repo := gittest.New(t)
	a.repo = repo
	repo.Files["cluster.yaml"] = "apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home}\nspec: {vmids: {from: 200, to: 299}}\n"
	repo.Files["web.yaml"] = twoGuests
	repo.Push(a.sig, alice, "two guests")
	root, err := a.sig.TrustedRoot()
	a.ok(err)
	a.policy, err = verify.NewPolicy(verify.Options{
		TrustedRoot: root, Branch: "main", Target: "home/main", Binding: verify.BindingNone, TrustOnFirstUse: true,
		Signers: []verify.Signer{{Name: "alice", Issuer: alice.Issuer, Subject: alice.Subject, May: []verify.Role{verify.RoleChange, verify.RoleApprove}}},
	})
	a.ok(err)
	source, err := gitsource.Open(gitsource.Options{
		Dir: filepath.Join(t.TempDir(), "repository"), Branch: "main", Remotes: []gitsource.Remote{{URL: "file://" + repo.Dir}}, UploadPack: gittest.UploadPack,
	})
	a.ok(err)
	j, err := journal.Open(journal.Options{Dir: a.dir, OnSync: a.committed})
	a.ok(err)
	t.Cleanup(func() { a.ok(j.Close()) })
	a.opts = Options{
		Source: source, Policy: func() (*verify.Policy, error) { return a.policy, nil }, Journal: j, Scope: Scope{Cluster: "home"}, Epochs: &a.epochs,
	}
	a.intake = New(a.opts)
	return a
}

func (a *accepting) ok(err error) {
	a.Helper()
	if err != nil {
		a.Fatal(err)
	}
}

func (a *accepting) committed(s journal.Sync) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.commits = append(a.commits, s.Records)
}

// commitSizes closes the journal and returns the number of records in each of its commits.
func (a *accepting) commitSizes() []int {
	a.Helper()
	a.ok(a.opts.Journal.Close()) // ends the writer, which reports a commit after it has answered the caller
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.commits
}

// poll accepts the head of the repository.
func (a *accepting) poll() Polled {
	a.Helper()
	p := a.intake.Poll(a.Context())
	a.ok(p.Err)
	if p.Refusal != nil || !p.InForce.Accepted.Valid() {
		a.Fatalf("got %+v, want an accepted revision", p)
	}
	return p
}

// journalBytes returns the content of the journal's files, by name.
func (a *accepting) journalBytes() map[string][]byte {
	a.Helper()
	entries, err := os.ReadDir(a.dir)
	a.ok(err)
	files := make(map[string][]byte)
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(a.dir, e.Name())); err != nil {
			a.Fatal(err)
		}
	}
	return files
}

// TestAcceptanceIsOneAppend checks that an acceptance and the guards of its guests are one commit of the journal, so that no crash separates them.
func TestAcceptanceIsOneAppend(t *testing.T) {
	t.Parallel()
	a := newAccepting(t)
	before := a.epochs.Now()
	p := a.poll()
	if p.InForce.Epoch == before || p.InForce.Epoch != a.epochs.Now() {
		t.Errorf("got epoch %d after %d, want a new one that lasts", p.InForce.Epoch, before)
	}
	if again := a.poll(); again.InForce.Epoch != p.InForce.Epoch {
		t.Errorf("got epoch %d after a poll without news, want %d", again.InForce.Epoch, p.InForce.Epoch)
	}
	if got := a.commitSizes(); len(got) != 1 || got[0] != 4 {
		t.Errorf("got commits of %v records, want one commit of the acceptance, the guards of the Cluster and those of two guests", got)
	}
}

// TestAcceptanceSurvivesACrashAtAnyByte checks that a crash at any byte of the append keeps all of the acceptance or none of it.
func TestAcceptanceSurvivesACrashAtAnyByte(t *testing.T) {
	t.Parallel()
	a := newAccepting(t)
	before := a.journalBytes()
	a.poll()
	after := a.journalBytes()
	whole, cuts := 0, 0
	for name, content := range after {
		if len(content) == len(before[name]) {
			continue
		}
		for length := len(before[name]); length <= len(content); length++ {
			state := a.reopened(after, name, content[:length])
			switch guards := len(state.Guarded); {
			case state.Accepted == nil && guards == 0:
				cuts++
			case state.Accepted != nil && guards == 2:
				whole++
			default:
				t.Fatalf("got accepted %v and %d guards after %d of %d bytes, want all or nothing", state.Accepted != nil, guards, length, len(content))
			}
		}
	}
	if whole == 0 || cuts == 0 {
		t.Errorf("got %d whole acceptances and %d cut ones, want some of each", whole, cuts)
	}
}

// reopened returns the state of a journal with the given files, one of them with other content.
func (a *accepting) reopened(files map[string][]byte, name string, content []byte) journal.State {
	a.Helper()
	dir := a.TempDir()
	for file, data := range files {
		if file == name {
			data = content
		}
		a.ok(os.WriteFile(filepath.Join(dir, file), data, 0o600))
	}
	j, err := journal.Open(journal.Options{Dir: dir})
	a.ok(err)
	defer func() { a.ok(j.Close()) }()
	return j.State()
}

// A later version may refuse manifests that an earlier one accepted. The accepted revision stays in the journal, writes stop with the reason,
// and the same head is refused without changing the base.
func TestAcceptedRevisionThatIsRefusedLater(t *testing.T) {
	t.Parallel()
	a := newAccepting(t)
	was := a.poll()
	a.opts.Scope.Cluster = "other" // stands for any rule that the manifests do not pass any more
	a.intake = New(a.opts)
	force := a.intake.Resume(t.Context())
	var refused *RefusedError
	if force.Accepted.Valid() || !errors.As(force.Unverified, &refused) || refused.Reason != report.RefusedCluster {
		t.Errorf("got valid %t, unverified because of %v, want no revision in force because its cluster is refused", force.Accepted.Valid(), force.Unverified)
	}
	p := a.intake.Poll(t.Context())
	if p.Refusal == nil || p.Refusal.Reason != report.RefusedCluster || p.InForce.Unverified == nil {
		t.Errorf("got %+v, want the head refused and nothing in force", p)
	}
	if last := a.opts.Journal.State().Accepted; last == nil || last.Commit != string(was.Head.Commit) {
		t.Errorf("got %+v accepted, want the revision that was accepted", last)
	}
	a.opts.Scope.Cluster = "home"
	a.intake = New(a.opts)
	if force := a.intake.Resume(t.Context()); force.Unverified != nil || !force.Accepted.Valid() {
		t.Errorf("got %+v, want the revision in force again under the rules that accepted it", force)
	}
	if got := a.commitSizes(); len(got) != 1 {
		t.Errorf("got commits of %v records, want no commit after the acceptance", got)
	}
}
