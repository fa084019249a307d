package reconcile_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
	"gitops-agent/verify"
)

// heldDigest waits until a guest has one held step that an approval would release, and whose digest is none of others.
func (l *lab) heldDigest(vmid int, words string, others ...string) (digest string) {
	l.Helper()
	eventually(l, "a held step: "+words, func() bool {
		for _, g := range l.engine.Report().Guests {
			if g.VMID == vmid && len(g.Held) == 1 && strings.Contains(g.Held[0].Message, words) && g.Held[0].Digest != "" && !slices.Contains(others, g.Held[0].Digest) {
				digest = g.Held[0].Digest
				return true
			}
		}
		return false
	})
	return digest
}

const byProtection = "the guest is protected in Proxmox (protection: 1)"

// protect sets the protection of a guest as a person would.
func (l *lab) protect(vmid int, value string) {
	l.Helper()
	l.ok(l.sim.Edit(vmid, "protection", value))
}

func (l *lab) isProtected(vmid int) bool { return l.sim.Value(vmid, "protection") == "1" }

// TestProtectionSetByHandHoldsTheDestroy removes the manifest of a guest that may be destroyed, and that a person protected. As many approvals are needed as for
// any destroy, and at least one.
func TestProtectionSetByHandHoldsTheDestroy(t *testing.T) {
	for name, test := range map[string]struct {
		vmid     int
		manifest string
		approval string // guards of the Cluster
		people   int
	}{
		"machine":   {201, vmYAML("web-1", 201, "state: running", "lifecycle: {destroy: allow}"), "", 1},
		"container": {210, dnsYAML("state: running", "lifecycle: {destroy: allow}"), "", 1},
		"two":       {201, vmYAML("web-1", 201, "lifecycle: {destroy: allow}"), "  guards: {approvals: 2}\n", 2},
		"manifest":  {201, vmYAML("web-1", 201, "lifecycle: {destroy: allow, protection: true}"), "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.trustApprovers()
				l.files["cluster.yaml"] = clusterYAML + test.approval
				l.files["keep.yaml"] = vmYAML("keep-1", 209)
				l.files["guest.yaml"] = test.manifest
				l.push("two guests", alice)
				defer l.start()()
				l.converge()
				l.protect(test.vmid, "1")
				delete(l.files, "guest.yaml")
				l.waitForAcceptance(l.push("remove one", alice))
				digest := l.heldDigest(test.vmid, byProtection)
				for i := range test.people {
					time.Sleep(time.Hour)
					if l.sim.Config(test.vmid) == "" || !l.isProtected(test.vmid) || l.sim.Effects(test.vmid, pvesim.Stopped) != 0 {
						t.Fatalf("got config %q after %d approvals, want the protected guest", l.sim.Config(test.vmid), i)
					}
					l.push(fmt.Sprintf("Approve\n\nGitops-Approve: %s\n", digest), []sigtest.Identity{olga, pia}[i])
				}
				eventually(l, "the destroy", func() bool { return l.sim.Effects(test.vmid, pvesim.Destroyed) == 1 })
				l.converge()
			})
		})
	}
}

// TestProtectionSetAfterTheApproval: a protection that appears later voids the approval of a destroy, also one that was not there when the destroy was planned.
// One that a person takes away again does not.
func TestProtectionSetAfterTheApproval(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["cluster.yaml"] = clusterYAML + "  guards: {approvals: 2}\n"
		l.trustApprovers()
		l.files["keep.yaml"], l.files["web.yaml"] = vmYAML("keep-1", 209), vmYAML("web-1", 201)
		l.push("two guests", alice)
		defer l.start()()
		l.converge()
		delete(l.files, "web.yaml")
		l.waitForAcceptance(l.push("remove one", alice))
		bare := l.heldDigest(201, "0 of 2 approvals")
		l.approve(bare)
		l.heldDigest(201, "1 of 2 approvals")
		l.protect(201, "1")
		protected := l.heldDigest(201, byProtection+": 0 of 2 approvals", bare)
		l.push("Approve\n\nGitops-Approve: "+bare+"\n", pia)
		time.Sleep(time.Hour)
		if l.sim.Config(201) == "" {
			t.Fatal("got the guest destroyed by approvals that do not name its protection")
		}
		l.approve(protected)
		l.heldDigest(201, byProtection+": 1 of 2 approvals")
		l.ok(l.sim.Edit(209, "memory", "1024"))
		time.Sleep(10 * time.Minute)
		l.protect(201, "") // now olga has approved twice, and pia once: two people
		eventually(l, "the destroy", func() bool { return l.sim.Effects(201, pvesim.Destroyed) == 1 })
	})
}

