//go:build integration

package ha

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gitops-agent/internal/etcdtest"
	"gitops-agent/internal/gittest"
	"gitops-agent/internal/gooverlay"
	"gitops-agent/internal/loopback"
	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/journal/etcdstore"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// patience is the longest time to wait for a state that must come.
const patience = 100 * time.Second

var alice = sigtest.Identity{Subject: "alice@lab.test", Issuer: "https://issuer.test"}

// world is what belongs to one seed.
type world struct {
	testing.TB
	program string
	dir     string
	sim     *pvesim.Sim
	sig     *sigtest.Sigstore
	repo    *gittest.Repo
	etcd    *etcdtest.Cluster
	prefix  string
	agents  []*agent
	calls   calls
	rng     *rand.Rand
	took    []time.Duration // of takeovers
	counts  map[string]int  // of what was done
}

// agent is an agent with a state directory and connections to etcd of its own.
type agent struct {
	name, config, log, address string
	proxies                    []*etcdtest.Proxy // one for each member of etcd
	api                        *etcdtest.Proxy   // in front of the simulated cluster
	clock                      *gooverlay.Clock
	cmd                        *exec.Cmd // nil while it does not run
	ended                      chan struct{}
}

func newWorld(t testing.TB, program string, etcd *etcdtest.Cluster, name string, seed uint64) *world {
	t.Helper()
	w := &world{
		TB: t, program: program, dir: t.TempDir(), etcd: etcd, prefix: "/" + name, repo: gittest.New(t),
		rng: rand.New(rand.NewPCG(seed, 19)), counts: map[string]int{},
	}
	var err error
	w.sig, err = sigtest.New(sigtest.Options{Name: "ha"})
	w.ok(err)
	root, err := w.sig.TrustedRoot()
	w.ok(err)
	w.sim = pvesim.New(pvesim.Options{Nodes: []string{"pve1", "pve2"}, TaskTime: 700 * time.Millisecond})
	cert, err := pvesim.NewCertificate()
	w.ok(err)
	t.Cleanup(w.sim.Close)
	for file, content := range map[string]string{"root.json": string(root), "token": w.sim.Token("root@pam!full") + "\n", "cert": string(cert.PEM)} {
		w.ok(os.WriteFile(filepath.Join(w.dir, file), []byte(content), 0o600))
	}
	for i := range 2 {
		name := fmt.Sprintf("agent-%d", i)
		api := etcdtest.NewProxy(t, w.calls.serve(t, name, w.sim, cert.Config))
		a := w.newAgent(name, "https://"+api.Address())
		a.api = api
		w.agents = append(w.agents, a)
	}
	w.calls.followElections(t, etcd.Client(t), w.prefix)
	t.Cleanup(func() {
		for _, a := range w.agents {
			if log, err := os.ReadFile(a.log); err == nil && t.Failed() {
				t.Logf("the end of the log of %s:\n%s", a.name, log[max(0, len(log)-12<<10):])
			}
		}
	})
	return w
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) newAgent(name, endpoint string) *agent {
	w.Helper()
	address, err := loopback.FreeAddress()
	w.ok(err)
	a := &agent{name: name, config: filepath.Join(w.dir, name+".yaml"), log: filepath.Join(w.dir, name+".log"), address: address}
	a.clock = &gooverlay.Clock{File: filepath.Join(w.dir, name+".clock")}
	w.ok(a.clock.Set())
	endpoints := ""
	for _, m := range w.etcd.Members {
		p := etcdtest.NewProxy(w, m.Address())
		a.proxies = append(a.proxies, p)
		endpoints += "http://" + p.Address() + ","
	}
	w.ok(os.WriteFile(a.config, fmt.Appendf(nil, `
cluster: {name: home}
source: {remotes: [{url: "file://%s"}], poll: 1s}
trust:
  trusted_root_file: %s
  signers: [{name: alice, issuer: %q, subject: %q, may: [change]}]
  binding: none
  trust_on_first_use: true
proxmox: {endpoints: [%q], token_file: %s, ca_file: %s, tick: 1s, resync: 3s}
state_dir: %s
journal: {etcd: {endpoints: [%s], prefix: %s, name: %s}}
listen: %s
`, w.repo.Dir, filepath.Join(w.dir, "root.json"), alice.Issuer, alice.Subject, endpoint, filepath.Join(w.dir, "token"), filepath.Join(w.dir, "cert"),
		filepath.Join(w.dir, name), endpoints[:len(endpoints)-1], w.prefix, name, a.address), 0o600))
	return a
}

func (w *world) start(a *agent) {
	w.Helper()
	log, err := os.OpenFile(a.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	w.ok(err)
	defer func() { _ = log.Close() }()
	cmd, ended := exec.Command(w.program, "run", "--config", a.config), make(chan struct{})
	cmd.Env = append(os.Environ(), a.clock.Env())
	cmd.Stdout, cmd.Stderr = log, log
	w.ok(cmd.Start())
	go func() {
		_ = cmd.Wait() // the caller looks at its ProcessState
		close(ended)
	}()
	a.cmd, a.ended = cmd, ended
	w.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
}

func (w *world) signal(a *agent, s syscall.Signal) {
	w.Helper()
	w.ok(a.cmd.Process.Signal(s))
}

// end waits for the end of an agent that was killed or ended.
func (w *world) end(a *agent) {
	w.Helper()
	select {
	case <-a.ended:
		a.cmd = nil
	case <-time.After(patience):
		w.Fatalf("%s does not end", a.name)
	}
}

// status returns the status of an agent, if it answers.
func (a *agent) status() (report.Document, bool) {
	client := http.Client{Timeout: time.Second}
	resp, err := client.Get("http://" + a.address + "/status.json")
	if err != nil {
		return report.Document{}, false
	}
	defer func() { _ = resp.Body.Close() }()
	var doc report.Document
	return doc, json.NewDecoder(resp.Body).Decode(&doc) == nil
}

func (w *world) await(what string, is func() bool) {
	w.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			for _, a := range w.agents {
				doc, _ := a.status()
				text, _ := json.Marshal(doc)
				w.Logf("the status of %s: %s", a.name, text)
			}
			w.Fatalf("%s: not within %s", what, patience)
		}
	}
}

