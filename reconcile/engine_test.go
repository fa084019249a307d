package reconcile_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

func TestEngineConverges(t *testing.T) {
	t.Parallel()
	sim := newSim(t, pvesim.Options{})
	l := newLab(t, sim)
	l.files["cluster.yaml"] = clusterYAML
	l.files["web.yaml"] = vmYAML("web-1", 201, "cpu: {cores: 2}", "memory: {size: 2Gi}", "tags: [web]", "disks: {scsi0: {size: 8Gi}}", "state: running")
	l.files["dns.yaml"] = dnsYAML("memory: {size: 512Mi}", "networks: {net0: {name: eth0, bridge: vmbr0, ip4: dhcp}}", "state: running")
	l.push("two guests", alice)
	r := l.once()
	for _, g := range r.Guests {
		if g.Sync != report.Synced {
			t.Errorf("got %s %s: %+v, want it in sync", g.Label(), g.Sync, g)
		}
	}
	for vmid, created := range map[int]pvesim.Op{201: pvesim.Cloned, 210: pvesim.Created} {
		if got := sim.Effects(vmid, created); got != 1 {
			t.Errorf("got %d times %s for %d, want 1", got, created, vmid)
		}
		if !sim.Running(vmid) {
			t.Errorf("got %d not running, want it running; config:\n%s", vmid, sim.Config(vmid))
		}
	}
	if got := sim.Value(201, "memory"); got != "2048" {
		t.Errorf("got memory %q, want 2048", got)
	}
	if got := sim.Value(201, "description"); got != "" {
		t.Errorf("got description %q, want the claim note gone", got)
	}
	if v := sim.Violations(); len(v) != 0 {
		t.Errorf("got violations %v, want none", v)
	}
	// A second run of the agent has nothing to do.
	sim.ResetCounters()
	if r := l.once(); !r.Converged {
		t.Errorf("got %+v from a second run, want it converged", r)
	}
	if got := sim.Counters().Writes; got != 0 {
		t.Errorf("got %d writes from a second run, want none", got)
	}
}

// runLab runs a test of an agent in virtual time, in parallel with other tests.
func runLab(t *testing.T, options []labOption, test func(t *testing.T, l *lab)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, newSim(t, pvesim.Options{}), options...)
		l.files["cluster.yaml"] = clusterYAML
		test(t, l)
	})
}

// converge waits until the agent reports that the newest commit of the lab is accepted and converged.
func (l *lab) converge() {
	l.Helper()
	eventually(l, "convergence", func() bool {
		r := l.engine.Report()
		return r.Converged && r.Source.Accepted != nil && r.Source.Accepted.Commit == l.repo.Tip
	})
}

func TestEngineRepairsDrift(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.ok(l.sim.Edit(201, "memory", "4096"))
		eventually(t, "the repair", func() bool { return l.sim.Value(201, "memory") == "2048" })
		l.converge()
		if got := l.sim.Effects(201, pvesim.Started); got != 0 {
			t.Errorf("got %d starts of a guest whose manifest has no state, want none", got)
		}
	})
}

func TestEngineHoldsLastGoodStateAfterUnsignedCommit(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
		good := l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 8Gi}")
		spec := sigtest.CommitSpec{Tree: l.repo.Tree(), Parents: []string{good}, Message: "not signed"}
		raw := spec.Payload(time.Now())
		l.repo.Place(raw, sigtest.ObjectID("commit", raw))
		eventually(t, "the refusal", func() bool { return l.engine.Report().Source.Refused != nil })
		r := l.engine.Report()
		if got := r.Source.Refused.Reason; got != "unsigned" {
			t.Errorf("got reason %q, want unsigned", got)
		}
		if r.Source.Accepted.Commit != good {
			t.Errorf("got %s in force, want %s", r.Source.Accepted.Commit, good)
		}
		l.ok(l.sim.Edit(201, "memory", "4096"))
		eventually(t, "the repair to the last good state", func() bool { return l.sim.Value(201, "memory") == "2048" })
	})
}