// TestApprovalOfAProtectedGuestOutlivesTheProtection: an approval that names the protection covers the same step without it.
func TestApprovalOfAProtectedGuestOutlivesTheProtection(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["cluster.yaml"] = clusterYAML + "  guards: {approvals: 2}\n"
		l.trustApprovers()
		disk := vmYAML("web-1", 201, "disks: {scsi1: {storage: local-lvm, size: 1Gi}}", "networks: {net0: {bridge: vmbr0}}")
		l.files["web.yaml"] = disk
		l.push("a guest", alice)
		defer l.start()()
		l.converge()
		l.protect(201, "1")
		l.files["web.yaml"] = vmYAML("web-1", 201, "disks: {scsi1: {absent: true}}", "networks: {net0: {bridge: vmbr0}}")
		l.waitForAcceptance(l.push("without its disk", alice))
		digest := l.heldDigest(201, byProtection)
		l.approve(digest)
		l.heldDigest(201, "1 of 2 approvals")
		l.protect(201, "")
		other := l.heldDigest(201, "1 of 2 approvals", digest)
		l.push("Approve\n\nGitops-Approve: "+other+"\n", pia)
		eventually(l, "the detached disk", func() bool { return l.sim.Value(201, "scsi1") == "" })
		l.converge()
		if l.isProtected(201) {
			t.Error("got the guest protected, want it as the person left it")
		}
	})
}

// protectedChange is a change of a protected guest that Proxmox refuses while the guest is protected.
type protectedChange struct {
	vmid          int
	before, after string
	done          func(l *lab) bool
}

func protectedChanges() map[string]protectedChange {
	has := func(vmid int, key, part string) func(l *lab) bool {
		return func(l *lab) bool { return strings.Contains(l.sim.Value(vmid, key), part) }
	}
	gone := func(vmid int, key string) func(l *lab) bool {
		return func(l *lab) bool { return l.sim.Value(vmid, key) == "" }
	}
	mount := func(options string) string {
		return dnsYAML("mounts: {mp0: {storage: local, size: 1Gi, path: /data" + options + "}}")
	}
	return map[string]protectedChange{
		"mount_option":  {210, mount(""), mount(", readOnly: true"), has(210, "mp0", "ro=1")},
		"new_mount":     {210, dnsYAML(), mount(""), has(210, "mp0", "mp=/data")},
		"removed_mount": {210, mount(""), dnsYAML("mounts: {mp0: {absent: true}}"), gone(210, "mp0")},
		"detached_disk": {
			201, vmYAML("web-1", 201, "disks: {scsi1: {storage: local-lvm, size: 1Gi}}"), vmYAML("web-1", 201, "disks: {scsi1: {absent: true}}"), gone(201, "scsi1"),
		},
	}
}

