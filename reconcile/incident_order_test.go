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

// bridged is web-1 on a bridge. Moving a running guest to another bridge interrupts it, so that has to be approved.
func webOnBridge(bridge string) string {
	return vmYAML("web-1", 201, "state: running", "networks: {net0: {bridge: "+bridge+"}}")
}

// heldBridge runs a test from the moment at which web-1 was asked to move to vmbr1. It is given the digest to approve.
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

// wantOrder fails the test unless the approval of a digest is the only order and has come this far.
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

// TestApprovalIsSpentWhenTheOutcomeIsUnknown loses the reply to an approved change, which took effect. When somebody undoes
// the change by hand later, the old approval does not bring it back.
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
			t.Errorf("got %d writes and the guest moved %t, want one approval to be worth one write", got, l.moved())
		}
	})
}

// TestApprovalIsSpentByAFailure has the approved task fail for good. One approval is worth one attempt.
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

// TestApprovalStaysAfterARejectedCall has somebody edit the guest just before the approved call, which Proxmox refuses therefore. The
// approval is still good for the next one.
func TestApprovalStaysAfterARejectedCall(t *testing.T) {
	runLabWithHeldMove(t, nil, func(t *testing.T, l *lab, p *probe, digest string) {
		l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/qemu/201/config$", Kind: pvesim.EditBefore, Key: "onboot", Value: "1"}))
		l.approve(digest)
		eventually(t, "the approved change", l.moved)
		l.converge()
		if got := p.count(cluster.OpConfig, 201); got != 3 {
			t.Errorf("got %d writes, want 3: the first configuration, an attempt in vain and another one", got)
		}
		l.wantOrder(digest, journal.OrderRun)
	})
}

// TestOrdersExpire asks for two approvals and gives one of them a week too early.
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
