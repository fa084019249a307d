package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

const firstWeb = 1001 // vmid of web-1

// fleet is the guests of a rollout in a lab.
type fleet struct {
	*lab
	size  int
	sick  atomic.Int64 // the number of the guest whose guest agent does not answer; 0 for none
	stops func()
}

// runLabWithFleet runs a test with n running machines of one class, which the agent has adopted. Rollout is the text of its rollout.
func runLabWithFleet(t *testing.T, n int, rollout string, test func(t *testing.T, f *fleet)) {
	t.Helper()
	runLab(t, nil, func(t *testing.T, l *lab) {
		f := startFleet(l, n, rollout)
		defer func() { f.stops() }()
		test(t, f)
	})
}

// startFleet starts an agent that adopts n running machines.
func startFleet(l *lab, n int, rollout string) *fleet {
	l.Helper()
	f := &fleet{lab: l, size: n}
	l.opts.Parallel, l.opts.Health.Ping = 32, f.ping
	l.trustOtto()
	for i := 1; i <= n; i++ {
		_, err := l.sim.AddVM(pvesim.Guest{VMID: firstWeb + i - 1, Running: true, Config: fmt.Sprintf("name: web-%d\nmemory: 1024\nagent: 1\n", i)})
		l.ok(err)
		l.files[fmt.Sprintf("web-%03d.yaml", i)] = fmt.Sprintf("apiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: web-%d}\nspec: {vmid: %d, class: web}\n", i, firstWeb+i-1)
	}
	f.class("1Gi", rollout)
	l.push("a fleet", alice)
	f.stops = l.start()
	l.converge()
	return f
}

// class writes the class of all machines.
func (f *fleet) class(memory, rollout string) {
	f.files["class.yaml"] = "apiVersion: proxmox.gitops/v1alpha1\nkind: GuestClass\nmetadata: {name: web}\nspec:\n" + rollout +
		"  virtualMachine: {adopt: ifUnmanaged, state: running, agent: {enabled: true}, health: {agent: true}, lifecycle: {rebootPolicy: auto}, memory: {size: " + memory + "}}\n"
}

// ping answers for the guest agents.
func (f *fleet) ping(_ context.Context, row cluster.Row) error {
	if int64(row.VMID-firstWeb+1) == f.sick.Load() {
		return errors.New("QEMU guest agent is not running")
	}
	return nil
}

// restart ends the agent and starts it again on its state directory.
func (f *fleet) restart() {
	f.stops()
	f.stops = f.start()
}

// changed returns the numbers of the machines that were given 2 GiB of memory and restarted.
func (f *fleet) changed() (list []int) {
	for i := 1; i <= f.size; i++ {
		if f.sim.Value(firstWeb+i-1, "memory") == "2048" && f.sim.Effects(firstWeb+i-1, pvesim.Stopped) > 0 {
			list = append(list, i)
		}
	}
	return list
}

// rollout returns the report of the rollout, the zero value if there is none.
func (f *fleet) rollout() report.Rollout {
	for _, r := range f.engine.Report().Rollouts {
		return r
	}
	return report.Rollout{}
}

func (f *fleet) waitForRollout(state journal.RolloutState, batch int) report.Rollout {
	f.Helper()
	eventually(f.lab, fmt.Sprintf("batch %d %s", batch, state), func() bool { return f.rollout().State == state && f.rollout().Batch == batch })
	return f.rollout()
}

func upTo(n int) []int {
	return slices.Collect(func(yield func(int) bool) {
		for i := 1; i <= n && yield(i); i++ {
		}
	})
}

const tenth = "  rollout: {canary: 1, maxUnavailable: 10%, failAfter: 5m}\n"

// TestRolloutOfAClass changes the memory of 100 machines by their class. A machine of the third batch does not become healthy: the machines of three batches
// were changed and no other one, and an order continues. The agent is ended and started again in every batch.
func TestRolloutOfAClass(t *testing.T) {
	runLabWithFleet(t, 100, tenth, func(t *testing.T, f *fleet) {
		f.sick.Store(15)
		f.class("2Gi", tenth)
		revision := f.push("more memory", alice)
		seen, began := map[int]bool{}, time.Now()
		follow := func(until journal.RolloutState) {
			for f.rollout().State != until && !t.Failed() {
				if time.Sleep(50 * time.Millisecond); time.Since(began) > 2*time.Hour {
					t.Fatalf("got %+v, want it to be %s", f.rollout(), until)
				}
				if r := f.rollout(); r.State == journal.RolloutRunning && !seen[r.Batch] {
					seen[r.Batch] = true
					f.restart()
				}
			}
		}
		follow(journal.RolloutFailed)
		r := f.rollout()
		if r.Batch != 3 || r.Batches != 11 || r.Withheld != 79 || r.Revision != revision || !slices.Equal(r.Failed, []string{"VirtualMachine/web-15"}) {
			t.Errorf("got %+v, want the third batch failed", r)
		}
		if !strings.Contains(r.Why, "VirtualMachine/web-15: guest agent: QEMU guest agent is not running") || !strings.Contains(r.Hint, "promote Rollout/web revision="+revision) {
			t.Errorf("got %q, %q, want the reason and what continues", r.Why, r.Hint)
		}
		time.Sleep(30 * time.Minute)
		f.restart()
		time.Sleep(time.Minute)
		if got := f.changed(); !slices.Equal(got, upTo(21)) {
			t.Errorf("got %v changed, want the machines of three batches", got)
		}
		held := f.guest(f.engine.Report(), firstWeb+50)
		if f.engine.Report().Converged || held.Sync != report.Synced || len(held.Held) != 1 || held.Held[0].Reason != reason.Rollout {
			t.Errorf("got %+v, want a machine that is held", held)
		}
		f.cure(reason.PromoteFailed, f.saysOfBatch(3), func(values []string) {
			f.sick.Store(0)
			f.orderPrinted(values[0])
		})
		follow(journal.RolloutDone)
		f.converge()
		if got := f.changed(); !slices.Equal(got, upTo(100)) {
			t.Errorf("got %d machines changed, want all", len(got))
		}
		for i := range 100 {
			if got := f.sim.Effects(firstWeb+i, pvesim.Stopped); got != 1 {
				t.Errorf("web-%d: got %d restarts, want one", i+1, got)
			}
		}
		if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, upTo(11)) {
			t.Errorf("got restarts of the agent in the batches %v, want all", got)
		}
	})
}