func TestEngineDestroysOnceWhenApproved(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "state: running")
		l.files["db.yaml"] = vmYAML("db-1", 202, "lifecycle: {protection: true}")
		l.push("two guests", alice)
		defer l.start()()
		l.converge()
		delete(l.files, "db.yaml")
		l.push("remove db-1", alice)
		var digest string
		eventually(t, "the held destroy", func() bool {
			for _, g := range l.engine.Report().Guests {
				if g.VMID == 202 && len(g.Held) == 1 {
					digest = g.Held[0].Digest
				}
			}
			return digest != ""
		})
		time.Sleep(10 * time.Minute)
		if got := l.sim.Effects(202, pvesim.Destroyed); got != 0 {
			t.Fatalf("got %d destroys without an approval, want none", got)
		}
		// Alice may change and not approve, so her order is not valid.
		l.push("Approve\n\nGitops-Approve: "+digest+"\n", alice)
		time.Sleep(5 * time.Minute)
		if got := l.sim.Effects(202, pvesim.Destroyed); got != 0 {
			t.Fatalf("got %d destroys by a user who may not approve, want none", got)
		}
		l.push("Approve\n\nGitops-Approve: "+digest+"\n", olga)
		eventually(t, "the destroy", func() bool { return l.sim.Effects(202, pvesim.Destroyed) == 1 })
		l.converge()
		if got := l.sim.Effects(201, pvesim.Destroyed) + l.sim.Effects(201, pvesim.Stopped); got != 0 {
			t.Errorf("got %d effects on the other guest, want none", got)
		}
		for key, order := range l.journal.State().Orders {
			if order.Subject == olga.Subject && order.State != journal.OrderRun {
				t.Errorf("got order %s %s, want it run", key, order.State)
			}
		}
	})
}

func TestEngineDestroyDenied(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.files["db.yaml"] = vmYAML("db-1", 202, "lifecycle: {destroy: deny}")
		l.push("two guests", alice)
		defer l.start()()
		l.converge()
		delete(l.files, "db.yaml")
		l.push("remove db-1", alice)
		eventually(t, "the held destroy", func() bool {
			g := l.engine.Report().Guests
			return len(g) == 2 && len(g[1].Held) == 1 && g[1].Held[0].Reason == reason.ManifestForbids
		})
		time.Sleep(time.Hour)
		if got := l.sim.Effects(202, pvesim.Destroyed); got != 0 {
			t.Errorf("got %d destroys of a guest whose last manifest denied it, want none", got)
		}
	})
}

func TestEngineEmptyRepositoryPrunesNothing(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "lifecycle: {destroy: allow}")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		delete(l.files, "web.yaml")
		l.push("nothing left", alice)
		eventually(t, "the hold", func() bool {
			g := l.engine.Report().Guests
			return len(g) == 1 && len(g[0].Held) == 1 && g[0].Held[0].Reason == reason.DestroyLimit
		})
	})
}

