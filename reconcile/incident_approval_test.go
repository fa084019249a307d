package reconcile_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

var approveOnly = []verify.Role{verify.RoleApprove}

// aliceMay returns alice as a signer with the role change and others.
func aliceMay(others ...verify.Role) verify.Signer {
	return verify.Signer{Name: "alice", Issuer: alice.Issuer, Subject: alice.Subject, May: append([]verify.Role{verify.RoleChange}, others...)}
}

// clusterWith returns the Cluster manifest with more lines in its spec.
func clusterWith(lines ...string) string { return clusterYAML + indented(lines) }

// holdDestroy converges a guest, removes its manifest, and returns the digest of the destroy, which waits for approvals.
func (l *lab) holdDestroy(approvals string) (digest string) {
	l.Helper()
	l.files["cluster.yaml"] = clusterWith("guards: {approvals: " + approvals + "}")
	l.files["web.yaml"], l.files["db.yaml"] = vmYAML("web-1", 201), vmYAML("db-1", 202)
	l.push("two guests", alice)
	l.converge()
	delete(l.files, "web.yaml")
	l.push("one guest", alice)
	return l.digestOfHold(201)
}

// heldStep returns the first held step of a guest.
func (l *lab) heldStep(vmid int) report.HeldStep {
	l.Helper()
	for _, g := range l.engine.Report().Guests {
		if g.VMID == vmid && len(g.Held) > 0 {
			return g.Held[0]
		}
	}
	return report.HeldStep{}
}

func (l *lab) destroyed(vmid int) bool { return l.sim.Effects(vmid, pvesim.Destroyed) > 0 }

func approve(digest string) string { return "Approve\n\nGitops-Approve: " + digest + "\n" }

// TestIncidentOnePersonApprovesTwice lets one person approve a destroy twice that needs two people: under two issuers, under two spellings of the
// mail address, and under two addresses of one pattern. The approval of a second person releases the destroy.
func TestIncidentOnePersonApprovesTwice(t *testing.T) {
	t.Parallel()
	eve := sigtest.Identity{Subject: "eve@lab.test", Issuer: "https://issuer.test"}
	elsewhere := sigtest.Identity{Subject: "eve@lab.test", Issuer: "https://other.test"}
	spelled := sigtest.Identity{Subject: "EVE@lab.test", Issuer: "https://issuer.test"}
	tagged := sigtest.Identity{Subject: "eve+1@lab.test", Issuer: "https://issuer.test"}
	entry := func(who sigtest.Identity) verify.Signer {
		return verify.Signer{Name: "eve", Issuer: who.Issuer, Subject: who.Subject, May: approveOnly}
	}
	tests := map[string]struct {
		second  sigtest.Identity
		signers []verify.Signer
	}{
		"two_issuers":   {elsewhere, []verify.Signer{entry(eve), entry(elsewhere)}},
		"two_spellings": {spelled, []verify.Signer{entry(eve), entry(spelled)}},
		"one_pattern":   {tagged, []verify.Signer{{Name: "eve", Issuer: eve.Issuer, SubjectRegexp: `eve(\+\d)?@lab\.test`, May: approveOnly}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.trustSigners(append(test.signers, aliceMay(), verify.Signer{Name: "olga", Issuer: olga.Issuer, Subject: olga.Subject, May: approveOnly})...)
				defer l.start()()
				digest := l.holdDestroy("2")
				l.push(approve(digest), eve)
				l.push(approve(digest), test.second)
				eventually(l, "both approvals", func() bool { return len(l.journal.State().Orders) == 2 })
				eventually(l, "the uncounted approval", func() bool { return len(l.heldStep(201).Uncounted) == 1 })
				if h := l.heldStep(201); h.Uncounted[0].Reason != gate.UncountedDuplicate || !strings.Contains(h.Message, "1 of 2 approvals") {
					t.Errorf("got %q and %+v, want one approval that counts and one of the same person", h.Message, h.Uncounted)
				}
				time.Sleep(10 * time.Minute)
				if l.destroyed(201) {
					t.Fatal("got the guest destroyed with the approvals of one person, want it to exist")
				}
				l.push(approve(digest), olga)
				eventually(l, "the destroy", func() bool { return l.destroyed(201) })
			})
		})
	}
}

// TestIncidentApprovalsOfAnOlderReleaseCountOnePersonTwice starts with approvals that an older release journaled without the names of the signers.
// The agent finds the names in the policy. Identities that the policy no longer contains may all be one person.
func TestIncidentApprovalsOfAnOlderReleaseCountOnePersonTwice(t *testing.T) {
	t.Parallel()
	order := func(key, subject string, digest string) journal.Ordered {
		return journal.Ordered{
			Key: key, Order: gate.ApprovePrefix + digest, Subject: subject, Issuer: "https://issuer.test", ProvenTime: time.Now(), State: journal.OrderSeen,
		}
	}
	tests := map[string]struct {
		subjects [2]string
		released bool
	}{
		"two_people":      {[2]string{"olga@lab.test", "pia@lab.test"}, true},
		"one_person":      {[2]string{"olga@lab.test", "OLGA@lab.test"}, false},
		"gone_identities": {[2]string{"gone@lab.test", "lost@lab.test"}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				signer := func(name, subject string) verify.Signer {
					return verify.Signer{Name: name, Issuer: "https://issuer.test", Subject: subject, May: approveOnly}
				}
				l.trustSigners(aliceMay(), signer("olga", "olga@lab.test"), signer("olga", "OLGA@lab.test"), signer("pia", "pia@lab.test"))
				stop := l.start()
				digest := l.holdDestroy("2")
				stop()
				l.open()
				l.ok(l.journal.Append(l.Context(), order("1:0", test.subjects[0], digest), order("2:0", test.subjects[1], digest)))
				l.close()
				defer l.start()()
				time.Sleep(10 * time.Minute)
				if got := l.destroyed(201); got != test.released {
					t.Errorf("got the guest destroyed %t, want %t", got, test.released)
				}
			})
		})
	}
}