// TestWritesOfAProtectedGuest: what Proxmox refuses on a protected guest is one held step, which lifts the protection, writes and sets the protection again. The
// other changes of the manifest do not wait for it.
func TestWritesOfAProtectedGuest(t *testing.T) {
	for name, test := range protectedChanges() {
		t.Run(name, func(t *testing.T) {
			runLabWithProbe(t, nil, func(t *testing.T, l *lab, p *probe) {
				l.files["guest.yaml"] = test.before
				l.push("a guest", alice)
				defer l.start()()
				l.converge()
				l.protect(test.vmid, "1")
				l.files["guest.yaml"] = test.after + "  description: at once\n"
				l.waitForAcceptance(l.push("change it", alice))
				digest := l.heldDigest(test.vmid, byProtection)
				time.Sleep(time.Hour)
				if test.done(l) || !l.isProtected(test.vmid) || !strings.Contains(l.sim.Value(test.vmid, "description"), "at once") {
					t.Fatalf("got config\n%s\nwant the description alone", l.sim.Config(test.vmid))
				}
				before := p.count(cluster.OpConfig, test.vmid)
				l.approve(digest)
				l.converge()
				if !test.done(l) || !l.isProtected(test.vmid) || p.count(cluster.OpConfig, test.vmid) != before+3 {
					t.Errorf("got config\n%s\nafter %d calls, want the change, and the protection again", l.sim.Config(test.vmid), p.count(cluster.OpConfig, test.vmid)-before)
				}
			})
		})
	}
}

// crashAfterApproval lets the agent crash at one call after the approval of a held step, and converge after another start. Nothing else is approved.
func (l *lab) crashAfterApproval(digest string, call int, at string, stop func()) {
	l.Helper()
	stop()
	d := &randomCrashCluster{Cluster: l.cluster, at: at}
	d.left.Store(int64(call))
	l.opts.Cluster = d
	stop = l.start()
	l.approve(digest)
	l.rareTicks() // of the next start, which goes on for an hour
	l.recoverFrom(&d.crashed, stop, time.Hour)
}

// TestCrashWhileTheProtectionIsLifted crashes the agent around each call of a step that lifts the protection. Afterwards the change is made once, with the one
// approval, and the guest is protected.
func TestCrashWhileTheProtectionIsLifted(t *testing.T) {
	changes := protectedChanges()
	for _, name := range []string{"mount_option", "removed_mount", "detached_disk"} {
		test := changes[name]
		for call := 1; call <= 3; call++ {
			for _, at := range []string{"before-call", "after-call", "waiting"} {
				if at == "waiting" && test.vmid == 210 {
					continue // the calls of a container have no task
				}
				t.Run(fmt.Sprintf("%s/%d/%s", name, call, at), func(t *testing.T) {
					runLab(t, nil, func(t *testing.T, l *lab) {
						l.files["guest.yaml"] = test.before
						l.push("a guest", alice)
						stop := l.start()
						l.converge()
						l.protect(test.vmid, "1")
						l.files["guest.yaml"] = test.after
						l.waitForAcceptance(l.push("change it", alice))
						l.crashAfterApproval(l.heldDigest(test.vmid, byProtection), call, at, stop)
						if !test.done(l) || !l.isProtected(test.vmid) {
							t.Errorf("got config\n%s\nwant the change, and the protection", l.sim.Config(test.vmid))
						}
						for _, o := range l.journal.State().Orders {
							inDoubt := call == 2 && at == "after-call" // nothing shows whether the call or a person changed the guest
							if o.State != journal.OrderRun && (!inDoubt || o.State != journal.OrderUnknown) {
								t.Errorf("got the approval %s, want it used up by the step", o.State)
							}
						}
					})
				})
			}
		}
	}
}

// TestCrashWhileAProtectedGuestIsDestroyed crashes the agent around each call of the destroy: the lift, the stop and the destroy.
func TestCrashWhileAProtectedGuestIsDestroyed(t *testing.T) {
	for call := 1; call <= 3; call++ {
		for _, at := range []string{"before-call", "after-call", "waiting"} {
			t.Run(fmt.Sprintf("%d/%s", call, at), func(t *testing.T) {
				runLab(t, nil, func(t *testing.T, l *lab) {
					l.files["keep.yaml"] = vmYAML("keep-1", 209)
					l.files["web.yaml"] = vmYAML("web-1", 201, "state: running", "lifecycle: {destroy: allow}")
					l.push("two guests", alice)
					stop := l.start()
					l.converge()
					l.protect(201, "1")
					delete(l.files, "web.yaml")
					l.waitForAcceptance(l.push("remove one", alice))
					l.crashAfterApproval(l.heldDigest(201, byProtection), call, at, stop)
					if got := l.sim.Effects(201, pvesim.Destroyed); got != 1 {
						t.Errorf("got %d destroys, want one", got)
					}
				})
			})
		}
	}
}

