package reconcile_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// wantRepair changes the memory of web-1 as a user and waits until the agent repairs it. The guest's memory is 2 GiB by its manifest.
func (l *lab) wantRepair(what string) {
	l.Helper()
	l.ok(l.sim.Edit(201, "memory", "4096"))
	eventually(l, what, func() bool { return l.sim.Value(201, "memory") == "2048" })
}

func TestUnreadableGuestDoesNotStopOthers(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
		l.files["db.yaml"] = vmYAML("db-1", 202, "memory: {size: 2Gi}")
		l.push("two guests", alice)
		defer l.start()()
		l.converge()
		l.ok(l.sim.Inject(pvesim.Fault{Method: "GET", Path: "/qemu/202/pending", Kind: pvesim.ProxyStatus, Status: 595, Times: -1}))
		eventually(t, "db-1 to be unknown", func() bool { return l.guest(l.engine.Report(), 202).Sync == report.SyncUnknown })
		time.Sleep(5 * time.Minute)
		l.wantRepair("the repair of the guest that can be read")
		r := l.engine.Report()
		if g := l.guest(r, 202); !r.Writes.Allowed || !hasCondition(g, plan.NotObserved, reason.NotObserved) || r.Time.Sub(g.ObservedAt) < 5*time.Minute {
			t.Errorf("got writes %+v, and db-1 seen at %s with %+v, want it unknown, with the age of its last reading", r.Writes, g.ObservedAt, g.Conditions)
		}
		l.sim.ClearFaults()
		l.converge()
	})
}

// TestExhaustedRangeDoesNotStopOthers adds one guest more than the range of the Cluster has vmids.
func TestExhaustedRangeDoesNotStopOthers(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["cluster.yaml"] = strings.Replace(clusterYAML, "to: 299", "to: 201", 1)
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
		l.files["a.yaml"] = vmYAML("a-1", 200)
		l.push("full", alice)
		defer l.start()()
		l.converge()
		l.files["b.yaml"] = withoutVMID(vmYAML("b-1", 205))
		l.waitForAcceptance(l.push("one too many", alice))
		l.wantRepair("the repair of a guest that has its vmid")
		r := l.engine.Report()
		if g := l.guest(r, 0); !hasCondition(g, plan.Blocked, reason.Impossible) || !r.Writes.Allowed || !r.Proxmox.Ready {
			t.Errorf("got %+v with writes %+v, want the condition only at that guest", g.Conditions, r.Writes)
		}
		l.files["cluster.yaml"] = clusterYAML
		l.push("a wider range", alice)
		l.converge()
	})
}

// TestUnknownTaskIsSettled makes a clone whose task has begun and is unknown to the node when the agent asks for it.
func TestUnknownTaskIsSettled(t *testing.T) {
	var mu sync.Mutex
	var settled []report.SettledOutcome
	noting := func(o *reconcile.Options) {
		o.Hooks.OnEvent = onOutcome(func(o report.SettledOutcome) {
			mu.Lock()
			defer mu.Unlock()
			settled = append(settled, o)
		})
	}
	runLabWithProbe(t, []labOption{noting}, func(t *testing.T, l *lab, p *probe) {
		p.setHooks(hooks{wait: func(upid string) error {
			if strings.Contains(upid, ":qmclone:") {
				synctest.Wait() // until the task has reserved the vmid: a step without any effect ends at once
				return fmt.Errorf("wait for %s: %w", upid, cluster.ErrNoTask)
			}
			return nil
		}})
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		if got := l.sim.Effects(201, pvesim.Cloned); got != 1 {
			t.Errorf("got %d clones, want 1", got)
		}
		synctest.Wait() // the outcome is journaled before the hook is called
		mu.Lock()
		defer mu.Unlock()
		if len(settled) != 1 || settled[0].Result != journal.Done || settled[0].Step.Step == "" || settled[0].Step.Revision != "main@sha1:"+l.repo.Tip {
			t.Errorf("got %+v of the create, want it done, after a read of the guest, with its step and its revision", settled)
		}
	})
}

// TestDeadNodeDoesNotStopOthers starts as many creates as there are lanes on a node that stops answering for its tasks.
func TestDeadNodeDoesNotStopOthers(t *testing.T) {
	runLabWithProbe(t, []labOption{func(o *reconcile.Options) { o.Parallel = 2 }}, func(t *testing.T, l *lab, p *probe) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		p.setHooks(hooks{wait: func(upid string) error {
			if strings.Contains(upid, ":vzcreate:") {
				return fmt.Errorf("wait for %s: %w", upid, cluster.ErrNotReady)
			}
			return nil
		}})
		for i := range 3 {
			dns := strings.Replace(dnsYAML(), "name: dns-1", fmt.Sprintf("name: dns-%d", i), 1)
			l.files[fmt.Sprintf("dns%d.yaml", i)] = strings.Replace(dns, "vmid: 210", fmt.Sprintf("vmid: 22%d", i), 1)
		}
		l.waitForAcceptance(l.push("three on the dying node", alice))
		eventually(t, "lanes that wait for tasks", func() bool { return l.engine.Report().Journal.Inflight >= 2 })
		l.wantRepair("the repair of a guest on a node that answers")
		p.setHooks(hooks{})
		l.converge()
		for i := range 3 {
			if got := l.sim.Effects(220+i, pvesim.Created); got != 1 {
				t.Errorf("got dns-%d created %d times, want once", i, got)
			}
		}
	})
}
