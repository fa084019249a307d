package reconcile_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// TestOneLineWeakensManyGuests weakens a guard of two guests by one line of a class, together with another change. The other change applies at once.
// Both guests show one step with one digest; two approvals release it for both, and are used up. An approval of the line before it was changed again
// has no effect.
func TestOneLineWeakensManyGuests(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.trustApprovers()
		class := func(destroy, memory string) string {
			return classYAML + "    memory: {size: " + memory + "}\n    lifecycle: {destroy: " + destroy + "}\n"
		}
		l.files["cluster.yaml"] = clusterWith("guards: {approvals: 2}")
		l.files["web.yaml"], l.files["db.yaml"] = vmYAML("web-1", 201, "class: [kept]"), vmYAML("db-1", 202, "class: [kept]")
		l.files["class.yaml"] = class("deny", "1Gi")
		l.push("two guests", alice)
		defer l.start()()
		l.converge()
		l.files["class.yaml"] = class("approve", "2Gi")
		l.push("one line", alice)
		first := l.waitForHeldGuard(201, "lifecycle.destroy: deny -> approve (class.yaml:", "together with VirtualMachine/db-1 (202)")
		if second := l.waitForHeldGuard(202, "together with VirtualMachine/web-1 (201)"); second != first {
			t.Errorf("got digests %s and %s, want one for both guests", first, second)
		}
		l.converge()
		if l.sim.Value(201, "memory") != "2048" || l.sim.Value(202, "memory") != "2048" {
			t.Error("got the other change held, want it applied")
		}
		l.files["class.yaml"] = class("allow", "2Gi")
		l.waitForAcceptance(l.push("weaker still", alice))
		l.push(approve(first), olga)
		l.waitForAcceptance(l.push(approve(first), pia))
		digest := l.waitForHeldGuard(201, "deny -> allow", "0 of 2 approvals")
		l.push(approve(digest), olga)
		l.waitForAcceptance(l.push(approve(digest), pia))
		eventually(l, "no held guard", func() bool { return len(l.heldGuards(201))+len(l.heldGuards(202)) == 0 })
		state, used := l.journal.State(), 0
		for _, o := range state.Orders {
			if strings.HasSuffix(o.Order, digest) && o.State == journal.OrderRun {
				used++
			}
		}
		if state.Guarded[201].Destroy != "allow" || state.Guarded[202].Destroy != "allow" || used != 2 {
			t.Errorf("got guards %+v with %d approvals used up, want allow for both guests and two approvals", state.Guarded, used)
		}
	})
}

// TestRevertedWeakeningIsDropped reverts the line that weakens a guard, with one of two approvals given. The step is gone, and its approval ends: who asks
// for the same again needs two new ones. A stronger guard takes effect at once.
func TestRevertedWeakeningIsDropped(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.trustApprovers()
		l.files["cluster.yaml"], l.files["keep.yaml"] = clusterWith("guards: {approvals: 2}"), vmYAML("keep-1", 209)
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.files["web.yaml"] = vmYAML("web-1", 201, "lifecycle: {destroy: allow}")
		l.waitForAcceptance(l.push("weaker", alice))
		digest := l.waitForHeldGuard(201)
		l.waitForAcceptance(l.push(approve(digest), olga))
		l.waitForHeldGuard(201, "1 of 2 approvals")
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.waitForAcceptance(l.push("as before", alice))
		eventually(l, "no held guard", func() bool { return len(l.heldGuards(201)) == 0 })
		l.files["web.yaml"] = vmYAML("web-1", 201, "lifecycle: {destroy: allow}")
		l.waitForAcceptance(l.push("weaker again", alice))
		if again := l.waitForHeldGuard(201, "0 of 2 approvals"); again != digest {
			t.Errorf("got digest %s, want %s, whose approval has ended", again, digest)
		}
		l.files["web.yaml"] = vmYAML("web-1", 201, "lifecycle: {destroy: deny}")
		l.waitForAcceptance(l.push("stronger", alice))
		eventually(l, "no held guard", func() bool { return len(l.heldGuards(201)) == 0 })
		l.waitForAcceptance(l.push(approve(digest), olga))
		delete(l.files, "web.yaml")
		l.waitForAcceptance(l.push("remove it", alice))
		l.waitForHold(201, reason.ManifestForbids)
		if got := l.journal.State().Guarded[201].Destroy; got != "deny" {
			t.Errorf("got %s in force, want deny", got)
		}
	})
}

