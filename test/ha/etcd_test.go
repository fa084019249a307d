//go:build integration

package ha

import (
	"testing"
	"time"

	"gitops-agent/internal/etcdtest"
	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/journal"
)

// TestLostQuorum kills two of three members while the agents run: nothing is written until the members are back.
func TestLostQuorum(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, 3)
	w := begin(t, etcd)
	etcd.Members[1].Stop(t)
	etcd.Members[2].Stop(t)
	w.await("no agent leads by its own account", func() bool {
		for _, a := range w.agents {
			if doc, ok := a.status(); !ok || doc.Journal.Healthy || doc.Writes.Allowed {
				return false
			}
		}
		return true
	})
	before := w.calls.number()
	w.machine(603, 512, "running")
	w.push("one more")
	time.Sleep(10 * time.Second)
	if n := w.calls.number() - before; n > 0 {
		t.Errorf("got %d calls without a quorum, want none", n)
	}
	etcd.Members[1].Start(t)
	etcd.Members[2].Start(t)
	inDoubt := w.awaitConverged()
	w.checkJournal(inDoubt)
	if n := w.sim.Effects(603, pvesim.Created); inDoubt == 0 && n != 1 {
		t.Errorf("got guest 603 created %d times, want once", n)
	}
	w.checkLate()
}

// TestOldCopy restores an old copy of etcd while the agents run: neither the leader nor its successor writes any more, and both say why.
func TestOldCopy(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, 1)
	w := begin(t, etcd)
	old := etcd.Save(t)
	w.machine(603, 512, "running")
	w.push("a guest that the copy does not know")
	w.awaitConverged()
	etcd.Restore(t, old)
	w.machine(604, 512, "running")
	w.push("one more")
	first, _ := w.leader()
	rolledBack := func(a *agent) func() bool {
		return func() bool {
			doc, ok := a.status()
			return ok && doc.Journal.Reason == journal.FaultRolledBack && !doc.Writes.Allowed
		}
	}
	w.await("a stop of the leader", rolledBack(first))
	before := w.calls.number()
	w.kill(first)
	for _, a := range w.agents {
		if a != first {
			w.await("a stop of the next leader", rolledBack(a))
		}
	}
	w.start(first)
	w.await("a stop of the first leader after its restart", func() bool { doc, ok := first.status(); return ok && !doc.Writes.Allowed })
	time.Sleep(10 * time.Second) // longer than the wait of a claim
	if n := w.calls.number() - before; n > 0 {
		t.Errorf("got %d calls after the rollback was found, want none", n)
	}
	if got := [2]int{w.sim.Effects(603, pvesim.Created), w.sim.Effects(604, pvesim.Created)}; got != [2]int{1, 0} {
		t.Errorf("got the guests 603 and 604 created %v times, want [1 0]", got)
	}
}

// begin starts two agents in a world of its own and awaits that they have converged on two guests.
func begin(t testing.TB, etcd *etcdtest.Cluster) *world {
	t.Helper()
	w := newWorld(t, build(t), etcd, "home", 0)
	w.repo.Files["cluster.yaml"] = clusterManifest
	w.machine(601, 512, "running")
	w.machine(602, 512, "stopped")
	w.push("two guests")
	for _, a := range w.agents {
		w.start(a)
	}
	w.awaitConverged()
	return w
}
