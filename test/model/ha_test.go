package model_test

import (
	"strconv"
	"strings"
	"testing"
)

// haScenarios returns the worlds of two managers.
func haScenarios() []*haScenario {
	const placed, there = "placement: {prefer: [pve2], migrate: online}", "placement: {prefer: [pve1], migrate: online}"
	files := func(texts ...string) map[string]string {
		f := map[string]string{"cluster.yaml": clusterManifest}
		for i, text := range texts {
			f["guest-"+strconv.Itoa(i)+".yaml"] = text
		}
		return f
	}
	haVM := func(name string, vmid int, lines ...string) string {
		return strings.TrimPrefix(strings.Replace(vm(name, vmid, lines...), "  node: pve1\n", "", 1), "---\n")
	}
	web := func(lines ...string) string { return haVM("web-1", 201, lines...) }
	const started, on1 = "ha: {state: started}", "node: pve1"
	moving := append(disturbances(), cuts()...)
	return []*haScenario{
		{name: "ha-start", waits: true, before: files(), events: append(disturbances(), startFails()), change: files(web(on1, started), haVM("app-1", 202, on1, "state: running", "dependsOn: [VirtualMachine/web-1]"))},
		{name: "ha-state", before: files(web(on1, "ha: {state: stopped}")), events: append(disturbances(), startFails()), change: files(web(on1, started))},
		{name: "ha-move", before: files(web(there, started)), events: append(moving, rule(), longMove(), failedMove(), brokenMove(), byHand()), change: files(web(placed, started))},
		{name: "ha-order", before: files(web(on1, started)), events: append(moving, rule(), longMove(), failedMove(), brokenMove(), byHand()), order: "migrate VirtualMachine/web-1 target=pve2"},
		{
			name: "ha-lock", before: files(web(on1, started)), events: moving, order: "migrate VirtualMachine/web-1 target=pve2", begin: func(w *haWorld) { w.breaking = true },
		},
		{
			name: "ha-drop", before: files(web(there, started)), events: moving, change: files(web(placed, started)), begin: func(w *haWorld) { w.dropping = true },
		},
		{
			name: "ha-rule", before: files(web(on1, started)), events: append(disturbances(), longMove(), failedMove()),
			change: files(web(on1, started), "apiVersion: proxmox.gitops/v1alpha1\nkind: AffinityRule\nmetadata: {name: home}\nspec: {type: node, nodes: [pve2], guests: [VirtualMachine/web-1]}\n"),
		},
	}
}

// disturbances are what may happen in each of these worlds.
func disturbances() []haEvent {
	set := func(of func(w *haWorld) map[string]bool, node string, on bool) func(p *haPath) {
		return func(p *haPath) {
			p.world.mu.Lock()
			defer p.world.mu.Unlock()
			if on {
				of(p.world)[node] = true
			} else {
				delete(of(p.world), node)
			}
		}
	}
	flag := func(of func(w *haWorld) *bool, on bool) func(p *haPath) {
		return func(p *haPath) {
			p.world.mu.Lock()
			defer p.world.mu.Unlock()
			*of(p.world) = on
		}
	}
	resting := func(w *haWorld) map[string]bool { return w.resting }
	silent := func(w *haWorld) map[string]bool { return w.silent }
	noMaster := func(w *haWorld) *bool { return &w.noMaster }
	noQuorum := func(w *haWorld) *bool { return &w.noQuorum }
	return []haEvent{
		{name: "the agent is killed and started again", happen: func(p *haPath) { p.kills = true }},
		{name: "a call hangs"},
		{name: "a reply is lost"},
		{name: "the master of the HA manager is lost", happen: flag(noMaster, true), until: 3 * haMinute, end: flag(noMaster, false)},
		{name: "the cluster loses its quorum", happen: flag(noQuorum, true), until: 3 * haMinute, end: flag(noQuorum, false)},
		{name: "maintenance of pve2", happen: set(resting, "pve2", true), until: 4 * haMinute, end: set(resting, "pve2", false)},
		{name: "maintenance of pve1", happen: set(resting, "pve1", true), until: 4 * haMinute, end: set(resting, "pve1", false)},
		{name: "a node does not answer", happen: set(silent, "pve3", true), until: 6 * haMinute, end: set(silent, "pve3", false)},
	}
}

// cuts are losses of nodes and of the network between them.
func cuts() []haEvent {
	lose := func(node string) func(p *haPath) {
		return func(p *haPath) {
			w := p.world
			w.mu.Lock()
			defer w.mu.Unlock()
			w.lost[node] = true
			for _, s := range w.services {
				if s.node == node {
					s.lostAt = w.step
				}
			}
		}
	}
	back := func(node string) func(p *haPath) {
		return func(p *haPath) {
			w := p.world
			w.mu.Lock()
			defer w.mu.Unlock()
			delete(w.lost, node)
		}
	}
	return []haEvent{
		{name: "pve1 is lost", happen: lose("pve1"), until: 5 * haMinute, end: back("pve1")},
		{name: "pve2 is lost", happen: lose("pve2"), until: 5 * haMinute, end: back("pve2")},
		{name: "the agent is cut off", happen: func(p *haPath) {
			w := p.world
			w.mu.Lock()
			defer w.mu.Unlock()
			w.cut = &haView{inventory: w.list(), roundAt: w.roundAt}
		}, until: 2 * haMinute, end: func(p *haPath) {
			p.world.mu.Lock()
			defer p.world.mu.Unlock()
			p.world.cut = nil
		}},
	}
}

func startFails() haEvent {
	return haEvent{name: "no start succeeds", happen: func(p *haPath) {
		p.world.mu.Lock()
		defer p.world.mu.Unlock()
		p.world.broken = true
	}}
}

func rule() haEvent {
	return haEvent{name: "a person makes a rule for pve1", happen: func(p *haPath) {
		p.world.mu.Lock()
		defer p.world.mu.Unlock()
		p.world.rules["by-hand"] = map[string]string{"type": "node-affinity", "nodes": "pve1", "resources": "vm:201"}
	}}
}

func longMove() haEvent {
	return haEvent{name: "moves take 15 minutes", happen: func(p *haPath) {
		p.world.mu.Lock()
		defer p.world.mu.Unlock()
		p.world.slow = true
	}}
}

func failedMove() haEvent {
	return haEvent{name: "the next move fails", happen: func(p *haPath) {
		p.world.mu.Lock()
		defer p.world.mu.Unlock()
		p.world.failing = true
	}}
}

func brokenMove() haEvent {
	return haEvent{name: "the next move leaves its lock", happen: func(p *haPath) {
		p.world.mu.Lock()
		defer p.world.mu.Unlock()
		p.world.breaking = true
	}}
}

func byHand() haEvent {
	return haEvent{name: "a person asks for a move to pve3", happen: func(p *haPath) {
		p.world.mu.Lock()
		defer p.world.mu.Unlock()
		p.world.queue = append(p.world.queue, request{vmid: 201, target: "pve3"})
	}}
}

// TestTwoManagers searches every world of two managers.
func TestTwoManagers(t *testing.T) {
	for _, s := range haScenarios() {
		if *modelScenario != "" && *modelScenario != s.name {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			f := s.search(t, (*modelLimit+5)/6) // a path costs as much as six of the others
			f.print(t.Output(), s.name)
			if f.violation != "" {
				t.Errorf("%s\n%s\nrepeat it with -run TestReplay -scenario %s -choices %s", f.violation, strings.Join(f.trace, "\n"), s.name, texts(f.choices))
			}
		})
	}
}