// TestIncidentApprovalOfARevertedWeakeningCountsAgain approves a weakening that is then no longer asked for: it is reverted while the agent is stopped, or it
// was approved once more than needed before the guard became stronger again. Who asks for the same weakening later needs new approvals.
func TestIncidentApprovalOfARevertedWeakeningCountsAgain(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		approvals, want string
		between         func(l *lab, digest string, restart func(while func()))
	}{
		"reverted_while_stopped": {"2", "0 of 2 approvals", func(l *lab, digest string, restart func(func())) {
			l.waitForAcceptance(l.push(approve(digest), olga))
			l.waitForHeldGuard(201, "1 of 2 approvals")
			restart(func() {
				l.files["web.yaml"] = vmYAML("web-1", 201)
				l.push("as before", alice)
			})
		}},
		"approved_and_reverted_while_stopped": {"2", "0 of 2 approvals", func(l *lab, digest string, restart func(func())) {
			restart(func() {
				l.push(approve(digest), olga)
				l.files["web.yaml"] = vmYAML("web-1", 201)
				l.push("as before", alice)
			})
		}},
		"approved_too_often": {"1", "0 of 1 approvals", func(l *lab, digest string, _ func(func())) {
			l.waitForAcceptance(l.push(approve(digest), olga))
			eventually(l, "the weaker guard", func() bool { return l.journal.State().Guarded[201].Destroy == "allow" })
			l.waitForAcceptance(l.push(approve(digest), pia))
			l.files["web.yaml"] = vmYAML("web-1", 201)
			l.push("as before", alice)
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.trustApprovers()
				l.files["cluster.yaml"], l.files["keep.yaml"] = clusterWith("guards: {approvals: "+test.approvals+"}"), vmYAML("keep-1", 209)
				l.files["web.yaml"] = vmYAML("web-1", 201)
				l.push("one guest", alice)
				stop := l.start()
				defer func() { stop() }()
				l.converge()
				l.files["web.yaml"] = vmYAML("web-1", 201, "lifecycle: {destroy: allow}")
				l.waitForAcceptance(l.push("weaker", alice))
				digest := l.waitForHeldGuard(201)
				test.between(l, digest, func(while func()) {
					stop()
					while()
					stop = l.start()
				})
				eventually(l, "the stronger guard without a held step", func() bool {
					return l.journal.State().Guarded[201].Destroy == "approve" && len(l.heldGuards(201)) == 0
				})
				time.Sleep(time.Minute)
				l.files["web.yaml"] = vmYAML("web-1", 201, "lifecycle: {destroy: allow}")
				l.waitForAcceptance(l.push("weaker again", alice))
				if again := l.waitForHeldGuard(201, test.want); again != digest {
					t.Errorf("got digest %s, want %s, whose approval has ended", again, digest)
				}
			})
		})
	}
}

// TestProtectionNeedsOneApproval lifts the protection of two guests by one line. One approval releases the weaker guard and the calls that lift the
// flags. Somebody sets the flag again: to lift it again needs another approval.
func TestProtectionNeedsOneApproval(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		class := func(protection string) string { return classYAML + "    lifecycle: {protection: " + protection + "}\n" }
		l.files["web.yaml"], l.files["db.yaml"] = vmYAML("web-1", 201, "class: [kept]"), vmYAML("db-1", 202, "class: [kept]")
		l.files["class.yaml"] = class("true")
		l.push("two guests", alice)
		defer l.start()()
		l.converge()
		l.files["class.yaml"] = class("false")
		l.waitForAcceptance(l.push("unprotected", alice))
		digest := l.waitForHeldGuard(201, "lifecycle.protection: on -> off")
		time.Sleep(10 * time.Minute)
		if l.sim.Value(201, "protection") != "1" || l.sim.Value(202, "protection") != "1" {
			t.Fatal("got the protection lifted without an approval")
		}
		l.approve(digest)
		off := func(vmid int) bool { return l.sim.Value(vmid, "protection") != "1" }
		eventually(l, "both flags lifted", func() bool { return off(201) && off(202) })
		l.converge()
		l.ok(l.sim.Edit(201, "protection", "1"))
		l.waitForHold(201, reason.Approval)
	})
}

