package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
)

// webOnBridge returns web-1 on a bridge. A move of a running guest to another bridge interrupts it, so the move needs an approval.
func webOnBridge(bridge string) string {
	return vmYAML("web-1", 201, "state: running", "networks: {net0: {bridge: "+bridge+"}}")
}

// runLabWithHeldMove runs a test from the moment at which web-1 should move to vmbr1. The test gets the digest to approve.
func runLabWithHeldMove(t *testing.T, options []labOption, test func(t *testing.T, l *lab, p *probe, digest string)) {
	t.Helper()
	runLabWithProbe(t, options, func(t *testing.T, l *lab, p *probe) {
		l.files["web.yaml"] = webOnBridge("vmbr0")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.files["web.yaml"] = webOnBridge("vmbr1")
		l.push("another bridge", alice)
		digest := l.digestOfHold(201)
		if got := p.count(cluster.OpConfig, 201); got != 1 {
			t.Fatalf("got %d writes of the configuration before any approval, want the first one alone", got)
		}
		test(t, l, p, digest)
	})
}

func (l *lab) moved() bool { return strings.Contains(l.sim.Value(201, "net0"), "bridge=vmbr1") }

// wantOrder fails the test unless the approval of a digest is the only order and has this state.
func (l *lab) wantOrder(digest string, state journal.OrderState) {
	l.Helper()
	got := make(map[string]journal.OrderState)
	for _, o := range l.journal.State().Orders {
		got[o.Order] = o.State
	}
	if diff := cmp.Diff(map[string]journal.OrderState{"Gitops-Approve: " + digest: state}, got); diff != "" {
		l.Errorf("orders differ (-want +got):\n%s", diff)
	}
}

// TestApprovalIsSpentWhenTheOutcomeIsUnknown loses the reply to an approved change that took effect. When a user later undoes the change, the old
// approval does not repeat it.
func TestApprovalIsSpentWhenTheOutcomeIsUnknown(t *testing.T) {
	runLabWithHeldMove(t, nil, func(t *testing.T, l *lab, p *probe, digest string) {
		old := l.sim.Value(201, "net0")
		l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/qemu/201/config$", Kind: pvesim.DropAfter}))
		l.approve(digest)
		eventually(t, "the approved change", l.moved)
		l.converge()
		l.wantOrder(digest, journal.OrderUnknown)
		l.ok(l.sim.Edit(201, "net0", old))
		if again := l.digestOfHold(201); again != digest {
			t.Errorf("got digest %s for the same change, want %s", again, digest)
		}
		time.Sleep(10 * time.Minute)
		if got := p.count(cluster.OpConfig, 201); l.moved() || got != 2 {
			t.Errorf("got %d writes and the guest moved %t, want one write for one approval", got, l.moved())
		}
	})
}

// TestApprovalIsSpentByAFailure makes the approved task fail. One approval is valid for one attempt.
func TestApprovalIsSpentByAFailure(t *testing.T) {
	runLabWithHeldMove(t, nil, func(t *testing.T, l *lab, p *probe, digest string) {
		l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/qemu/201/config$", Kind: pvesim.TaskFails, Text: "hotplug problem - net0", Times: -1}))
		l.approve(digest)
		eventually(t, "the attempt", func() bool { return p.count(cluster.OpConfig, 201) == 2 })
		time.Sleep(2 * time.Hour)
		if got := p.count(cluster.OpConfig, 201); got != 2 {
			t.Errorf("got %d writes, want 2: the first configuration and one attempt of the approved change", got)
		}
		l.wantOrder(digest, journal.OrderRun)
	})
}

// TestApprovalStaysAfterARejectedCall edits the guest just before the approved call, so that Proxmox rejects the call. The approval is still valid
// for the next call.
func TestApprovalStaysAfterARejectedCall(t *testing.T) {
	runLabWithHeldMove(t, nil, func(t *testing.T, l *lab, p *probe, digest string) {
		l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/qemu/201/config$", Kind: pvesim.EditBefore, Key: "onboot", Value: "1"}))
		l.approve(digest)
		eventually(t, "the approved change", l.moved)
		l.converge()
		if got := p.count(cluster.OpConfig, 201); got != 3 {
			t.Errorf("got %d writes, want 3: the first configuration, an attempt without effect and another one", got)
		}
		l.wantOrder(digest, journal.OrderRun)
	})
}

// TestOrdersExpire requires two approvals and gives only one of them. The approval expires after a week.
func TestOrdersExpire(t *testing.T) {
	slowly := func(o *reconcile.Options) { o.Poll, o.Tick, o.Resync = time.Hour, time.Hour, time.Hour }
	runLabWithProbe(t, []labOption{slowly}, func(t *testing.T, l *lab, p *probe) {
		l.files["cluster.yaml"] = clusterYAML + "  guards: {approvals: 2}\n"
		l.files["web.yaml"] = webOnBridge("vmbr0")
		l.push("one guest", alice)
		defer l.start()()
		time.Sleep(3 * time.Hour)
		l.files["web.yaml"] = webOnBridge("vmbr1")
		l.push("another bridge", alice)
		time.Sleep(3 * time.Hour)
		digest := l.digestOfHold(201)
		l.approve(digest)
		time.Sleep(6 * 24 * time.Hour)
		l.wantOrder(digest, journal.OrderSeen)
		time.Sleep(2 * 24 * time.Hour)
		l.wantOrder(digest, journal.OrderExpired)
		if l.moved() || p.count(cluster.OpConfig, 201) != 1 {
			t.Errorf("got the guest moved by one of two approvals, want it held")
		}
	})
}
