//go:build integration

package ha

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"os"
	"syscall"
	"time"

	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
)

// disturbance is what happens to an agent or to etcd while the leader works.
type disturbance struct {
	name string
	// begin disturbs, and returns what ends it. If another agent must lead afterwards, it has waited for that.
	begin func(w *world, leader, standby *agent) (end func())
	// brief ends the disturbance before the next change.
	brief bool
	// standby says that only the standby notices: the leader must go on, and the standby must be able to lead when the disturbance has ended.
	standby bool
	// etcd gives the world an etcd of its own.
	etcd bool
}

var disturbances = []disturbance{
	{name: "leader killed", begin: func(w *world, leader, _ *agent) func() {
		w.takeover(func() { w.kill(leader) })
		return func() { w.start(leader) }
	}},
	{name: "leader stopped", begin: func(w *world, leader, _ *agent) func() {
		w.takeover(func() { w.stop(leader) })
		return func() { w.resume(leader) }
	}},
	{name: "leader stopped at a record", begin: func(w *world, leader, _ *agent) func() {
		awaitRecord(w.etcd.Client(w), w.prefix, 2*time.Second)
		w.takeover(func() { w.stop(leader) })
		return func() { w.resume(leader) }
	}},
	{name: "leader stopped after its last check", begin: func(w *world, leader, _ *agent) func() {
		release := w.calls.holdCalls(leader.name)
		for began := time.Now(); w.calls.holds() == 0 && time.Since(began) < 3*time.Second; {
			time.Sleep(10 * time.Millisecond)
		}
		w.takeover(func() { w.stop(leader) })
		return func() {
			release() // these calls act although another agent leads
			time.Sleep(time.Second)
			w.resume(leader)
		}
	}},
	{name: "leader cut off from etcd", begin: func(w *world, leader, _ *agent) func() {
		w.takeover(func() { w.cutEtcd(leader) })
		return func() { w.healEtcd(leader) }
	}},
	{name: "leader cut off from the cluster", brief: true, begin: func(w *world, leader, _ *agent) func() {
		return w.cutCluster(leader)
	}},
	{name: "leader ended", begin: func(w *world, leader, _ *agent) func() {
		w.takeover(func() { w.terminate(leader) })
		return func() { w.start(leader) }
	}},
	{name: "leader without a member of etcd", begin: func(w *world, leader, _ *agent) func() {
		w.count("partitions", 1)
		leader.proxies[0].Cut()
		return leader.proxies[0].Heal
	}},
	{name: "slow member of etcd", begin: func(w *world, _, _ *agent) func() {
		for _, a := range w.agents {
			a.proxies[0].Delay(400 * time.Millisecond)
		}
		return func() {
			for _, a := range w.agents {
				a.proxies[0].Heal()
			}
		}
	}},
	{name: "member of etcd killed", etcd: true, begin: func(w *world, _, _ *agent) func() {
		member := w.etcd.Leader(w)
		w.count("members of etcd killed", 1)
		member.Stop(w)
		return func() { member.Start(w) }
	}},
	{name: "member of etcd stopped", etcd: true, begin: func(w *world, _, _ *agent) func() {
		member := w.etcd.Leader(w)
		w.count("members of etcd stopped", 1)
		member.Signal(w, syscall.SIGSTOP)
		return func() { member.Signal(w, syscall.SIGCONT) }
	}},
	{name: "clock of the leader changed", begin: func(w *world, leader, _ *agent) func() {
		w.changeClock(leader)
		return func() { w.setClock(leader, 0) }
	}},
	{name: "clocks changed, leader killed", begin: func(w *world, leader, standby *agent) func() {
		w.setClock(standby, w.jump())
		w.takeover(func() { w.kill(leader) })
		w.setClock(leader, w.jump())
		return func() { w.start(leader) }
	}},
	{name: "leader stopped, clock changed meanwhile", begin: func(w *world, leader, _ *agent) func() {
		w.takeover(func() {
			w.stop(leader)
			w.setClock(leader, w.jump())
		})
		return func() { w.resume(leader) }
	}},
	{name: "standby killed", standby: true, begin: func(w *world, _, standby *agent) func() {
		w.kill(standby)
		return func() { w.start(standby) }
	}},
	{name: "standby stopped", standby: true, begin: func(w *world, _, standby *agent) func() {
		w.stop(standby)
		return func() { w.resume(standby) }
	}},
	{name: "standby cut off from etcd", standby: true, begin: func(w *world, _, standby *agent) func() {
		w.cutEtcd(standby)
		w.await("the standby notices that etcd does not answer", func() bool {
			doc, ok := standby.status()
			return ok && doc.Journal.Reason == journal.FaultUnreachable && doc.Writes.Reason == reason.StopJournal
		})
		w.checkReady(standby, http.StatusServiceUnavailable)
		return func() {
			w.healEtcd(standby)
			w.await("the standby follows the journal again", func() bool {
				log, err := os.ReadFile(standby.log)
				return err == nil && bytes.Contains(log, []byte(`"event":"journal.followed"`))
			})
		}
	}},
	{name: "standby cut off from the cluster", standby: true, begin: func(w *world, _, standby *agent) func() {
		heal := w.cutCluster(standby)
		w.await("the standby notices that the cluster does not answer", func() bool {
			doc, ok := standby.status()
			return ok && doc.Writes.Reason == reason.StopNotReady
		})
		w.checkReady(standby, http.StatusServiceUnavailable)
		return heal
	}},
	{name: "clock of the standby changed", standby: true, begin: func(w *world, _, standby *agent) func() {
		w.changeClock(standby)
		return func() {}
	}},
	{name: "both killed", begin: func(w *world, leader, standby *agent) func() {
		w.takeover(func() {
			w.kill(leader)
			w.kill(standby)
			w.start(standby)
		})
		return func() { w.start(leader) }
	}},
	{name: "roles changed twice by kills", begin: func(w *world, leader, standby *agent) func() {
		w.takeover(func() { w.kill(leader) })
		w.start(leader)
		w.awaitStandby(leader)
		w.pause(6 * time.Second) // the new leader has a claim of three seconds, and then works
		w.takeover(func() { w.kill(standby) })
		return func() { w.start(standby) }
	}},
	{name: "roles changed twice by stops", begin: func(w *world, leader, standby *agent) func() {
		w.takeover(func() { w.stop(leader) })
		w.resume(leader)
		w.awaitStandby(leader)
		w.pause(6 * time.Second)
		w.takeover(func() { w.stop(standby) })
		return func() { w.resume(standby) }
	}},
}