// TestIgnoredProtectionIsWeaker lists the protection under ignoreFields, so that the agent would no longer repair it. Until that is approved, it does.
func TestIgnoredProtectionIsWeaker(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "lifecycle: {protection: true}")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.files["web.yaml"] = vmYAML("web-1", 201, "lifecycle: {protection: true}", "ignoreFields: [lifecycle.protection]")
		l.waitForAcceptance(l.push("ignored", alice))
		l.waitForHeldGuard(201, "lifecycle.protection: on -> unmanaged (web.yaml:9:")
		l.ok(l.sim.Edit(201, "protection", ""))
		eventually(l, "the repair", func() bool { return l.sim.Value(201, "protection") == "1" })
	})
}

// TestMinimumOfTheHost approves weaker guards than the host's minimum allows: there is nothing to approve, and the minimum stays in effect.
func TestMinimumOfTheHost(t *testing.T) {
	none := 0
	minimum := func(o *reconcile.Options) {
		o.Minimum = guard.Minimum{Approvals: 2, MaxDestroysPerDay: &none, Destroy: guest.Approve, Recreate: guest.Approve, RebootPolicy: guest.RebootApprove}
	}
	runLab(t, []labOption{minimum}, func(t *testing.T, l *lab) {
		l.files["keep.yaml"] = vmYAML("keep-1", 209)
		l.files["web.yaml"] = vmYAML("web-1", 201, "lifecycle: {destroy: allow, recreate: allow, rebootPolicy: auto}")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		g := l.guest(l.engine.Report(), 201)
		if !hasCondition(g, plan.Warned, reason.NotAllowed) || len(g.Held) != 0 {
			t.Errorf("got conditions %+v and held %+v, want the minimum reported and nothing to approve", g.Conditions, g.Held)
		}
		if r := l.engine.Report().Guards; r.Approvals != 2 || r.MaxDestroysPerDay != 0 || len(r.Minimum) != 5 {
			t.Errorf("got %+v, want the minimum in effect", r)
		}
		delete(l.files, "web.yaml")
		l.waitForAcceptance(l.push("remove it", alice))
		l.waitForHold(201, reason.DestroyLimit)
		time.Sleep(10 * time.Minute)
		if l.destroyed(201) {
			t.Error("got the guest destroyed below the host's minimum")
		}
	})
}

// TestUpgradeHoldsNothing starts with records of an older release, which lack most guards, also of a guest whose manifest allows everything. The
// guards of the resumed revision are in force, and nothing is held.
func TestUpgradeHoldsNothing(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["cluster.yaml"] = clusterWith("guards: {approvals: 1, maxDestroysPerDay: 9}")
		l.files["web.yaml"] = vmYAML("web-1", 201, "lifecycle: {destroy: allow, recreate: allow, rebootPolicy: auto, forceStop: true, shutdownTimeout: 5s}")
		l.files["db.yaml"] = vmYAML("db-1", 202, "lifecycle: {destroy: allow}")
		l.push("two guests", alice)
		stop := l.start()
		l.converge()
		l.files["db.yaml"] = vmYAML("db-1", 202, "mode: observe", "lifecycle: {destroy: allow}")
		l.waitForAcceptance(l.push("observe it", alice))
		l.ok(l.journal.Append(t.Context(), // as an older release wrote them
			journal.Guarded{VMID: 201, Kind: "VirtualMachine", Name: "web-1", Destroy: "allow"},
			journal.Guarded{VMID: 202, Kind: "VirtualMachine", Name: "db-1", Destroy: "approve", Recreate: "allow"}))
		stop()
		defer l.start()()
		time.Sleep(10 * time.Minute)
		for _, vmid := range []int{201, 202, 0} {
			if held := l.heldGuards(vmid); len(held) > 0 {
				t.Errorf("got %+v held after an upgrade, want nothing", held)
			}
		}
		if g := l.journal.State().Guarded[201]; g.Rules.RebootPolicy != "auto" || g.Recreate != "allow" {
			t.Errorf("got %+v recorded, want the guards of the resumed revision", g)
		}
	})
}