// TestConvergedClusterGetsNoWrites gives the guests every spelling that Proxmox and users write, forces full reads, and counts the writes over a
// hundred cycles. Then it makes an edit that the list of guests does not show.
func TestConvergedClusterGetsNoWrites(t *testing.T) {
	fullReads := func(o *reconcile.Options) { o.Tick, o.Resync = 15*time.Second, 15*time.Second }
	runLab(t, []labOption{fullReads}, func(t *testing.T, l *lab) {
		l.sim.SetPrivileges("gitops@pve!agent", []pvesim.ACL{{Path: "/", Role: "Administrator"}}) // startup needs Sys.Modify
		l.files["web.yaml"] = vmYAML("web-1", 201, "description: serves the web", "cpu: {cores: 2}", "memory: {size: 2Gi}", "tags: [web, prod]",
			"agent: {enabled: true, fstrim: true}", "networks: {net0: {bridge: vmbr0, vlan: 20, firewall: true}}",
			"disks: {scsi0: {size: 8Gi, discard: true}, scsi1: {storage: local-lvm, size: 4Gi}}", "startup: {onBoot: true, order: 2, upDelay: 10s}", "state: running")
		l.files["dns.yaml"] = dnsYAML("description: resolves", "memory: {size: 512Mi}", "tags: [dns]", "features: {nesting: true}",
			"networks: {net0: {name: eth0, bridge: vmbr0, ip4: dhcp}}", "dns: {servers: [1.1.1.1, 9.9.9.9]}")
		l.push("two guests", alice)
		defer l.start()()
		l.converge()
		l.respell(201, "tags", func(old string) string {
			return "PROD;" + strings.ReplaceAll(strings.ReplaceAll(old, ";prod", ""), "prod;", "")
		})
		l.respell(201, "agent", func(string) string { return "fstrim_cloned_disks=1,enabled=yes" })
		l.respell(201, "startup", func(string) string { return "up=10,order=2" })
		l.respell(201, "net0", func(old string) string { return strings.Replace(old, "firewall=1", "firewall=on", 1) })
		l.respell(210, "net0", func(old string) string { return "type=veth," + strings.Replace(old, ",type=veth", "", 1) })
		time.Sleep(5 * time.Minute)
		l.sim.ResetCounters()
		from := l.engine.Report().Cycle
		time.Sleep(100 * 15 * time.Second)
		counted := l.sim.Counters()
		if got := l.engine.Report().Cycle - from; got < 100 {
			t.Errorf("got %d cycles, want at least 100", got)
		}
		if counted.Writes != 0 {
			t.Errorf("got %d writes to a converged cluster, want none; routes %v", counted.Writes, counted.Routes)
		}
		if r := l.engine.Report(); !r.Converged {
			t.Errorf("got a report that is not converged: %+v", r.Guests)
		}
		if got := counted.Routes["GET /nodes/{node}/qemu/{vmid}/pending"]; got < 100 {
			t.Errorf("got %d full reads of the virtual machine in 100 cycles, want them forced", got)
		}
		l.ok(l.sim.Edit(210, "onboot", "1"))
		l.ok(l.sim.Edit(201, "startup", "order=9"))
		eventually(t, "the repair of an edit that the list does not show", func() bool {
			return strings.Contains(l.sim.Value(201, "startup"), "up=10")
		})
	})
}

// respell rewrites a value in Proxmox to another spelling of the same value.
func (l *lab) respell(vmid int, key string, spell func(old string) string) {
	l.Helper()
	old := l.sim.Value(vmid, key)
	if spelled := spell(old); spelled == old {
		l.Fatalf("got the same spelling %q of %s, want another one", old, key)
	}
	l.ok(l.sim.Edit(vmid, key, spell(old)))
}

func TestEngineRemoteDown(t *testing.T) {
	runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.repo.Git(nil, "symbolic-ref", "HEAD", "refs/heads/gone")
		l.repo.Git(nil, "update-ref", "-d", "refs/heads/main")
		eventually(t, "the error of the source", func() bool { return l.engine.Report().Source.Error != "" })
		l.ok(l.sim.Edit(201, "memory", "4096"))
		eventually(t, "the repair by the last good state", func() bool { return l.sim.Value(201, "memory") == "2048" })
		l.repo.Git(nil, "update-ref", "refs/heads/main", l.repo.Tip)
		eventually(t, "the recovery", func() bool { return l.engine.Report().Source.Error == "" })
	})
}

func TestEngineClusterDown(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.ok(l.sim.Inject(pvesim.Fault{Method: "GET", Kind: pvesim.ProxyStatus, Status: 595, Times: -1}))
		eventually(t, "the error of the cluster", func() bool {
			r := l.engine.Report()
			return r.Proxmox.Error != "" && !r.Writes.Allowed
		})
		l.sim.ClearFaults()
		l.converge()
	})
}

