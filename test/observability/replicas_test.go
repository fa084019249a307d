//go:build integration

package observability

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"syscall"

	"gitops-agent/internal/etcdtest"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// replica is one of two agents that share a journal in etcd.
type replica struct {
	name, address string
	etcd          *etcdtest.Proxy // before the only member of etcd; nil: all members are reached
	members       []string        // endpoints of all members
	process       *process
}

// replicas lets two agents share a journal, loses one of them and etcd, and lets an old copy of etcd replace it.
func replicas(w *world) {
	etcd := etcdtest.Start(w, 1)
	w.settings.cluster = "pair"
	w.repo.Files["cluster.yaml"] = manifest("Cluster", "pair", "vmids: {from: 201, to: 999}")
	w.repo.Files["web.yaml"] = machine("web-1", 201)
	first := &replica{name: "first", address: w.address, etcd: etcdtest.NewProxy(w, etcd.Members[0].Address())}
	second := &replica{name: "second", address: freeAddress(w), etcd: etcdtest.NewProxy(w, etcd.Members[0].Address())}
	both := []*replica{first, second}
	for _, r := range both {
		w.startReplica(r)
	}
	w.leads(first, second)
	w.push("a guest")
	w.converged()
	old := etcd.Save(w)
	w.leads(first, second)
	w.repo.Files["db.yaml"] = machine("db-1", 202)
	w.push("another guest, which the copy does not know")
	w.converged()
	standby, leader := second, w.leads(first, second)
	if leader == second {
		standby = first
	}
	w.ready(standby)
	for _, r := range both { // Prometheus takes new targets every five seconds, which would be enough for the leader to miss a standby
		w.prometheus.target(r.address)
		w.Cleanup(func() { w.prometheus.forget(r.address) })
	}
	for _, r := range both {
		w.look(r)
		w.scraped()
	}
	w.look(leader)
	w.quiet("GitopsAgentStandbyMissing", "GitopsAgentStoreRolledBack", "GitopsAgentLeaderFlapping", "GitopsAgentJournalDamaged")

	standby.process.stop(os.Kill)
	w.fires("GitopsAgentStandbyMissing")
	w.startReplica(standby)
	w.look(leader)
	w.resolve("GitopsAgentStandbyMissing")

	standby.etcd.Cut()
	w.look(standby)
	w.fires("GitopsAgentStoreUnreachable")
	standby.etcd.Heal()
	w.resolve("GitopsAgentStoreUnreachable")
	w.ready(standby)

	cut(both)
	w.fires("GitopsAgentNoLeader")
	heal(both)
	w.resolve("GitopsAgentNoLeader")

	// Each agent ends in turn while it leads.
	leader = w.leads(first, second)
	for range 5 {
		leader.process.stop(syscall.SIGTERM)
		ended := leader
		leader = w.leads(first, second)
		w.startReplica(ended)
		w.ready(ended)
	}
	w.look(leader)
	w.fires("GitopsAgentLeaderFlapping")

	// An old copy replaces etcd, and then the newest data replaces the copy.
	cut(both)
	newest := etcd.Save(w)
	etcd.Restore(w, old)
	heal(both)
	w.fires("GitopsAgentStoreRolledBack")
	cut(both)
	etcd.Restore(w, newest)
	heal(both)
	w.resolve("GitopsAgentStoreRolledBack", "GitopsAgentLeaderFlapping")
	w.leads(first, second)
	w.converged()
	w.quiet("GitopsAgentJournalDamaged")
}

// startReplica starts one of the agents and waits until it serves.
func (w *world) startReplica(r *replica) {
	w.Helper()
	endpoints := r.members
	if r.etcd != nil {
		endpoints = []string{"http://" + r.etcd.Address()}
	}
	list, err := json.Marshal(endpoints)
	w.ok(err)
	w.settings.journal = fmt.Sprintf("journal: {etcd: {endpoints: %s, prefix: /pair, name: %s}}", list, r.name)
	config := w.writeConfig(r.name+".yaml", w.path(r.name), r.address)
	r.process = startProcess(w, w.log, w.program(context.Background(), "run", "--config", config))
	w.look(r)
	await(w, r.name+" to serve", func() bool {
		w.alive()
		_, ok := w.document()
		return ok
	})
}

// look makes one of the agents the one that the world looks at.
func (w *world) look(r *replica) { w.address, w.process = r.address, r.process }

// leads waits until one of the agents leads, looks at it and returns it.
func (w *world) leads(agents ...*replica) (leader *replica) {
	w.Helper()
	await(w, "an agent to lead", func() bool {
		for _, r := range agents {
			w.look(r)
			if doc, ok := w.document(); ok && doc.Replica != nil && doc.Replica.Role == report.RoleLeader && doc.Journal.Healthy {
				leader = r
			}
		}
		return leader != nil
	})
	w.look(leader)
	return leader
}

// ready waits until a standby could take over.
func (w *world) ready(r *replica) {
	w.Helper()
	before := replica{address: w.address, process: w.process}
	w.look(r)
	w.until(r.name+" to be ready", func(d report.Document) bool { return d.Writes.Reason == reason.StopStandby })
	w.look(&before)
}

func cut(agents []*replica) {
	for _, r := range agents {
		r.etcd.Cut()
	}
}

func heal(agents []*replica) {
	for _, r := range agents {
		r.etcd.Heal()
	}
}
