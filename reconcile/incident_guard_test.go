package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

var pia = sigtest.Identity{Subject: "pia@lab.test", Issuer: "https://issuer.test"}

// trustApprovers trusts alice to change, and also to approve if she may; olga and pia approve.
func (l *lab) trustApprovers(others ...verify.Role) {
	l.Helper()
	l.trustSigners(aliceMay(others...), verify.Signer{Name: "olga", Issuer: olga.Issuer, Subject: olga.Subject, May: approveOnly},
		verify.Signer{Name: "pia", Issuer: pia.Issuer, Subject: pia.Subject, May: approveOnly})
}

// heldGuards returns the held weakenings of a guest; of the Cluster with vmid 0.
func (l *lab) heldGuards(vmid int) []report.HeldStep {
	l.Helper()
	var held []report.HeldStep
	r := l.engine.Report()
	for _, g := range r.Guests {
		if g.VMID == vmid {
			held = g.Held
		}
	}
	if vmid == 0 && r.Guards != nil {
		held = r.Guards.Held
	}
	var out []report.HeldStep
	for _, h := range held {
		if h.Reason == reason.Guard {
			out = append(out, h)
		}
	}
	return out
}

// waitForHeldGuard waits for the only held weakening of a guest whose message contains all words, and returns its digest.
func (l *lab) waitForHeldGuard(vmid int, words ...string) string {
	l.Helper()
	digest := ""
	eventually(l, "a held weakening: "+strings.Join(words, " "), func() bool {
		held := l.heldGuards(vmid)
		if len(held) != 1 {
			return false
		}
		for _, word := range words {
			if !strings.Contains(held[0].Message, word) {
				return false
			}
		}
		digest = held[0].Digest
		return digest != ""
	})
	return digest
}

const classYAML = "apiVersion: proxmox.gitops/v1alpha1\nkind: GuestClass\nmetadata: {name: kept}\nspec:\n  virtualMachine:\n"

// TestIncidentDestroyIsAllowedAndThenUsed weakens lifecycle.destroy in one push, in each place that can set it, and removes the manifest in the
// next one. The guest is destroyed only with the two approvals that the Cluster requires.
func TestIncidentDestroyIsAllowedAndThenUsed(t *testing.T) {
	t.Parallel()
	web := func(lines ...string) string { return vmYAML("web-1", 201, lines...) }
	two := "guards: {approvals: 2}"
	tests := map[string]struct {
		before, weaker map[string]string
	}{
		"manifest": {map[string]string{"web.yaml": web()}, map[string]string{"web.yaml": web("lifecycle: {destroy: allow}")}},
		"from_deny": {
			map[string]string{"web.yaml": web("lifecycle: {destroy: deny}")}, map[string]string{"web.yaml": web("lifecycle: {destroy: allow}")},
		},
		"line_removed": {map[string]string{"web.yaml": web("lifecycle: {destroy: deny}")}, map[string]string{"web.yaml": web()}},
		"class": {
			map[string]string{"web.yaml": web("class: [kept]"), "class.yaml": classYAML + "    lifecycle: {destroy: approve}\n"},
			map[string]string{"class.yaml": classYAML + "    lifecycle: {destroy: allow}\n"},
		},
		"defaults": {
			map[string]string{"web.yaml": web()},
			map[string]string{"cluster.yaml": clusterWith(two, "defaults: {virtualMachine: {lifecycle: {destroy: allow}}}")},
		},
		"relabelled": {
			map[string]string{"web.yaml": web()}, map[string]string{"web.yaml": vmYAML("other-1", 201, "lifecycle: {destroy: allow}")},
		},
		"removed_and_restored": {
			map[string]string{"web.yaml": web("lifecycle: {destroy: deny}")}, map[string]string{"web.yaml": "", "between": "", "restored.yaml": web("lifecycle: {destroy: allow}")},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.rareTicks()
				l.trustApprovers()
				l.files["cluster.yaml"], l.files["keep.yaml"] = clusterWith(two), vmYAML("keep-1", 209)
				l.set(test.before)
				l.push("before", alice)
				defer l.start()()
				l.converge()
				if _, twice := test.weaker["between"]; twice {
					delete(l.files, "web.yaml")
					l.waitForAcceptance(l.push("removed", alice))
				}
				l.set(test.weaker)
				l.waitForAcceptance(l.push("weaker", alice))
				digest := l.waitForHeldGuard(201, "lifecycle.destroy")
				for _, file := range []string{"web.yaml", "restored.yaml"} {
					delete(l.files, file)
				}
				l.waitForAcceptance(l.push("removed at last", alice))
				time.Sleep(10 * time.Minute)
				if l.destroyed(201) {
					t.Fatal("got the guest destroyed with 0 of 2 approvals, want it to exist")
				}
				l.push(approve(digest), olga)
				l.waitForAcceptance(l.push(approve(digest), pia))
				time.Sleep(10 * time.Minute)
				if l.destroyed(201) {
					t.Fatal("got the guest destroyed by approvals of a weakening that no manifest asks for any more")
				}
			})
		})
	}
}