// kill kills an agent.
func (w *world) kill(a *agent) {
	w.Helper()
	w.signal(a, syscall.SIGKILL)
	w.end(a)
	w.count("kills", 1)
}

// terminate lets an agent end.
func (w *world) terminate(a *agent) {
	w.Helper()
	w.signal(a, syscall.SIGTERM)
	w.end(a)
	w.count("ends", 1)
}

// stop stops an agent until resume.
func (w *world) stop(a *agent) {
	w.Helper()
	w.signal(a, syscall.SIGSTOP)
	w.count("stops", 1)
}

func (w *world) resume(a *agent) {
	w.Helper()
	w.signal(a, syscall.SIGCONT)
}

// cutEtcd separates an agent from every member of etcd until healEtcd.
func (w *world) cutEtcd(a *agent) {
	for _, p := range a.proxies {
		p.Cut()
	}
	w.count("partitions", 1)
}

func (w *world) healEtcd(a *agent) {
	for _, p := range a.proxies {
		p.Heal()
	}
}

// cutCluster separates an agent from the cluster.
func (w *world) cutCluster(a *agent) (heal func()) {
	a.api.Cut()
	w.count("partitions", 1)
	return a.api.Heal
}

// setClock changes the wall clock of an agent: it is ahead by d. The monotonic clock goes on.
func (w *world) setClock(a *agent, d time.Duration) {
	w.Helper()
	a.clock.Wall = d
	w.ok(a.clock.Set())
	w.count("clock changes", 1)
}

// changeClock changes the wall clock of an agent that runs, and checks that it has noticed.
func (w *world) changeClock(a *agent) {
	w.Helper()
	d := w.jump()
	w.setClock(a, d)
	resp, err := http.Get("http://" + a.address + "/healthz")
	w.ok(err)
	_ = resp.Body.Close() // only the time counts
	shows, err := http.ParseTime(resp.Header.Get("Date"))
	w.ok(err)
	if off := time.Until(shows) - d; off.Abs() > 5*time.Minute {
		w.Errorf("got the time %s from %s, want %s more than the real one", shows, a.name, d)
	}
}

// checkReady fails the test if the probe of an agent has another status.
func (w *world) checkReady(a *agent, want int) {
	w.Helper()
	resp, err := http.Get("http://" + a.address + "/readyz")
	w.ok(err)
	_ = resp.Body.Close() // only the status counts
	if resp.StatusCode != want {
		w.Errorf("got the status %d of /readyz of %s, want %d", resp.StatusCode, a.name, want)
	}
}

// jump returns by how much a clock is wrong.
func (w *world) jump() time.Duration {
	return []time.Duration{15 * time.Minute, -15 * time.Minute, 2 * time.Hour, -2 * time.Hour, 24 * time.Hour, -24 * time.Hour}[w.rng.IntN(6)]
}

// pause waits for a random time.
func (w *world) pause(limit time.Duration) { time.Sleep(rand.N(limit)) }

// takeover disturbs the leader and awaits that another agent leads.
func (w *world) takeover(disturb func()) {
	w.Helper()
	_, number := w.leader()
	began := time.Now()
	disturb()
	w.await("another leader", func() bool { _, now := w.leader(); return now > number })
	w.took = append(w.took, time.Since(began))
}

// handOver ends the leader, and starts it again when the other agent leads.
func (w *world) handOver() {
	w.Helper()
	leader, _ := w.leader()
	if leader == nil {
		w.Fatal("no agent leads")
	}
	w.takeover(func() { w.terminate(leader) })
	w.start(leader)
}
