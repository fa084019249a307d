package reconcile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

var dora = sigtest.Identity{Subject: "dora@lab.test", Issuer: "https://issuer.test"}

// scoped returns a signer with a scope.
func scoped(who sigtest.Identity, guests, paths []string, may ...verify.Role) verify.Signer {
	return verify.Signer{Name: who.Subject, Issuer: who.Issuer, Subject: who.Subject, May: may, Guests: guests, Paths: paths}
}

// trustScopes trusts alice to change, otto to operate and olga to approve everything. Wanda may approve for web servers, pia in the folder web, and dora for databases in the folder db.
func (l *lab) trustScopes() {
	l.Helper()
	l.trustSigners(scoped(alice, nil, nil, verify.RoleChange), scoped(otto, nil, nil, verify.RoleOperate), scoped(olga, nil, nil, verify.RoleApprove),
		scoped(wanda, []string{"VirtualMachine/web-*", "Policy/*", "Cluster/*"}, nil, verify.RoleApprove), scoped(pia, nil, []string{"web"}, verify.RoleApprove),
		scoped(dora, []string{"VirtualMachine/db-*", "Pool/db", "Policy/*", "Cluster/*"}, []string{"db"}, verify.RoleApprove))
}

const dbPool = "apiVersion: proxmox.gitops/v1alpha1\nkind: Pool\nmetadata: {name: db}\nspec: {comment: databases}\n"

// twoTeams converges web-1 (201) in the folder web and db-1 (202) in the folder db.
func (l *lab) twoTeams(lines ...string) {
	l.Helper()
	l.files["web/web.yaml"], l.files["db/db.yaml"] = vmYAML("web-1", 201), vmYAML("db-1", 202, lines...)
	l.push("two teams", alice)
	l.converge()
}

// heldIn returns the first step of a list that waits for an approval.
func heldIn(list []report.HeldStep) report.HeldStep {
	if i := slices.IndexFunc(list, func(h report.HeldStep) bool { return h.Digest != "" }); i >= 0 {
		return list[i]
	}
	return report.HeldStep{}
}