// TestRevertedDestroyLeavesTheProtection: the agent is killed between the lift and the destroy, and the manifest is there again at its next start. The guest is
// protected as before.
func TestRevertedDestroyLeavesTheProtection(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		web := vmYAML("web-1", 201, "lifecycle: {destroy: allow}")
		l.files["keep.yaml"], l.files["web.yaml"] = vmYAML("keep-1", 209), web
		l.push("two guests", alice)
		stop := l.start()
		l.converge()
		l.protect(201, "1")
		delete(l.files, "web.yaml")
		l.waitForAcceptance(l.push("remove one", alice))
		digest := l.heldDigest(201, byProtection)
		stop()
		d := &randomCrashCluster{Cluster: l.cluster, at: "before-call"}
		d.left.Store(2)
		l.opts.Cluster = d
		stop = l.start()
		l.approve(digest)
		eventually(l, "the crash", d.crashed.Load)
		stop()
		if l.isProtected(201) {
			t.Fatal("got the protection, want it lifted by the step that did not end")
		}
		l.opts.Cluster = l.cluster
		l.files["web.yaml"] = web
		l.push("back again", alice)
		defer l.start()()
		eventually(l, "the protection", func() bool { return l.isProtected(201) })
		l.converge()
		if got := l.sim.Effects(201, pvesim.Destroyed); got != 0 {
			t.Errorf("got %d destroys of a guest that has its manifest again, want none", got)
		}
	})
}

// TestRefusedWriteOfAProtectedGuest: Proxmox refuses what the protection was lifted for. The guest is protected again, and the approval is not spent.
func TestRefusedWriteOfAProtectedGuest(t *testing.T) {
	refused := func(nth int) pvesim.Fault {
		return pvesim.Fault{Method: "PUT", Path: "/lxc/210/config$", Nth: nth, Kind: pvesim.ErrorText, Text: "not today"}
	}
	acted := func(nth int) pvesim.Fault {
		f := refused(nth)
		f.AfterActing = true
		return f
	}
	lost := func(nth int, kind pvesim.FaultKind) pvesim.Fault {
		return pvesim.Fault{Method: "PUT", Path: "/lxc/210/config$", Nth: nth, Kind: kind}
	}
	for name, fault := range map[string]pvesim.Fault{
		"lift": refused(1), "lift_acted": acted(1), "lift_lost": lost(1, pvesim.DropBefore), "lift_reply_lost": lost(1, pvesim.DropAfter),
		"write": refused(2), "write_lost": lost(2, pvesim.DropBefore), "write_reply_lost": lost(2, pvesim.DropAfter),
		"again": refused(3), "again_acted": acted(3), "again_lost": lost(3, pvesim.DropBefore), "again_reply_lost": lost(3, pvesim.DropAfter),
	} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				test := protectedChanges()["mount_option"]
				l.files["guest.yaml"] = test.before
				l.push("a guest", alice)
				defer l.start()()
				l.converge()
				l.protect(210, "1")
				l.files["guest.yaml"] = test.after
				l.waitForAcceptance(l.push("change it", alice))
				digest := l.heldDigest(210, byProtection)
				l.ok(l.sim.Inject(fault))
				l.approve(digest)
				l.converge()
				if !test.done(l) || !l.isProtected(210) {
					t.Errorf("got config\n%s\nwant the change, and the protection", l.sim.Config(210))
				}
			})
		})
	}
}

