package reconcile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// ctYAML is the manifest of a container.
func ctYAML(name string, vmid int, lines ...string) string {
	return fmt.Sprintf("apiVersion: proxmox.gitops/v1alpha1\nkind: Container\nmetadata: {name: %s}\nspec:\n  vmid: %d\n  node: pve1\n"+
		"  source: {template: {volume: \"local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst\"}}\n  rootfs: {storage: local-lvm, size: 2Gi}\n", name, vmid) + indented(lines)
}

// runLabOfHA runs a test in virtual time on three nodes, with a list of guests that is as old as that of Proxmox.
func runLabOfHA(t *testing.T, test func(t *testing.T, l *lab)) {
	t.Helper()
	runLabOn(t, pvesim.Options{Nodes: []string{"pve1", "pve2", "pve3"}, ResourcesPeriod: 10 * time.Second}, func(t *testing.T, l *lab) {
		l.sim.SetPrivileges("gitops@pve!agent", []pvesim.ACL{{Path: "/", Role: "Administrator"}})
		l.trustOtto()
		test(t, l)
	})
}

// watch calls look four times in each second until the newest revision has converged.
func (l *lab) watch(look func(r report.Report)) {
	l.Helper()
	for range 4 * 1200 {
		r := l.engine.Report()
		look(r)
		if r.Converged && r.Source.Accepted.Commit == l.repo.Tip {
			return
		}
		time.Sleep(time.Second / 4)
	}
	l.Fatalf("got no convergence in twenty minutes: %+v", l.engine.Report().Guests)
}

// TestWrittenEntryIsNotAGuestThatRuns makes a guest of each kind under HA, with a guest that depends on it, and lets the HA manager shut it down and leave it alone. What a guest counts
// as is what others rest on: dependencies, the convergence of the revision with its statements and metrics, and the wait for it.
func TestWrittenEntryIsNotAGuestThatRuns(t *testing.T) {
	t.Parallel()
	for kind, manifest := range map[string]func(lines ...string) string{
		"VirtualMachine": func(lines ...string) string { return vmYAML("db-1", 201, lines...) },
		"Container":      func(lines ...string) string { return ctYAML("db-1", 201, lines...) },
	} {
		t.Run(kind, func(t *testing.T) {
			runLabOfHA(t, func(t *testing.T, l *lab) {
				l.files["db.yaml"] = manifest("ha: {state: started}")
				l.files["web.yaml"] = vmYAML("web-1", 202, "state: running", "dependsOn: ["+kind+"/db-1]")
				l.push("a guest under HA, and one that depends on it", alice)
				defer l.start()()
				said := false
				l.watch(func(r report.Report) {
					g := first(r)
					said = said || hasCondition(g, plan.WaitsFor, reason.WaitsFor) && hasCondition(g, plan.Pending, reason.Pending) && g.Health == report.Progressing
					if runs := l.sim.Running(201); !runs && (r.Converged || g.Sync == report.Synced || l.sim.Running(202)) {
						t.Fatalf("got the revision converged %t, the guest %s and its dependent running %t, want it to run before", r.Converged, g.Sync, l.sim.Running(202))
					}
				})
				if !said || !l.sim.Running(202) {
					t.Errorf("got said that it waits for the HA manager %t, its dependent running %t, want both", said, l.sim.Running(202))
				}
				for _, state := range []string{"stopped", "started", "disabled"} {
					l.files["db.yaml"] = manifest("ha: {state: " + state + "}")
					l.push(state, alice)
					shall := state == "started"
					if !shall {
						l.approve(l.digestOfHold(201))
					}
					l.watch(func(r report.Report) {
						if r.Source.Accepted.Commit == l.repo.Tip && first(r).Sync == report.Synced && l.sim.Running(201) != shall {
							t.Fatalf("%s: got it in sync and running %t, want it running %t before", state, l.sim.Running(201), shall)
						}
					})
				}
				l.files["db.yaml"] = manifest("ha: {state: ignored}")
				l.push("ignored", alice)
				l.approve(l.digestOfHold(201))
				l.converge()
				l.remains(201, "in sync, since the manager leaves it alone", func(g report.Guest) bool { return g.Sync == report.Synced })
				l.sim.ResetCounters()
				time.Sleep(time.Hour)
				if n := l.sim.Writes(); n != 0 || l.sim.Counters().Routes["GET /cluster/ha/status/manager_status"] != 0 {
					t.Errorf("got %d writes and %d readings of the HA manager's master in an hour in which nothing happened, want none", n, l.sim.Counters().Routes["GET /cluster/ha/status/manager_status"])
				}
			})
		})
	}
}

// first returns the report of the guest under HA, the zero value if there is none.
func first(r report.Report) report.Guest {
	for _, g := range r.Guests {
		if g.VMID == 201 {
			return g
		}
	}
	return report.Guest{}
}