// TestRelabelledGuestsKeepTheirGuards swaps the labels of two guests, so that each gets the manifest of the other one.
func TestRelabelledGuestsKeepTheirGuards(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"], l.files["db.yaml"] = vmYAML("web-1", 201, "lifecycle: {destroy: allow}"), vmYAML("db-1", 202, "lifecycle: {destroy: deny}")
		l.push("two guests", alice)
		defer l.start()()
		l.converge()
		l.files["web.yaml"], l.files["db.yaml"] = vmYAML("web-1", 202, "lifecycle: {destroy: allow}"), vmYAML("db-1", 201, "lifecycle: {destroy: deny}")
		l.waitForAcceptance(l.push("swapped", alice))
		l.waitForHeldGuard(202, "lifecycle.destroy: deny -> allow")
		if state := l.journal.State(); state.Guarded[202].Destroy != "deny" || state.Guarded[201].Destroy != "deny" {
			t.Errorf("got %+v, want deny for both", state.Guarded)
		}
	})
}

// TestPreviewShowsWeakenings plans manifests that are not accepted yet, against the guards in force.
func TestPreviewShowsWeakenings(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["cluster.yaml"] = clusterWith("guards: {approvals: 2}")
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		set, err := manifest.Parse([]manifest.File{
			{Path: "cluster.yaml", Data: []byte(clusterWith("guards: {approvals: 1}"))},
			{Path: "web.yaml", Data: []byte(vmYAML("web-1", 201, "lifecycle: {destroy: allow, rebootPolicy: auto}"))},
		})
		l.ok(err)
		p, err := reconcile.NewPreview(t.Context(), readAll(l.cluster), set, "", l.journal.State(), guard.Minimum{}, reconcile.PreviewPolicy{})
		l.ok(err)
		var got []string
		for _, s := range slices.Concat(p.Plan.Guards, p.Plan.Guests[0].Guards) {
			v := p.Gate.Judge(s)
			if !v.Held || v.Reason != reason.Guard || !strings.Contains(v.Message, "0 of 2 approvals") {
				t.Errorf("%s: got verdict %+v, want it held for two approvals", s.Reason, v)
			}
			got = append(got, s.Reason)
		}
		want := []string{"guards.approvals: 2 -> 1", "lifecycle.destroy: approve -> allow", "lifecycle.rebootPolicy: never -> auto"}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// TestWeakeningWaitsForADryRun approves a weaker guard before a run that writes nothing. The guard stays in force until a run that may write.
func TestWeakeningWaitsForADryRun(t *testing.T) {
	t.Parallel()
	l := newLab(t, newSim(t, pvesim.Options{}))
	l.files["cluster.yaml"] = clusterYAML
	l.files["web.yaml"] = vmYAML("web-1", 201)
	l.push("one guest", alice)
	l.once()
	l.files["web.yaml"] = vmYAML("web-1", 201, "lifecycle: {destroy: allow}")
	l.push("weaker", alice)
	r := l.once()
	digest := l.guest(r, 201).Held[0].Digest
	l.approve(digest)
	l.opts.DryRun = true
	l.once()
	l.opts.DryRun = false
	l.open()
	if got := l.journal.State().Guarded[201].Destroy; got != "approve" {
		t.Errorf("got %s in force after a dry run, want approve", got)
	}
	l.close()
	l.once()
	l.open()
	defer l.close()
	if got := l.journal.State().Guarded[201].Destroy; got != "allow" {
		t.Errorf("got %s in force, want allow as approved", got)
	}
}

// readAll reads the guests of a preview at once.
func readAll(reader cluster.Reader) reconcile.PreviewReader {
	return reconcile.PreviewReader{
		Guests: func(ctx context.Context, vmids, underHA []int, firewalls map[int]bool) (cluster.Snapshot, error) {
			return observe.ReadAll(ctx, reader, vmids, underHA, firewalls)
		},
		Guest: func(ctx context.Context, row cluster.Row, _ bool) (guest.Observed, error) {
			return observe.ReadGuest(ctx, reader, row, guest.Version{})
		},
		Files: func(ctx context.Context, places []cluster.FilePlace) map[cluster.FilePlace]cluster.Files {
			return observe.ReadFiles(ctx, reader, places)
		},
		Objects: func(ctx context.Context, reads map[guest.Kind][]string) map[guest.Kind]cluster.Objects {
			return observe.ReadObjects(ctx, reader, reads)
		},
	}
}