// TestLockedAndUnprotectedGuest locks a guest after the agent has lifted its protection. Nothing is written while it is locked, the step stays open, and the
// guest is protected when the lock has gone. The approval is not spent.
func TestLockedAndUnprotectedGuest(t *testing.T) {
	for _, op := range []cluster.Op{cluster.OpStop, cluster.OpDestroy} {
		t.Run(string(op), func(t *testing.T) {
			runLabWithProbe(t, nil, func(t *testing.T, l *lab, p *probe) {
				l.files["keep.yaml"] = vmYAML("keep-1", 209)
				l.files["web.yaml"] = vmYAML("web-1", 201, "state: running", "lifecycle: {destroy: allow}")
				l.push("two guests", alice)
				defer l.start()()
				l.converge()
				l.protect(201, "1")
				delete(l.files, "web.yaml")
				l.waitForAcceptance(l.push("remove one", alice))
				digest := l.heldDigest(201, byProtection)
				var once atomic.Bool
				p.setHooks(hooks{write: func(call cluster.Call) {
					if call.VMID == 201 && call.Op == op && !once.Swap(true) {
						l.ok(l.sim.Edit(201, "lock", "backup"))
					}
				}})
				l.approve(digest)
				eventually(l, "the lock", once.Load)
				time.Sleep(2 * time.Hour)
				if open := l.journal.State().Open; l.sim.Config(201) == "" || len(open) != 1 {
					t.Fatalf("got open steps %+v and config %q, want one, and the locked guest", open, l.sim.Config(201))
				}
				held := l.guest(l.engine.Report(), 201)
				l.ok(l.sim.Edit(201, "lock", ""))
				eventually(l, "the destroy", func() bool { return l.sim.Effects(201, pvesim.Destroyed) == 1 })
				if len(held.Held) > 0 && held.Held[0].Digest != digest {
					t.Errorf("got digest %s while the protection is lifted, want %s", held.Held[0].Digest, digest)
				}
			})
		})
	}
}

// TestProtectionBeforeTheCall protects a guest between the plan of a step and its call. Proxmox does not refuse a rollback and a template for that, and it
// refuses the destroy only after the agent has stopped the guest.
func TestProtectionBeforeTheCall(t *testing.T) {
	protectBefore := func(l *lab, p *probe, op cluster.Op) *atomic.Bool {
		var done atomic.Bool
		p.setHooks(hooks{write: func(call cluster.Call) {
			if call.VMID == 201 && call.Op == op && !done.Swap(true) {
				l.protect(201, "1")
			}
		}})
		return &done
	}
	t.Run("rollback", func(t *testing.T) {
		runLabWithOrders(t, nil, false, func(t *testing.T, l *lab, p *probe) {
			l.snapshotOf(201, func(c map[string]string) { c["memory"] = "1024" })
			l.order(rollbackWeb1)
			digest := l.digestOfHold(201)
			done := protectBefore(l, p, cluster.OpRollback)
			l.approve(digest)
			eventually(l, "the call", done.Load)
			l.heldDigest(201, byProtection, digest)
			time.Sleep(time.Hour)
			if got := l.sim.Effects(201, pvesim.RolledBack); got != 0 {
				t.Errorf("got %d rollbacks of a guest that was protected before, want none", got)
			}
		})
	})
	for op, then := range map[cluster.Op]string{cluster.OpTemplate: vmYAML("web-1", 201, "template: true"), cluster.OpStop: ""} {
		t.Run(string(op), func(t *testing.T) {
			runLabWithProbe(t, nil, func(t *testing.T, l *lab, p *probe) {
				l.files["keep.yaml"] = vmYAML("keep-1", 209)
				l.files["web.yaml"] = vmYAML("web-1", 201)
				if then == "" {
					l.files["web.yaml"] = vmYAML("web-1", 201, "state: running")
				}
				l.push("two guests", alice)
				defer l.start()()
				l.converge()
				if l.files["web.yaml"] = then; then == "" {
					delete(l.files, "web.yaml")
				}
				l.waitForAcceptance(l.push("change it", alice))
				digest := l.heldDigest(201, "0 of 1")
				done := protectBefore(l, p, op)
				l.approve(digest)
				eventually(l, "the call", done.Load)
				l.heldDigest(201, byProtection, digest)
				time.Sleep(time.Hour)
				if l.sim.Value(201, "template") == "1" || l.sim.Effects(201, pvesim.Stopped) != 0 || l.sim.Config(201) == "" {
					t.Errorf("got config\n%s\nwant the guest as it was, and protected", l.sim.Config(201))
				}
			})
		})
	}
}