// set writes files; an empty text removes one.
func (l *lab) set(files map[string]string) {
	for name, text := range files {
		if l.files[name] = text; text == "" {
			delete(l.files, name)
		}
	}
}

// TestIncidentApprovalsAreLoweredWithTheApproval removes a guest under two required approvals, and lowers guards.approvals to one in the push that
// contains the only approval. Two people are needed as before, for the destroy and for the lower number.
func TestIncidentApprovalsAreLoweredWithTheApproval(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.trustApprovers(verify.RoleApprove)
		defer l.start()()
		digest := l.holdDestroy("2")
		l.files["cluster.yaml"] = clusterWith("guards: {approvals: 1}")
		l.push("one is enough", alice)
		l.waitForAcceptance(l.push(approve(digest), alice))
		lower := l.waitForHeldGuard(0, "guards.approvals: 2 -> 1", "0 of 2 approvals")
		time.Sleep(10 * time.Minute)
		if l.destroyed(201) {
			t.Fatal("got the guest destroyed with 1 of 2 approvals, want it to exist")
		}
		l.waitForAcceptance(l.push(approve(lower), alice))
		time.Sleep(10 * time.Minute)
		if got := l.waitForHeldGuard(0, "1 of 2 approvals"); got != lower || l.destroyed(201) {
			t.Fatalf("got digest %s and the guest destroyed: %t, want %s and no destroy", got, l.destroyed(201), lower)
		}
		l.push(approve(lower), olga)
		eventually(l, "the destroy with one approval, as two people allowed", func() bool { return l.destroyed(201) })
		if g := l.engine.Report().Guards; g.Approvals != 1 {
			t.Errorf("got %d approvals required, want 1 as approved", g.Approvals)
		}
	})
}

// TestIncidentRestingGuestIsChanged ends mode: observe, or a suspension before its end, in the push that changes the guest. The agent changes nothing
// until one person has approved it. A suspension that has ended by itself needs nobody.
func TestIncidentRestingGuestIsChanged(t *testing.T) {
	t.Parallel()
	until := func(days int) string {
		return `suspend: {reason: forensics, author: alice, until: "` + time.Date(2000, 1, 1+days, 0, 0, 0, 0, time.UTC).Format(time.RFC3339) + `"}`
	}
	tests := map[string]struct {
		before, after string
		field         string
		ends          bool
	}{
		"observed":          {"mode: observe", "wave: 0", "mode: observe -> enforce", false},
		"suspended":         {"suspend: {reason: forensics, author: alice}", "wave: 0", "suspend: without end -> none", false},
		"suspended_until":   {until(3), "wave: 0", "suspend: until 2000-01-04T00:00:00Z -> none", false},
		"suspended_shorter": {until(3), until(-1), "suspend: until 2000-01-04T00:00:00Z -> until", false},
		"suspended_waits":   {until(1), "wave: 0", "suspend: until 2000-01-02T00:00:00Z -> none", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.rareTicks()
				l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 1Gi}")
				l.push("one guest", alice)
				defer l.start()()
				l.converge()
				l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 1Gi}", test.before)
				l.waitForAcceptance(l.push("leave it alone", alice))
				l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}", test.after)
				l.waitForAcceptance(l.push("do not", alice))
				digest := l.waitForHeldGuard(201, test.field)
				time.Sleep(10 * time.Minute)
				if got := l.sim.Value(201, "memory"); got != "1024" {
					t.Fatalf("got memory %s, want the guest left alone", got)
				}
				if test.ends {
					time.Sleep(25 * time.Hour)
				} else {
					l.cure(reason.EndOfGuard, l.saysOf("VirtualMachine/web-1"), func([]string) { l.approve(digest) })
				}
				eventually(l, "the change", func() bool { return l.sim.Value(201, "memory") == "2048" })
				l.converge()
				if held := l.heldGuards(201); len(held) > 0 {
					t.Errorf("got %+v held, want nothing", held)
				}
			})
		})
	}
}