// TestIncidentApprovalWithoutTheRoleIsInvisible approves a held step as a signer without the role. The report shows the approval beside the step,
// with the missing role, and the log names it, also after a restart.
func TestIncidentApprovalWithoutTheRoleIsInvisible(t *testing.T) {
	var log bytes.Buffer
	logged := func(o *reconcile.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) }
	runLab(t, []labOption{logged}, func(t *testing.T, l *lab) {
		l.trustSigners(aliceMay(), verify.Signer{Name: "ops", Issuer: olga.Issuer, Subject: olga.Subject, May: []verify.Role{verify.RoleOperate}})
		stop := l.start()
		digest := l.holdDestroy("1")
		l.push(approve(digest), olga)
		for _, start := range []string{"first", "second"} {
			eventually(l, "the approval in the report", func() bool { return len(l.heldStep(201).Uncounted) == 1 })
			want := "approval by olga@lab.test does not count: the entry ops of trust.signers lacks the role approve, which takes may: [..., approve]"
			if h := l.heldStep(201); h.Uncounted[0].Message != want || h.Uncounted[0].Reason != gate.UncountedRole || h.Digest != digest {
				t.Errorf("%s start: got %+v, want %q beside the step %s", start, h, want, digest)
			}
			if l.destroyed(201) {
				t.Errorf("%s start: got the guest destroyed, want it to exist", start)
			}
			stop()
			line := `msg="order has no effect" event=order.refused order="Gitops-Approve: ` + digest + `" operation=approve signer=olga@lab.test`
			if text := log.String(); strings.Count(text, line) != 1 || !strings.Contains(text, `why="the entry ops of trust.signers lacks the role approve, which takes may: [..., approve]"`) {
				t.Errorf("%s start: got log\n%s\nwant one line with %s and the missing role", start, text, line)
			}
			log.Reset()
			stop = l.start()
		}
		stop()
	})
}

// TestIncidentAuthorApprovesTheOwnStep lets alice, who removed a manifest, approve the destroy, also under another identity and after a restart. With
// separateApprover only another person's approval counts. By default her own one does.
func TestIncidentAuthorApprovesTheOwnStep(t *testing.T) {
	t.Parallel()
	elsewhere := sigtest.Identity{Subject: "alice@lab.test", Issuer: "https://other.test"}
	for name, separate := range map[string]bool{"separate": true, "default": false} {
		t.Run(name, func(t *testing.T) {
			runLab(t, []labOption{func(o *reconcile.Options) { o.Separate = separate }}, func(t *testing.T, l *lab) {
				l.trustSigners(aliceMay(verify.RoleApprove), verify.Signer{Name: "alice", Issuer: elsewhere.Issuer, Subject: elsewhere.Subject, May: approveOnly},
					verify.Signer{Name: "olga", Issuer: olga.Issuer, Subject: olga.Subject, May: approveOnly})
				stop := l.start()
				defer func() { stop() }()
				digest := l.holdDestroy("1")
				stop()
				stop = l.start()
				l.push(approve(digest), alice)
				if !separate {
					eventually(l, "the destroy", func() bool { return l.destroyed(201) })
					return
				}
				l.push(approve(digest), elsewhere)
				eventually(l, "the uncounted approvals", func() bool { return len(l.heldStep(201).Uncounted) == 2 })
				time.Sleep(10 * time.Minute)
				if u := l.heldStep(201).Uncounted; l.destroyed(201) || u[0].Reason != gate.UncountedAuthor || u[0].Signer != "alice" {
					t.Fatalf("got destroyed %t and %+v, want alice's approvals without effect", l.destroyed(201), u)
				}
				l.push(approve(digest), olga)
				eventually(l, "the destroy", func() bool { return l.destroyed(201) })
				l.converge()
				if got := l.journal.State().Introduced; len(got) != 2 {
					t.Errorf("got %+v, want the records of the Cluster and of the guest that is there", got)
				}
			})
		})
	}
}

// TestIncidentAuthorApprovesTheOwnWeakening lets alice weaken a guard and approve that. With separateApprover only another person's approval counts.
func TestIncidentAuthorApprovesTheOwnWeakening(t *testing.T) {
	runLab(t, []labOption{func(o *reconcile.Options) { o.Separate = true }}, func(t *testing.T, l *lab) {
		l.trustSigners(aliceMay(verify.RoleApprove), verify.Signer{Name: "olga", Issuer: olga.Issuer, Subject: olga.Subject, May: approveOnly})
		defer l.start()()
		l.files["web.yaml"] = vmYAML("web-1", 201, "lifecycle: {destroy: deny}")
		l.push("one guest", alice)
		l.converge()
		l.files["web.yaml"] = vmYAML("web-1", 201, "lifecycle: {destroy: allow}")
		l.push("a weaker guard", alice)
		digest := l.digestOfHold(201)
		l.push(approve(digest), alice)
		eventually(l, "the uncounted approval", func() bool { return len(l.heldStep(201).Uncounted) == 1 })
		time.Sleep(10 * time.Minute)
		if got := l.journal.State().Guarded[201].Destroy; got != "deny" || l.heldStep(201).Uncounted[0].Reason != gate.UncountedAuthor {
			t.Fatalf("got %s with %+v, want alice's approval without effect", got, l.heldStep(201))
		}
		l.push(approve(digest), olga)
		eventually(l, "the weaker guard", func() bool { return l.journal.State().Guarded[201].Destroy == "allow" })
	})
}