// TestRepairDoesNotLiftTheProtection: a manifest with protection: false is no permission to end a protection that a person sets later.
func TestRepairDoesNotLiftTheProtection(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "lifecycle: {protection: false}", "memory: {size: 2Gi}")
		l.push("a guest", alice)
		defer l.start()()
		l.converge()
		l.protect(201, "1")
		l.ok(l.sim.Edit(201, "memory", "1024"))
		eventually(l, "the repair", func() bool { return l.sim.Value(201, "memory") == "2048" })
		l.waitForHold(201, reason.Approval)
		digest := l.heldDigest(201, byProtection)
		time.Sleep(time.Hour)
		if !l.isProtected(201) {
			t.Fatal("got the protection lifted by the repair of other drift")
		}
		l.approve(digest)
		eventually(l, "the end of the protection", func() bool { return !l.isProtected(201) })
		l.converge()
	})
}

// TestWaitingEndOfTheProtection: Proxmox has left a waiting removal of the protection behind, of a request that it refused. The next write of the agent does not
// bring it into effect, and neither does a start.
func TestWaitingEndOfTheProtection(t *testing.T) {
	for name, test := range map[string]struct{ line, then string }{
		"config":       {"", "description: at once"},
		"start":        {"", "state: running"},
		"manifest_off": {"lifecycle: {protection: false}", "description: at once"},
	} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				lines := []string{"cpu: {cores: 2}"}
				if test.line != "" {
					lines = append(lines, test.line)
				}
				l.files["web.yaml"] = vmYAML("web-1", 201, lines...)
				l.push("a guest", alice)
				defer l.start()()
				l.converge()
				l.ok(l.sim.EditFile(201, func(text string) string { return text + "protection: 1\n\n[PENDING]\ndelete: protection\n" }))
				time.Sleep(10 * time.Minute)
				if !strings.Contains(l.sim.Config(201), "[PENDING]") {
					t.Fatalf("got config\n%s\nwant it left alone while there is nothing else to do", l.sim.Config(201))
				}
				l.files["web.yaml"] = vmYAML("web-1", 201, append(lines, test.then)...)
				l.waitForAcceptance(l.push("something else", alice))
				eventually(l, "the change", func() bool { return l.sim.Running(201) || strings.Contains(l.sim.Value(201, "description"), "at once") })
				time.Sleep(10 * time.Minute)
				if got := l.sim.Config(201); !l.isProtected(201) || strings.Contains(got, "[PENDING]") {
					t.Errorf("got config\n%s\nwant the guest protected as before", got)
				}
				if test.line == "" {
					l.converge()
					return
				}
				l.approve(l.heldDigest(201, byProtection))
				eventually(l, "the end of the protection", func() bool { return !l.isProtected(201) })
			})
		})
	}
}

// TestOrderDoesNotBringTheEndOfTheProtectionIntoEffect is the same for an order on a guest that needs no other step.
func TestOrderDoesNotBringTheEndOfTheProtectionIntoEffect(t *testing.T) {
	runLabWithOrders(t, nil, false, func(t *testing.T, l *lab, p *probe) {
		l.ok(l.sim.EditFile(201, func(text string) string { return text + "protection: 1\n\n[PENDING]\ndelete: protection\n" }))
		time.Sleep(10 * time.Minute)
		run := "start" + web1
		l.order(run)
		l.waitForOrder(run, journal.OrderRun)
		if got := l.sim.Config(201); !l.isProtected(201) || !l.sim.Running(201) || strings.Contains(got, "[PENDING]") {
			t.Errorf("got config\n%s\nrunning %t, want the guest started, and protected as before", got, l.sim.Running(201))
		}
	})
}