// TestOnceWaitsForTheHAManager lets one run make a guest under HA and a guest that depends on it. Without a master of the HA manager, the run ends soon, and says why.
func TestOnceWaitsForTheHAManager(t *testing.T) {
	t.Parallel()
	for name, acts := range map[string]bool{"acts": true, "no master": false} {
		t.Run(name, func(t *testing.T) {
			runLabOfHA(t, func(t *testing.T, l *lab) {
				l.files["db.yaml"] = vmYAML("db-1", 201, "ha: {state: started}")
				l.files["web.yaml"] = vmYAML("web-1", 202, "state: running", "dependsOn: [VirtualMachine/db-1]")
				l.push("a guest under HA, and one that depends on it", alice)
				if !acts {
					l.sim.StopHAMaster()
				}
				time.Sleep(time.Minute) // until the list has the template
				began := time.Now()
				r := l.once()
				if took := time.Since(began); took > 2*time.Minute {
					t.Errorf("got a run of %s, want one of at most two minutes", took)
				}
				if r.Converged != acts || l.sim.Running(201) != acts || l.sim.Running(202) != acts {
					t.Errorf("got converged %t, running %t and %t, want all three %t", r.Converged, l.sim.Running(201), l.sim.Running(202), acts)
				}
				says := slices.ContainsFunc(first(r).Conditions, func(c plan.Condition) bool { return strings.Contains(c.Message, "the HA manager has no active master") })
				if says == acts {
					t.Errorf("got %+v, want it said that there is no master: %t", first(r).Conditions, !acts)
				}
			})
		})
	}
}

// TestHAManagerWithoutMaster lets a guest wait for an HA manager without a master: it stays pending, with the reason, however long that takes.
func TestHAManagerWithoutMaster(t *testing.T) {
	runLabOfHA(t, func(t *testing.T, l *lab) {
		l.sim.StopHAMaster()
		l.files["web.yaml"] = vmYAML("web-1", 201, "ha: {state: started}")
		l.push("one guest", alice)
		defer l.start()()
		eventually(t, "the reason", func() bool { return l.says(reason.WaitsFor, "the HA manager has no active master") })
		l.remains(201, "pending", func(g report.Guest) bool {
			return g.Sync == report.OutOfSync && g.Health == report.Progressing && hasCondition(g, plan.Pending, reason.Pending) && !l.engine.Report().Converged &&
				l.says(reason.WaitsFor, "the HA manager has no active master")
		})
		l.sim.StartHAMaster()
		l.converge()
		if !l.sim.Running(201) {
			t.Error("got it stopped, want it started")
		}
	})
}

// TestHAManagerThatCannotBeRead lets a guest wait for an HA manager whose state cannot be read: that is said, and the guest waits.
func TestHAManagerThatCannotBeRead(t *testing.T) {
	runLabOfHA(t, func(t *testing.T, l *lab) {
		const text = "it is unknown whether the HA manager acts, since its state cannot be read"
		l.sim.StopHAMaster()
		l.ok(l.sim.Inject(pvesim.Fault{Method: "GET", Path: "/manager_status$", Kind: pvesim.ErrorText, Text: "got timeout", Times: -1}))
		l.files["web.yaml"] = vmYAML("web-1", 201, "ha: {state: started}")
		l.push("one guest", alice)
		defer l.start()()
		eventually(t, "the reason", func() bool { return l.says(reason.WaitsFor, text) })
		l.remains(201, "pending, with the reason", func(g report.Guest) bool {
			return g.Sync == report.OutOfSync && g.Health == report.Progressing && l.says(reason.WaitsFor, text)
		})
		l.sim.StartHAMaster()
		l.converge()
		if !l.sim.Running(201) {
			t.Error("got it stopped, want it started")
		}
	})
}

// TestRunStateUnderHAOfANodeThatIsOffline cuts off the node of a guest under HA: its run state is unknown until the HA manager has started it elsewhere, and nothing of it is pending.
func TestRunStateUnderHAOfANodeThatIsOffline(t *testing.T) {
	runLabUnderHA(t, pvesim.Options{ResourcesPeriod: 10 * time.Second}, func(t *testing.T, l *lab) {
		l.sim.StopNode("pve1")
		eventually(t, "unknown", func() bool { return first(l.engine.Report()).Sync == report.SyncUnknown })
		l.watch(func(r report.Report) {
			g := first(r)
			switch on := l.nodeOf(201); {
			case on == "pve1" && (g.Sync != report.SyncUnknown || hasCondition(g, plan.Pending, reason.Pending)):
				t.Fatalf("got it %s with %+v on a node that is offline, want it unknown", g.Sync, g.Conditions)
			case r.Converged && !l.sim.Running(201):
				t.Fatal("got the revision converged, want the guest to run before")
			}
		})
		if on := l.nodeOf(201); on == "pve1" {
			t.Errorf("got it on %s, want it recovered elsewhere", on)
		}
	})
}