// TestIncidentApproverOfOthersReleasesAStep lets approvers of web servers approve what reaches a database or the whole cluster. Their approvals do not count, the report says
// why, and none is used up. An approver whose scope covers the step releases it, and what belongs to the whole cluster an approver without a scope.
func TestIncidentApproverOfOthersReleasesAStep(t *testing.T) {
	t.Parallel()
	database := func(l *lab) report.HeldStep { return heldIn(l.object("VirtualMachine/db-1").Held) }
	ofCluster := func(l *lab) report.HeldStep { return heldIn(l.heldGuards(0)) }
	tests := map[string]struct {
		begin     func(l *lab)
		held      func(l *lab) report.HeldStep
		released  func(l *lab) bool
		needsOlga bool
	}{
		"destroy": {
			func(l *lab) { l.twoTeams(); delete(l.files, "db/db.yaml"); l.push("no db-1", alice) },
			database, func(l *lab) bool { return l.destroyed(202) }, false,
		},
		"weaker_guard": {
			func(l *lab) {
				l.twoTeams("lifecycle: {destroy: deny}")
				l.files["db/db.yaml"] = vmYAML("db-1", 202, "lifecycle: {destroy: allow}")
				l.push("allow", alice)
			},
			database, func(l *lab) bool { return l.journal.State().Guarded[202].Destroy == "allow" }, false,
		},
		"guards_of_the_cluster": {
			func(l *lab) {
				l.twoTeams()
				l.files["cluster.yaml"] = clusterWith("guards: {maxDestroysPerDay: 9}")
				l.push("more destroys", alice)
			},
			ofCluster, func(l *lab) bool { return l.journal.State().ClusterGuards.MaxDestroysPerDay == 9 }, true,
		},
		"policy_of_the_root": {
			func(l *lab) {
				l.files["policy.yaml"] = policyYAML("memory", tooMuchMemory)
				l.twoTeams()
				delete(l.files, "policy.yaml")
				l.push("no policy", alice)
			},
			ofCluster, func(l *lab) bool { return len(l.journal.State().Policies) == 0 }, true,
		},
		"order_stop": {
			func(l *lab) { l.twoTeams(); l.ok(l.sim.SetRunning(202, true)); l.order("stop VirtualMachine/db-1") },
			database, func(l *lab) bool { return l.sim.Effects(202, pvesim.Stopped) > 0 }, false,
		},
		"disk_detached": {
			func(l *lab) {
				l.twoTeams("disks: {scsi1: {storage: local-lvm, size: 1Gi}}")
				l.files["db/db.yaml"] = vmYAML("db-1", 202, "disks: {scsi1: {absent: true}}")
				l.push("no disk", alice)
			},
			database, func(l *lab) bool { return l.sim.Value(202, "scsi1") == "" }, false,
		},
		"restart": {
			func(l *lab) {
				l.twoTeams("state: running", "lifecycle: {rebootPolicy: approve}")
				l.files["db/db.yaml"] = vmYAML("db-1", 202, "state: running", "lifecycle: {rebootPolicy: approve}", "cpu: {cores: 2}")
				l.push("more cores", alice)
			},
			database, func(l *lab) bool { return l.sim.Effects(202, pvesim.Stopped) > 0 }, false,
		},
		"object_removed": {
			func(l *lab) {
				l.files["db/pool.yaml"] = dbPool
				l.twoTeams()
				delete(l.files, "db/pool.yaml")
				l.push("no pool", alice)
			},
			func(l *lab) report.HeldStep { return heldIn(l.object("Pool/db").Held) },
			func(l *lab) bool { _, exists := l.sim.PoolComment("db"); return !exists }, false,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.trustScopes()
				stop := l.start()
				defer func() { stop() }()
				test.begin(l)
				eventually(l, "a step that waits for an approval", func() bool { return test.held(l).Digest != "" })
				digest := test.held(l).Digest
				approvers := []sigtest.Identity{wanda, pia}
				if test.needsOlga {
					approvers = append(approvers, dora)
				}
				for _, who := range approvers {
					l.push(approve(digest), who)
				}
				uncounted := func() bool { return len(test.held(l).Uncounted) == len(approvers) }
				eventually(l, "the approvals that do not count", uncounted)
				stop()
				stop = l.start()
				eventually(l, "the approvals that do not count, after a restart", uncounted)
				time.Sleep(10 * time.Minute)
				h := test.held(l)
				if test.released(l) || h.Digest != digest || slices.ContainsFunc(h.Uncounted, func(u gate.Uncounted) bool { return u.Reason != gate.UncountedScope }) {
					t.Fatalf("got released %t and %+v, want the approvals of others without effect", test.released(l), h)
				}
				last := dora
				if test.needsOlga {
					last = olga
				}
				l.push(approve(digest), last)
				eventually(l, "the step", func() bool { return test.released(l) })
			})
		})
	}
}

