package reconcile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
)

// walled writes the class of all machines with a firewall that admits connections to some ports.
func (f *fleet) walled(memory, rollout string, guarded bool, ports ...int) {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: proxmox.gitops/v1alpha1\nkind: GuestClass\nmetadata: {name: web}\nspec:\n%s  virtualMachine:\n    adopt: ifUnmanaged\n    state: running\n    agent: {enabled: true}\n"+
		"    health: {agent: true}\n    lifecycle: {rebootPolicy: auto}\n    memory: {size: %s}\n    firewall:\n      guarded: %t\n      enable: true\n      rules:\n", rollout, memory, guarded)
	for _, port := range ports {
		fmt.Fprintf(&b, "        - {type: in, action: ACCEPT, protocol: tcp, port: %d}\n", port)
	}
	f.files["class.yaml"] = b.String()
}

// admitting returns the numbers of the machines whose firewalls admit connections to port 443.
func (f *fleet) admitting() (list []int) {
	f.Helper()
	for i := 1; i <= f.size; i++ {
		seen, err := f.cluster.Firewall(f.Context(), cluster.Row{Kind: guest.VirtualMachine, Node: "pve1", VMID: firstWeb + i - 1}, true)
		f.ok(err)
		if slices.ContainsFunc(seen.Rules, func(r guest.FirewallRule) bool { return r.Enabled && r.DestPort == "443" }) {
			list = append(list, i)
		}
	}
	return list
}

func (f *fleet) wantAdmitting(when string, want []int) {
	f.Helper()
	if got := f.admitting(); !slices.Equal(got, want) {
		f.Errorf("%s: got port 443 open in %v, want it in %v", when, got, want)
	}
}

const (
	byOrder     = "  rollout: {canary: 1, maxUnavailable: 1, pause: approval}\n"
	byOrderLive = "  rollout: {canary: 1, maxUnavailable: 1, pause: approval, live: true}\n"
)

// TestRolloutOpensGuardedFirewalls opens a port of guarded firewalls by a class, with a rollout that holds every change and with one that has more memory to roll
// out. Nothing is opened before the approval, which the batch waits for, and then batch by batch.
func TestRolloutOpensGuardedFirewalls(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ rollout, memory string }{"live": {byOrderLive, "1Gi"}, "with_memory": {byOrder, "2Gi"}} {
		t.Run(name, func(t *testing.T) {
			runLabWithFleet(t, 3, test.rollout, func(t *testing.T, f *fleet) {
				f.walled("1Gi", test.rollout, true, 80)
				f.push("guarded firewalls", alice)
				f.promoteAll()
				f.converge()
				f.walled(test.memory, test.rollout, true, 80, 443)
				revision := f.push("open a port", alice)
				f.waitForAcceptance(revision)
				digest := f.waitForHeldGuard(firstWeb, "port 443")
				time.Sleep(12 * time.Minute)
				f.wantAdmitting("before the approval", nil)
				if r := f.rollout(); r.State != journal.RolloutRunning || r.Batch != 1 || r.Revision != revision || !strings.Contains(r.Why, "approval") {
					t.Errorf("got %+v, want the first batch to wait for the approval", r)
				}
				if held := f.guest(f.engine.Report(), firstWeb+2).Held; len(held) == 0 || held[len(held)-1].Reason != reason.Rollout {
					t.Errorf("got %+v, want a machine that its rollout holds", held)
				}
				f.approve(digest)
				f.waitForRollout(journal.RolloutPaused, 1)
				time.Sleep(12 * time.Minute)
				f.wantAdmitting("after the first batch", []int{1})
				f.restart()
				time.Sleep(12 * time.Minute)
				f.wantAdmitting("after a restart of the agent", []int{1})
				f.promoteAll()
				f.converge()
				f.wantAdmitting("at the end", upTo(3))
			})
		})
	}
}

// TestRolloutClosesGuardedFirewalls closes a port: a guard is in effect at once, also for machines that a rollout holds. A firewall that is not guarded waits for
// its turn.
func TestRolloutClosesGuardedFirewalls(t *testing.T) {
	t.Parallel()
	for name, guarded := range map[string]bool{"guarded": true, "not_guarded": false} {
		t.Run(name, func(t *testing.T) {
			runLabWithFleet(t, 3, byOrderLive, func(t *testing.T, f *fleet) {
				f.walled("1Gi", byOrderLive, guarded, 80, 443)
				f.push("firewalls", alice)
				f.promoteAll()
				f.converge()
				f.walled("1Gi", byOrderLive, guarded, 80)
				f.waitForAcceptance(f.push("close a port", alice))
				f.waitForRollout(journal.RolloutPaused, 1)
				time.Sleep(12 * time.Minute)
				want := []int{2, 3}
				if guarded {
					want = nil
				}
				f.wantAdmitting("after the first batch", want)
				f.promoteAll()
				f.converge()
				f.wantAdmitting("at the end", nil)
			})
		})
	}
}

// promoteAll continues a rollout at each pause until it is done.
func (f *fleet) promoteAll() {
	f.Helper()
	f.waitForAcceptance(f.repo.Tip)
	for batch := 0; f.rollout().State != journal.RolloutDone && f.rollout().State != ""; {
		eventually(f.lab, "the next pause, or the end", func() bool {
			r := f.rollout()
			return r.State == journal.RolloutPaused && r.Batch > batch || r.State == journal.RolloutDone
		})
		if r := f.rollout(); r.State == journal.RolloutPaused {
			batch = r.Batch
			f.order("promote Rollout/web revision=" + r.Revision)
		}
	}
}

// TestRolloutAndAGuardedGroup adds a port to a security group that guarded firewalls use, and rolls out more memory by the same commit. A group belongs to no rollout: its change waits for its
// approval, and then counts for all machines at once. The rollout waits for neither.
func TestRolloutAndAGuardedGroup(t *testing.T) {
	group := "apiVersion: proxmox.gitops/v1alpha1\nkind: SecurityGroup\nmetadata: {name: web}\nspec:\n  rules:\n    - {type: in, action: ACCEPT, protocol: tcp, port: 80}\n"
	runLabWithFleet(t, 3, byOrder, func(t *testing.T, f *fleet) {
		f.grant("Sys.Modify")
		class := func(memory string) {
			f.walled(memory, byOrder, true)
			f.files["class.yaml"] += "        - {group: web}\n"
		}
		admits := func() bool {
			_, rules, _ := f.sim.Group("web")
			return slices.ContainsFunc(rules, func(r map[string]string) bool { return r["dport"] == "443" && r["enable"] == "1" })
		}
		f.files["group.yaml"] = group
		class("1Gi")
		f.push("a group", alice)
		f.converge()

		f.files["group.yaml"] = group + "    - {type: in, action: ACCEPT, protocol: tcp, port: 443}\n"
		class("2Gi")
		f.push("a port of the group, and more memory", alice)
		f.waitForRollout(journal.RolloutPaused, 1)
		time.Sleep(12 * time.Minute)
		held := f.object("SecurityGroup/web").Held
		if len(held) != 1 || held[0].Reason != reason.Guard || !strings.Contains(held[0].Message, "VirtualMachine/web-3") || admits() {
			t.Fatalf("got %+v, want the group held for all machines, also for those that the rollout holds", held)
		}
		f.approve(held[0].Digest)
		eventually(f.lab, "the port", admits)
		if got := f.changed(); !slices.Equal(got, []int{1}) || f.rollout().State != journal.RolloutPaused {
			t.Errorf("got %v with more memory and %+v, want the rollout as it was", got, f.rollout())
		}
		f.promoteAll()
		f.converge()
	})
}