// TestRolloutHoldsWhatWasReleased: a machine that waits is repaired to the memory that it had, a change that interrupts nothing reaches the others at once,
// another revision begins again with the machine that failed, and orders about the earlier one are refused.
func TestRolloutHoldsWhatWasReleased(t *testing.T) {
	runLabWithFleet(t, 8, tenth, func(t *testing.T, f *fleet) {
		f.sick.Store(1)
		f.class("2Gi", tenth)
		first := f.push("more memory", alice)
		f.waitForRollout(journal.RolloutFailed, 1)
		f.ok(f.sim.Edit(firstWeb+4, "memory", "4096"))
		eventually(f.lab, "the repair", func() bool { return f.sim.Value(firstWeb+4, "memory") == "1024" })
		f.files["web-008.yaml"] = strings.Replace(f.files["web-008.yaml"], "class: web", "class: web, description: new", 1)
		f.push("a description", alice)
		time.Sleep(2 * time.Minute)
		if got := f.rollout(); got.State != journal.RolloutFailed || got.Revision != first || f.sim.Value(firstWeb+7, "description") != "" {
			t.Errorf("got %+v, want the rollout as it was, and nothing of the revision in a guest that waits", got)
		}
		f.files["new.yaml"] = strings.NewReplacer("web-1", "web-9", "1001", "1009").Replace(f.files["web-001.yaml"])
		_, err := f.sim.AddVM(pvesim.Guest{VMID: 1009, Running: true, Config: "name: web-9\nmemory: 1024\nagent: 1\n"})
		f.ok(err)
		f.push("a new machine", alice)
		eventually(f.lab, "the new machine to have the newest memory", func() bool { return f.sim.Value(1009, "memory") == "2048" })
		f.class("3Gi", tenth)
		f.sick.Store(0)
		second := f.push("still more memory", alice)
		f.waitForAcceptance(second)
		f.order("abort Rollout/web revision=" + first)
		if o := f.orderOf("abort Rollout/web revision=" + first); o.State != journal.OrderRefused || !strings.Contains(o.Why, "has the revision "+second) {
			t.Errorf("got %s, %q, want an order about another revision refused", o.State, o.Why)
		}
		f.converge()
		for i := range 9 {
			if got := f.sim.Value(firstWeb+i, "memory"); got != "3072" {
				t.Errorf("web-%d: got %s MiB, want 3072", i+1, got)
			}
		}
		if got := f.sim.Effects(firstWeb+7, pvesim.Stopped); got != 1 {
			t.Errorf("got %d restarts of a guest that waited, want one", got)
		}
	})
}

// TestRolloutIsAborted: the guests that wait stay as they are, and a revert begins at the canary.
func TestRolloutIsAborted(t *testing.T) {
	approval := strings.Replace(tenth, "canary: 1", "canary: 2, pause: approval", 1)
	runLabWithFleet(t, 5, approval, func(t *testing.T, f *fleet) {
		f.class("2Gi", approval)
		first := f.push("more memory", alice)
		if r := f.waitForRollout(journal.RolloutPaused, 1); !strings.Contains(r.Hint, "abort Rollout/web") {
			t.Errorf("got %q, want what ends it", r.Hint)
		}
		f.cure(reason.PromotePaused, f.saysOfBatch(1), func(values []string) { f.orderPrinted(values[0]) })
		f.waitForRollout(journal.RolloutPaused, 2)
		f.order("abort Rollout/web revision=" + first)
		f.waitForRollout(journal.RolloutAborted, 2)
		f.order("promote Rollout/web revision=" + first)
		if o := f.orderOf("promote Rollout/web revision=" + first); o.State != journal.OrderRun && o.State != journal.OrderRefused {
			t.Errorf("got the order %s", o.State)
		}
		time.Sleep(10 * time.Minute)
		if got := f.changed(); !slices.Equal(got, []int{1, 2, 3}) {
			t.Errorf("got %v changed, want the first two batches", got)
		}
		f.class("1Gi", approval)
		second := f.push("a revert", alice)
		if r := f.waitForRollout(journal.RolloutPaused, 1); r.Revision != second || r.Guests != 3 {
			t.Errorf("got %+v, want the changed guests alone to be reverted", r)
		}
	})
}