// TestIncidentManifestTakenOver lets pia, who may change and approve in the folder web, write a manifest of a removed database there, and remove it again: at once, and with polls in
// between. The file of the database still counts, known or not, so pia cannot approve its destruction, nor that of the guest while the manifest is there, also after a restart.
func TestIncidentManifestTakenOver(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"at_once", "one_by_one", "older_release"} {
		t.Run(how, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				may := scoped(pia, nil, []string{"web"}, verify.RoleChange, verify.RoleApprove)
				l.trustSigners(scoped(alice, nil, nil, verify.RoleChange), scoped(olga, nil, nil, verify.RoleApprove), may)
				stop := l.start()
				defer func() { stop() }()
				l.twoTeams("lifecycle: {destroy: deny}")
				delete(l.files, "db/db.yaml")
				file := "db/db.yaml"
				if how == "at_once" {
					l.repo.Push(l.sig, alice, "no db-1")
				} else {
					l.waitForAcceptance(l.push("no db-1", alice))
				}
				if how == "older_release" { // which recorded no files
					stop()
					l.open()
					g := l.journal.State().Guarded[202]
					g.File = ""
					l.ok(l.journal.Append(l.Context(), g))
					l.close()
					file, stop = journal.UnknownFile, l.start()
				}
				l.files["web/mine.yaml"] = vmYAML("mine", 202, "lifecycle: {destroy: allow}")
				l.waitForAcceptance(l.push("it is mine", pia))
				guard := l.waitForHeldGuard(202, "lifecycle.destroy: deny -> allow")
				l.push(approve(guard), pia)
				eventually(l, "the approval that does not count", func() bool { held := l.heldGuards(202); return len(held) == 1 && len(held[0].Uncounted) == 1 })
				stop()
				stop = l.start()
				l.files["web/web.yaml"] += "# changed\n"
				l.waitForAcceptance(l.push("another change", pia))
				if got := l.journal.State().Guarded[202]; got.Destroy != "deny" || got.File != file {
					t.Fatalf("got guards %+v, want deny and the file %q", got, file)
				}
				l.push(approve(guard), olga)
				eventually(l, "the weaker guard", func() bool { return l.journal.State().Guarded[202].Destroy == "allow" })
				l.files["web/mine.yaml"] = vmYAML("mine", 202, "lifecycle: {destroy: approve}")
				l.waitForAcceptance(l.push("approve", pia))
				delete(l.files, "web/mine.yaml")
				l.waitForAcceptance(l.push("not mine", pia))
				digest := l.digestOfHold(202)
				l.push(approve(digest), pia)
				eventually(l, "the second approval that does not count", func() bool { return len(l.heldStep(202).Uncounted) == 1 })
				time.Sleep(10 * time.Minute)
				if l.destroyed(202) {
					t.Fatal("got the guest destroyed with the approval of another team, want it to exist")
				}
				l.push(approve(digest), olga)
				eventually(l, "the destroy", func() bool { return l.destroyed(202) })
			})
		})
	}
}

// TestIncidentOrderReleasesARolloutOfOthers lets otto, who may order for web-1 alone, continue a rollout that destroys guests of others, whose manifests are removed.
func TestIncidentOrderReleasesARolloutOfOthers(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.trustSigners(scoped(alice, nil, nil, verify.RoleChange), scoped(otto, []string{"VirtualMachine/web-1"}, nil, verify.RoleOperate))
		l.files["cluster.yaml"] = strings.Replace(clusterYAML, "spec:\n", "spec:\n  guards: {maxDestroysPerDay: 10}\n  rollouts: {web: {select: {labels: {tier: web}}, pause: approval}}\n", 1)
		for name, vmid := range map[string]int{"web-1": 201, "db-1": 202, "db-2": 203} {
			l.files[name+".yaml"] = strings.Replace(vmYAML(name, vmid, "lifecycle: {destroy: allow}"), "}\nspec", ", labels: {tier: web}}\nspec", 1)
		}
		l.push("machines", alice)
		defer l.start()()
		l.converge()
		for _, name := range []string{"web-1", "db-1", "db-2"} {
			delete(l.files, name+".yaml")
		}
		l.files["keep.yaml"] = vmYAML("keep-1", 210)
		revision := l.push("remove them", alice)
		eventually(l, "the first destroy", func() bool { return l.destroyed(201) || l.destroyed(202) || l.destroyed(203) })
		destroyed := func() (n int) {
			for vmid := 201; vmid <= 203; vmid++ {
				n += l.sim.Effects(vmid, pvesim.Destroyed)
			}
			return n
		}
		promote := "promote Rollout/web revision=" + revision
		l.order(promote)
		if o := l.waitForOrder(promote, journal.OrderRefused); !strings.Contains(o.Why, "may not touch VirtualMachine/db-") {
			t.Errorf("got %q, want that the order reaches a guest of others", o.Why)
		}
		time.Sleep(10 * time.Minute)
		if got := destroyed(); got != 1 {
			t.Fatalf("got %d guests destroyed, want the first batch alone", got)
		}
		l.trustSigners(scoped(alice, nil, nil, verify.RoleChange), scoped(otto, []string{"VirtualMachine/web-1", "VirtualMachine/db-*"}, nil, verify.RoleOperate))
		time.Sleep(time.Minute) // another commit of the order, with another proven time
		l.order(promote)
		eventually(l, "the second batch", func() bool { return destroyed() == 2 })
	})
}