// TestMaintenanceKeepsTheRunState puts the node of a guest under HA into maintenance: whenever it counts as in sync, it runs.
func TestMaintenanceKeepsTheRunState(t *testing.T) {
	runLabUnderHA(t, pvesim.Options{ResourcesPeriod: 10 * time.Second}, func(t *testing.T, l *lab) {
		l.sim.SetMaintenance("pve1", true)
		eventually(t, "the move", func() bool {
			if g := first(l.engine.Report()); g.Sync == report.Synced && !l.sim.Running(201) {
				t.Fatal("got it in sync and stopped")
			}
			return l.nodeOf(201) != "pve1"
		})
		eventually(t, "convergence", func() bool { return l.engine.Report().Converged })
	})
}

// TestRolloutWaitsForTheHAManager rolls the start of machines under HA out, one at a time: each runs before the entry of the next one is written.
func TestRolloutWaitsForTheHAManager(t *testing.T) {
	runLabOfHA(t, func(t *testing.T, l *lab) {
		class := func(state string) {
			l.files["class.yaml"] = "apiVersion: proxmox.gitops/v1alpha1\nkind: GuestClass\nmetadata: {name: web}\nspec:\n  rollout: {canary: 1, maxUnavailable: 1, failAfter: 5m}\n" +
				"  virtualMachine: {adopt: ifUnmanaged, ha: {state: " + state + "}}\n"
		}
		const lowest, highest = 201, 203
		for vmid := lowest; vmid <= highest; vmid++ {
			_, err := l.sim.AddVM(pvesim.Guest{VMID: vmid, Config: fmt.Sprintf("name: web-%d\nmemory: 1024\n", vmid)})
			l.ok(err)
			l.files[fmt.Sprintf("web-%d.yaml", vmid)] = fmt.Sprintf("apiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: web-%d}\nspec: {vmid: %d, class: web}\n", vmid, vmid)
		}
		class("stopped")
		l.push("machines under HA", alice)
		defer l.start()()
		l.converge()
		time.Sleep(time.Minute)
		class("started")
		l.push("start them", alice)
		puts := func(vmid int) int {
			return l.sim.Counters().Objects[fmt.Sprintf("/cluster/ha/resources/vm:%d", vmid)]["PUT"]
		}
		l.watch(func(r report.Report) {
			for vmid := lowest; vmid < highest; vmid++ {
				if puts(vmid+1) > 0 && !l.sim.Running(vmid) {
					t.Fatalf("got the entry of %d written, want %d to run before", vmid+1, vmid)
				}
			}
		})
		if got := l.engine.Report().Rollouts; len(got) != 1 || got[0].State != journal.RolloutDone || !l.sim.Running(highest) {
			t.Errorf("got %+v and the last one running %t, want the rollout done and it to run", got, l.sim.Running(highest))
		}
	})
}

// TestOnceThatWaitsReadsLists lets a run wait for the HA manager beside many guests. It looks at the lists, and not at each guest again and again.
func TestOnceThatWaitsReadsLists(t *testing.T) {
	runLabOfHA(t, func(t *testing.T, l *lab) {
		const guests = 60
		for i := range guests {
			l.files[fmt.Sprintf("web-%d.yaml", i)] = vmYAML(fmt.Sprintf("web-%d", i), 210+i)
		}
		l.push("guests", alice)
		time.Sleep(time.Minute) // until the list has the template
		if r := l.once(); !r.Converged {
			t.Fatal("got guests that are not in sync, want all so")
		}
		l.files["db.yaml"] = vmYAML("db-1", 201, "ha: {state: started}")
		l.push("a guest under HA", alice)
		l.sim.StopHAMaster()
		l.sim.ResetCounters()
		begun := time.Now()
		l.once()
		if took := time.Since(begun); took < 20*time.Second || l.sim.Counters().Reads > 8*guests {
			t.Errorf("got %d reads in %s, want at most eight for each guest, and a run that waits", l.sim.Counters().Reads, took)
		}
	})
}

// TestFreshCloneThatComesUnderHA lets a person put a clone under HA before it has left the node of its template. The rules are read, and it goes to its node.
func TestFreshCloneThatComesUnderHA(t *testing.T) {
	runLabOfHA(t, func(t *testing.T, l *lab) {
		l.sim.SetMaintenance("pve2", true)
		l.files["web.yaml"] = strings.Replace(vmYAML("web-1", 201), "node: pve1", "node: pve2", 1)
		l.push("a clone for another node", alice)
		defer l.start()()
		eventually(t, "the clone", func() bool { return l.nodeOf(201) == "pve1" })
		time.Sleep(2 * time.Minute)
		l.callAs("root@pam!full", "POST", "/cluster/ha/resources", "sid=vm:201&state=stopped")
		l.sim.SetMaintenance("pve2", false)
		eventually(t, "the move", func() bool { return l.nodeOf(201) == "pve2" })
		l.converge()
	})
}