// TestIncidentDestroyLimitIsRaised raises guards.maxDestroysPerDay in the push that removes the guests.
func TestIncidentDestroyLimitIsRaised(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["cluster.yaml"], l.files["keep.yaml"] = clusterWith("guards: {maxDestroysPerDay: 1}"), vmYAML("keep-1", 209)
		l.files["web.yaml"], l.files["db.yaml"] = vmYAML("web-1", 201, "lifecycle: {destroy: allow}"), vmYAML("db-1", 202, "lifecycle: {destroy: allow}")
		l.push("three guests", alice)
		defer l.start()()
		l.converge()
		l.set(map[string]string{"cluster.yaml": clusterWith("guards: {maxDestroysPerDay: 100}"), "web.yaml": "", "db.yaml": ""})
		l.waitForAcceptance(l.push("all of them", alice))
		digest := l.waitForHeldGuard(0, "guards.maxDestroysPerDay: 1 -> 100")
		time.Sleep(10 * time.Minute)
		if l.destroyed(201) && l.destroyed(202) {
			t.Fatal("got two guests destroyed in a day, want the limit of one in force")
		}
		l.approve(digest)
		eventually(l, "the second destroy", func() bool { return l.destroyed(201) && l.destroyed(202) })
	})
}

// TestIncidentAdoptedGuestBeginsUnguarded adopts a protected guest with a manifest that allows its destruction and lifts its protection.
func TestIncidentAdoptedGuestBeginsUnguarded(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		_, err := l.sim.AddVM(pvesim.Guest{VMID: 105, Config: "name: erp\nmemory: 1024\nprotection: 1\nscsi0: local-lvm:8\n"})
		l.ok(err)
		l.files["keep.yaml"] = vmYAML("keep-1", 209)
		l.files["erp.yaml"] = adoptedERP("adopt: ifUnmanaged", "lifecycle: {destroy: allow, protection: false}")
		l.push("adopt it", alice)
		defer l.start()()
		eventually(l, "two held guards", func() bool { return len(l.heldGuards(105)) == 2 })
		time.Sleep(10 * time.Minute)
		if got := l.sim.Value(105, "protection"); got != "1" {
			t.Errorf("got protection %q, want it as it was", got)
		}
		delete(l.files, "erp.yaml")
		l.waitForAcceptance(l.push("remove it", alice))
		l.waitForHold(105, reason.Approval)
		time.Sleep(10 * time.Minute)
		if l.destroyed(105) {
			t.Error("got the adopted guest destroyed without an approval, want it to exist")
		}
	})
}

// TestIncidentManifestIsRestoredForAGoneGuest removes the manifest of a guest, whose destroy is held. Somebody destroys the guest by hand, and the
// manifest is restored: under its vmid, without one, or under another one. The agent creates no empty guest without an approval.
func TestIncidentManifestIsRestoredForAGoneGuest(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		restored string
		vmid     int
	}{
		"same":         {blankYAML(), 201},
		"weaker":       {blankYAML("lifecycle: {recreate: allow}"), 201},
		"other_name":   {strings.Replace(blankYAML(), "name: web-1", "name: other-1", 1), 201},
		"other_vmid":   {strings.Replace(blankYAML("lifecycle: {recreate: allow}"), "vmid: 201", "vmid: 231", 1), 231},
		"without_vmid": {strings.Replace(blankYAML(), "  vmid: 201\n", "", 1), 200},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.rareTicks()
				l.files["keep.yaml"], l.files["web.yaml"] = vmYAML("keep-1", 209), blankYAML()
				l.push("two guests", alice)
				stop := l.start()
				defer func() { stop() }()
				l.converge()
				l.sim.ResetCounters()
				delete(l.files, "web.yaml")
				l.waitForAcceptance(l.push("remove it", alice))
				l.waitForHold(201, reason.Approval)
				l.removeByHand(201)
				eventually(l, "the end of the ownership", func() bool { _, owned := l.journal.State().Owned[201]; return !owned })
				stop()
				stop = l.start()
				l.files["web.yaml"] = test.restored
				l.waitForAcceptance(l.push("restore it", alice))
				l.waitForHold(test.vmid, reason.Approval)
				time.Sleep(30 * time.Minute)
				if got := l.creations(test.vmid); got != 0 {
					t.Fatalf("got %d creations without an approval, want none", got)
				}
				l.approve(l.heldStep(test.vmid).Digest)
				eventually(l, "the approved creation", func() bool { return l.creations(test.vmid) == 1 })
				l.converge()
				for vmid, g := range l.journal.State().Guarded {
					if g.Gone {
						t.Errorf("got guest %d still remembered as gone, want it forgotten after it was created again", vmid)
					}
				}
			})
		})
	}
}