// TestIncidentApprovalBeforeItsStep approves a destroy whose digest is known from before, while there is none. The scope of the signer becomes narrower, and then there is one. The present
// scope counts too, and the approval counts again when it covers the step.
func TestIncidentApprovalBeforeItsStep(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		trust := func(paths ...string) {
			l.trustSigners(scoped(alice, nil, nil, verify.RoleChange), scoped(olga, nil, paths, verify.RoleApprove))
		}
		trust()
		defer l.start()()
		l.twoTeams()
		manifest := l.files["db/db.yaml"]
		delete(l.files, "db/db.yaml")
		l.push("no db-1", alice)
		digest := l.digestOfHold(202)
		l.files["db/db.yaml"] = manifest
		l.push("it stays", alice)
		l.converge()
		l.waitForAcceptance(l.push(approve(digest), olga))
		trust("web")
		delete(l.files, "db/db.yaml")
		l.push("no db-1, again", alice)
		if again := l.digestOfHold(202); again != digest {
			t.Fatalf("got the digest %s, want %s as before", again, digest)
		}
		eventually(l, "the approval that does not count", func() bool { return len(l.heldStep(202).Uncounted) == 1 })
		time.Sleep(10 * time.Minute)
		if l.destroyed(202) {
			t.Fatal("got the guest destroyed, want the present scope to count")
		}
		trust("web", "db")
		eventually(l, "the destroy", func() bool { return l.destroyed(202) })
	})
}

// TestIncidentApproverRevoked approves a destroy whose digest is known from before, while there is none. Then the trust policy takes back what makes the approval count: the role of
// its signer, the time in which it was signed, or its commit, which is the newest one or an older one. The approval releases nothing.
func TestIncidentApproverRevoked(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*lab, *verify.Signer, *verify.Deny, string){
		"role": func(_ *lab, olga *verify.Signer, _ *verify.Deny, _ string) {
			olga.May = []verify.Role{verify.RoleChange}
		},
		"until": func(_ *lab, olga *verify.Signer, _ *verify.Deny, _ string) {
			olga.Until = time.Now().Add(-30 * time.Minute)
		},
		"from": func(_ *lab, olga *verify.Signer, _ *verify.Deny, _ string) { olga.From = time.Now() },
		"denied_commit": func(_ *lab, _ *verify.Signer, deny *verify.Deny, id string) {
			deny.Commits = []gitsource.ID{gitsource.ID(id)}
		},
		"denied_payload": func(l *lab, _ *verify.Signer, deny *verify.Deny, id string) {
			deny.Payloads = []string{l.audit(id).Payload}
		},
		"denied_log_index": func(l *lab, _ *verify.Signer, deny *verify.Deny, id string) {
			deny.LogIndexes = []int64{l.audit(id).LogIndex}
		},
		"denied_certificate": func(l *lab, _ *verify.Signer, deny *verify.Deny, id string) {
			deny.Certificates = []string{l.audit(id).Certificate}
		},
	} {
		for _, newest := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/newest_%t", name, newest), func(t *testing.T) {
				runLab(t, nil, func(t *testing.T, l *lab) {
					approver := scoped(olga, nil, nil, verify.RoleApprove)
					l.trustSigners(scoped(alice, nil, nil, verify.RoleChange), approver)
					stop := l.start()
					defer func() { stop() }()
					l.twoTeams()
					manifest := l.files["db/db.yaml"]
					delete(l.files, "db/db.yaml")
					l.push("no db-1", alice)
					digest := l.digestOfHold(202)
					l.files["db/db.yaml"] = manifest
					l.push("it stays", alice)
					l.converge()
					id := l.push(approve(digest), olga)
					l.waitForAcceptance(id)
					time.Sleep(time.Minute)
					if !newest {
						l.waitForAcceptance(l.push("another commit", alice))
					}
					var deny verify.Deny
					change(l, &approver, &deny, id)
					l.trustWithout(deny, scoped(alice, nil, nil, verify.RoleChange), approver)
					delete(l.files, "db/db.yaml")
					l.push("no db-1, again", alice)
					if again := l.digestOfHold(202); again != digest {
						t.Fatalf("got the digest %s, want %s as before", again, digest)
					}
					time.Sleep(10 * time.Minute)
					if l.destroyed(202) {
						t.Fatal("got the guest destroyed with an approval that does not count any more, want it to exist")
					}
					stop()
					stop = l.start()
					time.Sleep(10 * time.Minute)
					if l.destroyed(202) {
						t.Fatal("got the guest destroyed after a restart, want it to exist")
					}
				})
			})
		}
	}
}