func TestEngineTokenDenied(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.sim.SetPrivileges("gitops@pve!agent", []pvesim.ACL{{Path: "/", Role: "PVEAuditor"}})
		l.ok(l.sim.Edit(201, "memory", "4096"))
		l.sim.ResetCounters()
		eventually(l, "a condition that names key and privilege", func() bool {
			for _, c := range l.guest(l.engine.Report(), 201).Conditions {
				if c.Type == plan.Failed && c.Reason == reason.Denied && strings.Contains(c.Message, "VM.Config.Memory on /vms/201") && strings.Contains(c.Message, "memory (web.yaml:") {
					return true
				}
			}
			return false
		})
		time.Sleep(20 * time.Minute)
		if got := l.sim.Counters().Writes; got != 1 {
			t.Errorf("got %d writes that the token may not send, want 1 until a user acts", got)
		}
	})
}

func TestEngineAssignsVMIDs(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		_, err := l.sim.AddVM(pvesim.Guest{VMID: 200, Config: "name: stranger\n"})
		l.ok(err)
		l.files["web.yaml"] = strings.Replace(vmYAML("web-1", 201), "  vmid: 201\n", "", 1)
		l.push("a guest without a vmid", alice)
		defer l.start()()
		l.converge()
		if got := l.sim.Value(201, "name"); got != "web-1" {
			t.Errorf("got name %q for vmid 201, want web-1 on the first free one", got)
		}
		if got := l.sim.Effects(200, pvesim.ConfigWritten); got != 0 {
			t.Errorf("got %d writes to another guest, want none", got)
		}
	})
}

func TestEngineAdopts(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		_, err := l.sim.AddVM(pvesim.Guest{VMID: 205, Config: "name: legacy\nmemory: 1024\ntags: old\n", Running: true})
		l.ok(err)
		manifest := "apiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: legacy}\nspec:\n  vmid: 205\n  startup: {onBoot: true}\n"
		l.files["legacy.yaml"] = manifest
		l.push("a guest that exists", alice)
		defer l.start()()
		eventually(t, "the conflict", func() bool {
			g := l.engine.Report().Guests
			return len(g) == 1 && g[0].Health == report.Degraded
		})
		if got := l.sim.Effects(205, pvesim.ConfigWritten); got != 0 {
			t.Fatalf("got %d writes to an unmanaged guest, want none", got)
		}
		l.files["legacy.yaml"] = manifest + "  adopt: ifUnmanaged\n"
		l.push("adopt it", alice)
		l.converge()
		if tags := l.sim.Value(205, "tags"); !strings.Contains(tags, "old") || !strings.Contains(tags, "gitops-") {
			t.Errorf("got tags %q, want the old one and the marker", tags)
		}
	})
}

func TestEngineOrdersByDependency(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "state: running", "dependsOn: [VirtualMachine/db-1]")
		l.files["db.yaml"] = vmYAML("db-1", 202, "state: running")
		l.push("two guests", alice)
		defer l.start()()
		l.converge()
		var order []string
		for _, s := range l.steps {
			if s.Step.Op == cluster.OpStart || s.Step.Op == cluster.OpCreate {
				order = append(order, string(s.Step.Op)+" "+s.Step.Guest.Name)
			}
		}
		want := "create db-1, start db-1, create web-1, start web-1"
		if got := strings.Join(order, ", "); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// TestOldReadingsAreUnknownWhileTheClusterIsDown makes the cluster unavailable: the report does not present an old reading as the present state.
func TestOldReadingsAreUnknownWhileTheClusterIsDown(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.ok(l.sim.Inject(pvesim.Fault{Method: "GET", Kind: pvesim.ProxyStatus, Status: 595, Times: -1}))
		eventually(t, "the guest to be unknown", func() bool { return l.guest(l.engine.Report(), 201).Sync == report.SyncUnknown })
		l.sim.ClearFaults()
		l.converge()
	})
}