// TestCloneOfAProtectedTemplateStaysProtected: nothing takes the protection from a new clone without an approval, and its plan says so before.
func TestCloneOfAProtectedTemplateStaysProtected(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.protect(9000, "1")
		l.files["web.yaml"], l.files["db.yaml"] = vmYAML("web-1", 201, "lifecycle: {protection: false}"), vmYAML("db-1", 202)
		l.push("two guests", alice)
		defer l.start()()
		l.heldDigest(201, byProtection)
		time.Sleep(time.Hour)
		if !l.isProtected(201) || !l.isProtected(202) {
			t.Errorf("got protection %v of 201, %v of 202, want both", l.isProtected(201), l.isProtected(202))
		}
	})
}

// TestWaitingRemovalOfAProtectedGuest detaches a disk of a running VM that cannot give it back at once, so that the approved removal waits. Then a person protects the guest. A start, a
// stop, another write, and orders that would carry out the removal are held until an approval names the volume and the protection. Without the protection nothing is held.
func TestWaitingRemovalOfAProtectedGuest(t *testing.T) {
	t.Parallel()
	crash := func(l *lab) { // what waits still waits after a crash of the VM
		text := l.sim.Config(201)
		l.ok(l.sim.SetRunning(201, false))
		l.ok(l.sim.EditFile(201, func(string) string { return text }))
	}
	for name, test := range map[string]struct {
		protected bool
		lines     []string // of the manifest after the removal was written
		begin     func(*lab)
	}{
		"start":          {true, []string{"state: running"}, crash},
		"shutdown":       {true, []string{"state: stopped"}, func(*lab) {}},
		"write":          {true, []string{"description: other"}, crash},
		"order_start":    {true, nil, func(l *lab) { crash(l); l.order("start VirtualMachine/web-1") }},
		"order_reboot":   {true, nil, func(l *lab) { l.order("reboot VirtualMachine/web-1") }},
		"order_shutdown": {true, nil, func(l *lab) { l.order("shutdown VirtualMachine/web-1") }},
		"order_stop":     {true, nil, func(l *lab) { l.order("stop VirtualMachine/web-1") }},
		"not_protected":  {false, []string{"state: running"}, crash},
	} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.trustSigners(scoped(alice, nil, nil, verify.RoleChange), scoped(otto, nil, nil, verify.RoleOperate), scoped(olga, nil, nil, verify.RoleApprove))
				disk := func(text string, lines ...string) string {
					return vmYAML("web-1", 201, append([]string{"disks: {scsi1: " + text + "}"}, lines...)...)
				}
				l.files["web.yaml"] = disk("{storage: local-lvm, size: 1Gi}", "state: running")
				l.push("a guest", alice)
				defer l.start()()
				l.converge()
				volume, _, _ := strings.Cut(l.sim.Value(201, "scsi1"), ",")
				l.ok(l.sim.Edit(201, "hotplug", "network"))
				l.files["web.yaml"] = disk("{absent: true}")
				l.push("no disk", alice)
				detach := l.digestOfHold(201)
				l.approve(detach)
				eventually(l, "the removal that waits", func() bool { return strings.Contains(l.sim.Config(201), "delete: scsi1") })
				if test.protected {
					l.protect(201, "1")
				}
				time.Sleep(10 * time.Minute)
				test.begin(l)
				if test.lines != nil {
					l.files["web.yaml"] = disk("{absent: true}", test.lines...)
					l.waitForAcceptance(l.push("more", alice))
				}
				if test.protected {
					digest := l.heldDigest(201, "it carries out a removal that waits: scsi1="+volume+"; the guest is protected", detach)
					time.Sleep(10 * time.Minute)
					if got := l.sim.Value(201, "scsi1"); !strings.HasPrefix(got, volume) {
						t.Fatalf("got %q in the slot, want the volume of the protected guest to stay", got)
					}
					l.approve(digest)
				}
				eventually(l, "the removal", func() bool { return l.sim.Value(201, "scsi1") == "" })
				if test.protected && !l.isProtected(201) {
					t.Error("got the protection taken away")
				}
			})
		})
	}
}