// TestIncidentTwoHalvesOfAScope weakens a guard of two guests by one line of their class. Two approvers whose scopes cover one guest each approve it. Neither approval counts.
func TestIncidentTwoHalvesOfAScope(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.trustScopes()
		defer l.start()()
		class := func(destroy string) string {
			return "apiVersion: proxmox.gitops/v1alpha1\nkind: GuestClass\nmetadata: {name: all}\nspec:\n  virtualMachine: {lifecycle: {destroy: " + destroy + "}}\n"
		}
		l.files["class.yaml"] = class("deny")
		l.files["web/web.yaml"], l.files["db/db.yaml"] = vmYAML("web-1", 201, "class: all"), vmYAML("db-1", 202, "class: all")
		l.push("two teams", alice)
		l.converge()
		l.files["class.yaml"] = class("allow")
		l.push("allow", alice)
		digest := l.waitForHeldGuard(201, "lifecycle.destroy: deny -> allow", "together with VirtualMachine/db-1")
		for _, who := range []sigtest.Identity{wanda, pia, dora} {
			l.push(approve(digest), who)
		}
		eventually(l, "the approvals that do not count", func() bool { held := l.heldGuards(201); return len(held) == 1 && len(held[0].Uncounted) == 3 })
		time.Sleep(10 * time.Minute)
		if got := l.journal.State().Guarded; got[201].Destroy != "deny" || got[202].Destroy != "deny" {
			t.Fatalf("got guards %+v, want both to stay", got)
		}
		l.push(approve(digest), olga)
		eventually(l, "the weaker guards", func() bool { return l.journal.State().Guarded[202].Destroy == "allow" })
	})
}

// TestIncidentObjectTakenOver lets pia, who may change and approve in the folder web, write a manifest of the removed pool of another team there, and remove it again.
func TestIncidentObjectTakenOver(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.trustSigners(scoped(alice, nil, nil, verify.RoleChange), scoped(olga, nil, nil, verify.RoleApprove), scoped(pia, nil, []string{"web"}, verify.RoleChange, verify.RoleApprove))
		defer l.start()()
		l.files["db/pool.yaml"] = dbPool
		l.twoTeams()
		delete(l.files, "db/pool.yaml")
		l.waitForAcceptance(l.push("no pool", alice))
		l.files["web/mine.yaml"] = strings.Replace(strings.Replace(dbPool, "{name: db}", "{name: mine}", 1), "{comment", "{id: db, comment", 1)
		l.push("it is mine", pia)
		l.converge()
		delete(l.files, "web/mine.yaml")
		l.push("not mine", pia)
		held := func() report.HeldStep { return heldIn(l.object("Pool/mine").Held) }
		eventually(l, "the held removal", func() bool { return held().Digest != "" })
		l.push(approve(held().Digest), pia)
		eventually(l, "the approval that does not count", func() bool { return len(held().Uncounted) == 1 })
		time.Sleep(10 * time.Minute)
		if _, exists := l.sim.PoolComment("db"); !exists {
			t.Fatal("got the pool removed with the approval of another team, want it to exist")
		}
		l.push(approve(held().Digest), olga)
		eventually(l, "the removal", func() bool { _, exists := l.sim.PoolComment("db"); return !exists })
	})
}
