package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"gitops-agent/internal/agent"
	"gitops-agent/internal/etcdtest"
	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sandbox"
	"gitops-agent/reconcile/report"
)

// takeoverLimit is how long a scenario waits: the next leader leaves a guest whose step is open alone for 40 seconds.
const takeoverLimit = 2 * time.Minute

// pair is two agents that share a journal in etcd.
type pair struct {
	*environment
	etcd   *etcdtest.Cluster
	opts   sandbox.AgentOptions
	agents []*sandbox.Process
}

// runHA shows that another agent takes over when the one that leads is killed in the middle of its work, and when it is told to end.
func runHA(ctx context.Context, n printer, log io.Writer, once bool) error {
	p, err := newPair(ctx, log)
	if err != nil {
		return fmt.Errorf("start the environment: %w", err)
	}
	defer p.close()
	n.haHeader(p)
	for i, one := range []struct {
		title string
		run   func(printer) error
	}{
		{"Two agents, of which one leads", p.converge},
		{"The agent that leads is killed in the middle of its work", p.killLeader},
		{"The agent that leads is told to end", p.endLeader},
	} {
		n.scenario(i+1, one.title)
		if err := one.run(n); err != nil {
			return fmt.Errorf("scenario %q: %w", one.title, err)
		}
	}
	n.end()
	if once {
		return nil
	}
	n.line("")
	n.line("Everything stays up until you press Ctrl-C. Commits in %s are signed as alice.", p.Repository.Work)
	<-ctx.Done()
	return nil
}