// leader returns the agent that leads according to etcd, and the number of its election. It returns nil if none leads.
func (w *world) leader() (*agent, uint64) {
	w.Helper()
	client := w.client()
	defer func() { _ = client.Close() }()
	for deadline := time.Now().Add(patience); ; {
		now, found, err := client.Leader(w.Context())
		if err != nil && time.Now().Before(deadline) {
			continue // it has waited
		}
		w.ok(err)
		for _, a := range w.agents {
			if found && a.name == now.Name {
				return a, now.Number
			}
		}
		return nil, 0
	}
}

// other returns the agent that is not a.
func (w *world) other(a *agent) *agent {
	if w.agents[0] == a {
		return w.agents[1]
	}
	return w.agents[0]
}

// count adds to the counts of what was done.
func (w *world) count(what string, n int) { w.counts[what] += n }

// awaitStandby waits until an agent follows another one.
func (w *world) awaitStandby(a *agent) {
	w.Helper()
	w.await(a.name+" is standby", func() bool {
		doc, ok := a.status()
		return ok && doc.Replica != nil && doc.Replica.Role == report.RoleStandby
	})
}

func (w *world) client() *etcdstore.Client {
	w.Helper()
	client, err := etcdstore.Open(etcdstore.Options{Endpoints: w.etcd.Endpoints(), Prefix: w.prefix})
	w.ok(err)
	return client
}

// awaitConverged waits until the leader has converged on the newest commit and no step is open. It returns how many guests wait because a call without a
// reply may still act, which takes ten minutes as after a crash; the others are in sync.
func (w *world) awaitConverged() (inDoubt int) {
	w.Helper()
	w.await("convergence", func() bool {
		a, _ := w.leader()
		if a == nil || a.cmd == nil {
			return false
		}
		doc, ok := a.status()
		if !ok || doc.Replica == nil || doc.Replica.Role != report.RoleLeader || doc.Source.Accepted == nil || doc.Source.Accepted.Commit != w.repo.Tip {
			return false
		}
		inDoubt = 0
		for _, g := range doc.Guests {
			if slices.ContainsFunc(g.Conditions, func(c plan.Condition) bool { return strings.Contains(c.Message, "Proxmox may still execute the call") }) {
				inDoubt++
			} else if g.Sync != report.Synced {
				return false
			}
		}
		return inDoubt > 0 || doc.Converged && doc.Journal.Inflight == 0
	})
	return inDoubt
}

// awaitFollowers waits until the agents that do not lead find as little to do as the leader.
func (w *world) awaitFollowers(inDoubt int) {
	w.Helper()
	w.await("the standby's plan is empty", func() bool {
		for _, a := range w.agents {
			doc, ok := a.status()
			if a.cmd == nil || !ok || doc.Replica == nil || doc.Source.Accepted == nil || doc.Source.Accepted.Commit != w.repo.Tip {
				return false
			}
			differ := 0
			for _, g := range doc.Guests {
				if g.Sync != report.Synced {
					differ++
				}
			}
			if differ > inDoubt {
				return false
			}
		}
		return true
	})
}

// settle lets ten minutes pass for both agents, in pieces that are shorter than the rest of a lease, until no guest waits for a call without a reply.
func (w *world) settle() {
	w.Helper()
	for range 200 {
		for _, a := range w.agents {
			w.ok(a.clock.Pass(7 * time.Second))
		}
		time.Sleep(2200 * time.Millisecond) // longer than the time between two renewals
		if w.awaitConverged() == 0 {
			return
		}
	}
	w.Fatal("a guest waits for a call without a reply after 23 minutes")
}

// machine writes the manifest of a virtual machine.
func (w *world) machine(vmid, memory int, state string) {
	w.repo.Files[fmt.Sprintf("vm-%d.yaml", vmid)] = fmt.Sprintf(`apiVersion: proxmox.gitops/v1alpha1
kind: VirtualMachine
metadata: {name: vm-%d}
spec: {vmid: %d, node: pve%d, cpu: {cores: 1}, memory: {size: %dMi}, source: {blank: {}}, state: %s, lifecycle: {destroy: allow, rebootPolicy: auto}}
`, vmid, vmid, 1+vmid%2, memory, state)
}

func (w *world) push(message string) { w.repo.Push(w.sig, alice, message) }

// checkJournal fails the test if the journal in etcd is not whole, or if it contains other open steps than those of guests in doubt.
func (w *world) checkJournal(inDoubt int) {
	w.Helper()
	client := w.client()
	defer func() { _ = client.Close() }()
	state, err := journal.InBlocks(context.Background(), client.Store(nil)).State()
	if err != nil || len(state.Open) != inDoubt {
		w.Errorf("got %v and %d open steps in the journal, want %d", err, len(state.Open), inDoubt)
	}
}