// TestRolloutOfDestroys: machines whose manifests are removed are destroyed batch by batch, although their manifests allowed it without an approval.
func TestRolloutOfDestroys(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["cluster.yaml"] = strings.Replace(clusterYAML, "spec:\n", "spec:\n  guards: {maxDestroysPerDay: 10}\n  rollouts: {web: {select: {labels: {tier: web}}, pause: approval}}\n", 1)
		for i := range 3 {
			manifest := vmYAML(fmt.Sprintf("web-%d", i+1), 201+i, "lifecycle: {destroy: allow}")
			l.files[fmt.Sprintf("web%d.yaml", i)] = strings.Replace(manifest, "}\nspec", ", labels: {tier: web}}\nspec", 1)
		}
		l.push("machines", alice)
		defer l.start()()
		l.converge()
		delete(l.files, "web0.yaml")
		delete(l.files, "web1.yaml")
		delete(l.files, "web2.yaml")
		l.files["db.yaml"] = vmYAML("db-1", 210)
		l.push("remove them", alice)
		eventually(l, "the first destroy", func() bool { return l.destroyed(201) })
		time.Sleep(10 * time.Minute)
		if l.destroyed(202) || l.destroyed(203) {
			t.Error("got machines destroyed that the rollout holds")
		}
		if held := l.heldStep(202); held.Reason != reason.Rollout || held.Op != cluster.OpDestroy {
			t.Errorf("got %+v, want the destroy held", held)
		}
	})
}

// TestRolloutAfterLostState: guests that are claimed again are held as they are until an order.
func TestRolloutAfterLostState(t *testing.T) {
	runLabWithFleet(t, 4, tenth, func(t *testing.T, f *fleet) {
		f.stops()
		f.loseState()
		f.class("2Gi", tenth)
		revision := f.push("more memory", alice)
		f.stops = f.start()
		f.waitForAcceptance(revision)
		var digest string
		eventually(f.lab, "the digest of the claims", func() bool {
			if found := f.engine.Report().Recovery; found != nil {
				digest = found.Digest
			}
			return digest != ""
		})
		f.approve(digest)
		r := f.waitForRollout(journal.RolloutHeld, 1)
		time.Sleep(10 * time.Minute)
		if got := f.changed(); len(got) > 0 || r.Guests != 4 {
			t.Errorf("got %v changed of %+v, want all guests held", got, r)
		}
		f.cure(reason.PromoteHeld, f.saysOfBatch(1), func(values []string) { f.orderPrinted(values[0]) })
		f.converge()
		if got := f.changed(); !slices.Equal(got, upTo(4)) {
			t.Errorf("got %v changed, want all", got)
		}
	})
}

// TestRolloutIsAGuard: who removes the rollout in the same push as the change does not get around it.
func TestRolloutIsAGuard(t *testing.T) {
	approval := strings.Replace(tenth, "canary: 1", "canary: 1, pause: approval", 1)
	runLabWithFleet(t, 3, approval, func(t *testing.T, f *fleet) {
		f.class("2Gi", "")
		f.push("more memory, at once", alice)
		f.waitForRollout(journal.RolloutPaused, 1)
		digest := f.waitForHeldGuard(firstWeb, "rollout: web canary=1 maxUnavailable=10% pause=approval failAfter=5m0s -> none")
		time.Sleep(5 * time.Minute)
		if got := f.changed(); !slices.Equal(got, []int{1}) {
			t.Errorf("got %v changed, want the canary", got)
		}
		f.approve(digest)
		f.converge()
		if got := f.changed(); !slices.Equal(got, upTo(3)) || len(f.engine.Report().Rollouts) > 0 {
			t.Errorf("got %v changed and %v, want all without a rollout", got, f.engine.Report().Rollouts)
		}
	})
}

// lifeOfRollouts has a batch that fails, an order that ends the rollout, and a loss of state.
func lifeOfRollouts(_ *testing.T, l *lab, _ *eventLog) {
	f := startFleet(l, 2, tenth)
	f.sick.Store(1)
	f.class("2Gi", tenth)
	revision := f.push("more memory", alice)
	f.waitForRollout(journal.RolloutFailed, 1)
	f.order("abort Rollout/web revision=" + revision)
	f.waitForRollout(journal.RolloutAborted, 1)
	f.stops()
	f.loseState()
	f.push("another commit", alice)
	f.stops = f.start()
	eventually(f.lab, "the claims", func() bool { return f.engine.Report().Recovery != nil && f.engine.Report().Recovery.Digest != "" })
	f.approve(f.engine.Report().Recovery.Digest)
	f.waitForRollout(journal.RolloutHeld, 1)
	f.stops()
}