func newPair(ctx context.Context, log io.Writer) (*pair, error) {
	s, err := newCluster(ctx)
	if err != nil {
		return nil, err
	}
	p := &pair{environment: s}
	if err := os.Mkdir(s.Path("etcd"), 0o700); err != nil {
		p.close()
		return nil, err
	}
	if p.etcd, err = etcdtest.Run(s.Path("etcd"), 3); err != nil {
		p.close()
		return nil, err
	}
	p.opts = sandbox.AgentOptions{
		Cluster: "home", Listen: "127.0.0.1:0", Log: log, Etcd: p.etcd.Endpoints(),
		Signers: []agent.SignerConfig{{Name: "alice", Issuer: issuer, Subject: alice, May: []string{"change", "operate"}}},
	}
	for _, name := range []string{"agent-1", "agent-2"} {
		if err := p.start(name); err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

func (p *pair) close() {
	p.Close() // the agents end with it
	if p.etcd != nil {
		p.etcd.Close()
	}
}

// start starts an agent, or starts it again.
func (p *pair) start(name string) error {
	a, err := p.StartProcess(p.opts, name)
	if err != nil {
		return err
	}
	p.agents = append(p.agents, a)
	return nil
}

// leader returns the agent that leads, with its status, or nil.
func (p *pair) leader() (*sandbox.Process, report.Document) {
	for _, a := range p.agents {
		if doc, err := a.Status(p.ctx); err == nil && doc.Replica != nil && doc.Replica.Role == report.RoleLeader {
			return a, doc
		}
	}
	return nil, report.Document{}
}

// await waits for a condition.
func (p *pair) await(what string, is func() bool) error {
	for deadline := time.Now().Add(takeoverLimit); !is(); time.Sleep(20 * time.Millisecond) {
		if err := p.Err(); err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %s for %s without result; -v shows the log of the agents", takeoverLimit, what)
		}
	}
	return nil
}

// converged reports whether the agent that leads has brought every guest to a commit.
func (p *pair) converged(commit string) func() bool {
	return func() bool {
		_, doc := p.leader()
		return doc.Converged && doc.Source.Accepted != nil && doc.Source.Accepted.Commit == commit
	}
}

func (p *pair) converge(n printer) error {
	n.action("alice commits the example manifests, signs and pushes")
	commit, err := p.Repository.Commit(p.ctx, nil, "add the homelab")
	if err != nil {
		return err
	}
	if err := p.await("convergence", p.converged(commit)); err != nil {
		return err
	}
	leader, doc := p.leader()
	if leader == nil {
		return errors.New("no agent leads")
	}
	n.confirmed("%s leads, accepted %.7s and brought %d guests to it", leader.Name, commit, len(doc.Guests))
	for _, a := range p.agents {
		if doc, err := a.Status(p.ctx); err == nil && doc.Replica != nil && a != leader {
			n.confirmed("%s is %s: it serves the page and the metrics, and writes nothing", a.Name, doc.Replica.Role)
		}
	}
	return nil
}

func (p *pair) killLeader(n printer) error {
	n.action("alice lets the guests of the class debian start with a delay, signs and pushes")
	if err := p.Repository.Replace("classes.yaml", "osType: l26", "osType: l26\n    startup: {upDelay: 5s}"); err != nil {
		return err
	}
	commit, err := p.Repository.Commit(p.ctx, nil, "a delay of starts")
	if err != nil {
		return err
	}
	before, leader := p.written(), (*sandbox.Process)(nil)
	if err := p.await("the first change", func() bool {
		leader, _ = p.leader()
		return leader != nil && !maps.Equal(p.written(), before)
	}); err != nil {
		return err
	}
	killed := time.Now()
	if err := leader.Kill(); err != nil {
		return err
	}
	n.action("%s is killed (SIGKILL) after its first call for this commit", leader.Name)
	for vmid := range before {
		before[vmid]++ // what the commit asks for
	}
	return p.takeover(n, leader, killed, commit, before)
}

// written returns how often the configurations of the guests with the delay were written.
func (p *pair) written() map[int]int {
	return map[int]int{web1: p.Sim.Effects(web1, pvesim.ConfigWritten), db1: p.Sim.Effects(db1, pvesim.ConfigWritten)}
}

func (p *pair) endLeader(n printer) error {
	leader, doc := p.leader()
	if leader == nil {
		return errors.New("no agent leads")
	}
	n.action("%s is told to end (SIGTERM), as for an upgrade", leader.Name)
	before, ended := p.written(), time.Now()
	if err := leader.Terminate(); err != nil {
		return err
	}
	return p.takeover(n, leader, ended, doc.Source.Accepted.Commit, before)
}

// takeover waits until another agent leads and has converged, checks how often configurations were written then, and starts the former agent again.
func (p *pair) takeover(n printer, former *sandbox.Process, since time.Time, commit string, writes map[int]int) error {
	p.agents = slices.DeleteFunc(p.agents, func(a *sandbox.Process) bool { return a == former })
	var next *sandbox.Process
	if err := p.await("another leader", func() bool { next, _ = p.leader(); return next != nil }); err != nil {
		return err
	}
	n.confirmed("%s leads after %s", next.Name, time.Since(since).Round(100*time.Millisecond))
	if err := p.await("convergence", p.converged(commit)); err != nil {
		return err
	}
	n.confirmed("it has converged after %s, with the journal of %s", time.Since(since).Round(100*time.Millisecond), former.Name)
	for _, vmid := range []int{web1, db1} {
		if got := p.Sim.Value(vmid, "startup"); !strings.HasSuffix(got, ",up=5") || p.Sim.Effects(vmid, pvesim.Cloned) != 1 {
			return fmt.Errorf("guest %d has the startup %q, and was cloned %d times", vmid, got, p.Sim.Effects(vmid, pvesim.Cloned))
		}
	}
	if got := p.written(); !maps.Equal(got, writes) {
		return fmt.Errorf("got these numbers of written configurations by vmid: %v, want %v", got, writes)
	}
	if v := p.Sim.Violations(); len(v) != 0 {
		return fmt.Errorf("the simulator reports violations: %s", strings.Join(v, "; "))
	}
	n.confirmed("the simulator counted each effect once")
	if err := p.start(former.Name); err != nil {
		return err
	}
	return p.await("the former leader as standby", func() bool {
		doc, err := p.agents[len(p.agents)-1].Status(p.ctx)
		return err == nil && doc.Replica != nil && doc.Replica.Role == report.RoleStandby
	})
}

func (n printer) haHeader(p *pair) {
	n.line("%s", n.paint("1", "gitops-agent: demonstration of two agents"))
	n.line("")
	n.line("A simulated Proxmox VE cluster answers at %s, an etcd of three members at %s.", p.Endpoint, strings.Join(p.etcd.Endpoints(), ", "))
	n.line("People commit to %s and sign with a Sigstore in memory.", p.Repository.Work)
	for _, a := range p.agents {
		n.line("%s serves http://%s/", a.Name, a.Address)
	}
}
