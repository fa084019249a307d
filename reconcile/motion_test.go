package reconcile_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/reason"
)

// runLabWithTwoNodes runs a test in virtual time with a cluster of two nodes.
func runLabWithTwoNodes(t *testing.T, test func(t *testing.T, l *lab)) {
	t.Helper()
	runLabOn(t, pvesim.Options{Nodes: []string{"pve1", "pve2"}}, test)
}

// runLabOn runs a test in virtual time with a cluster.
func runLabOn(t *testing.T, options pvesim.Options, test func(t *testing.T, l *lab)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, newSim(t, options))
		l.files["cluster.yaml"] = clusterYAML
		test(t, l)
	})
}

// nodeOf returns the node of a guest.
func (l *lab) nodeOf(vmid int) string {
	for _, g := range l.sim.Guests() {
		if g.VMID == vmid {
			return g.Node
		}
	}
	return ""
}

func onNode(manifest, node string) string {
	return strings.Replace(manifest, "  node: pve1\n", "  placement: {prefer: ["+node+"], migrate: online}\n", 1)
}

// TestCloneGoesToItsNode makes a clone on another node than the node of its template, whose disks are on a storage of that node.
func TestCloneGoesToItsNode(t *testing.T) {
	runLabWithTwoNodes(t, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = strings.Replace(vmYAML("web-1", 201, "memory: {size: 2Gi}", "state: running"), "node: pve1", "node: pve2", 1)
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		if got := l.nodeOf(201); got != "pve2" || !l.sim.Running(201) {
			t.Errorf("got the clone on %s, running %v, want it to run on pve2", got, l.sim.Running(201))
		}
		if clones, moves := l.sim.Effects(201, pvesim.Cloned), l.sim.Effects(201, pvesim.Migrated); clones != 1 || moves != 1 {
			t.Errorf("got %d clones and %d moves, want one of each", clones, moves)
		}
		writes := l.sim.Writes()
		time.Sleep(time.Hour)
		if got := l.sim.Writes() - writes; got != 0 {
			t.Errorf("got %d writes to a converged guest, want none", got)
		}
	})
}

// TestGuestMovesWhereItsManifestAllows moves a running guest after its manifest names another node and allows the move. It does not move a guest
// whose manifest only names the node of the creation.
func TestGuestMovesWhereItsManifestAllows(t *testing.T) {
	runLabWithTwoNodes(t, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = onNode(vmYAML("web-1", 201, "state: running"), "pve1")
		l.files["db.yaml"] = vmYAML("db-1", 202, "state: running")
		l.push("two guests", alice)
		defer l.start()()
		l.converge()
		l.files["web.yaml"] = onNode(vmYAML("web-1", 201, "state: running"), "pve2")
		l.files["db.yaml"] = strings.Replace(vmYAML("db-1", 202, "state: running"), "node: pve1", "node: pve2", 1)
		l.push("to the other node", alice)
		l.converge()
		if web, db := l.nodeOf(201), l.nodeOf(202); web != "pve2" || db != "pve1" {
			t.Errorf("got web-1 on %s and db-1 on %s, want pve2 and pve1", web, db)
		}
		if !l.sim.Running(201) || l.sim.Effects(201, pvesim.Stopped) != 0 {
			t.Errorf("got web-1 stopped on its way, want it moved while it runs")
		}
	})
}

// TestHAGuestIsFollowedByState adds a guest to the HA manager, whose tasks are OK before anything happens: the agent waits for the state of the
// guest, and sends one request.
func TestHAGuestIsFollowedByState(t *testing.T) {
	runLabWithTwoNodes(t, func(t *testing.T, l *lab) {
		l.sim.SetPrivileges("gitops@pve!agent", []pvesim.ACL{{Path: "/", Role: "Administrator"}}) // requests to the HA manager need Sys.Console
		l.files["web.yaml"] = onNode(vmYAML("web-1", 201, "ha: {state: ignored, maxRestart: 3}"), "pve1")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.files["web.yaml"] = onNode(vmYAML("web-1", 201, "ha: {state: started, maxRestart: 3}", "state: running"), "pve1")
		l.push("run", alice)
		l.approveAll(201)
		l.converge()
		if !l.sim.Running(201) || l.sim.Effects(201, pvesim.Started) != 1 {
			t.Errorf("got running %v after %d starts, want it running after one", l.sim.Running(201), l.sim.Effects(201, pvesim.Started))
		}
		l.files["web.yaml"] = onNode(vmYAML("web-1", 201, "ha: {state: started, maxRestart: 3}", "state: running"), "pve2")
		l.push("to the other node", alice)
		l.converge()
		if got := l.nodeOf(201); got != "pve2" || l.sim.Effects(201, pvesim.Migrated) != 1 {
			t.Errorf("got it on %s after %d moves, want pve2 after one", got, l.sim.Effects(201, pvesim.Migrated))
		}
		asked := 0
		for _, task := range l.sim.Tasks() {
			if task.Type == "hamigrate" {
				asked++
			}
		}
		if asked != 1 {
			t.Errorf("got %d requests to the HA manager, want 1", asked)
		}
		delete(l.files, "web.yaml")
		l.files["db.yaml"] = vmYAML("db-1", 202)
		l.push("without it", alice)
		l.approve(l.digestOfHold(201))
		l.converge()
		if got := l.nodeOf(201); got != "" {
			t.Errorf("got the guest still on %s, want it destroyed", got)
		}
	})
}

// approveAll approves the held step of a guest, if there is one.
func (l *lab) approveAll(vmid int) {
	l.Helper()
	var digest string
	eventually(l, "a hold or convergence", func() bool {
		r := l.engine.Report()
		if r.Source.Accepted == nil || r.Source.Accepted.Commit != l.repo.Tip {
			return false
		}
		for _, g := range r.Guests {
			if g.VMID == vmid && len(g.Held) == 1 && g.Held[0].Reason == reason.Approval {
				digest = g.Held[0].Digest
				return true
			}
		}
		return r.Converged
	})
	if digest != "" {
		l.approve(digest)
	}
}

// TestCloneThatDoesNotMoveIsRemoved makes a clone on another node than the node of its template, and every move fails. Its marker is there before the first move, so it
// is removed without an approval, as its manifest allows.
func TestCloneThatDoesNotMoveIsRemoved(t *testing.T) {
	runLabWithTwoNodes(t, func(t *testing.T, l *lab) {
		l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/migrate$", Kind: pvesim.TaskFails, Text: "no space left on device", Times: -1}))
		l.files["web.yaml"] = strings.Replace(vmYAML("web-1", 201, "lifecycle: {destroy: allow}"), "node: pve1", "node: pve2", 1)
		l.files["db.yaml"] = vmYAML("db-1", 202)
		l.push("two guests", alice)
		defer l.start()()
		eventually(t, "the failure", func() bool { return l.says("migrate", "no space left on device") })
		if got := l.sim.Config(201); !strings.Contains(got, "tags: gitops-") {
			t.Errorf("got the configuration %q, want the marker in it", got)
		}
		delete(l.files, "web.yaml")
		l.push("one guest", alice)
		eventually(t, "the removal", func() bool { return l.sim.Config(201) == "" })
	})
}

// TestLinkedCloneStaysWithItsTemplate wants a linked clone on another node than its template, whose disk is on a local storage: it is not created.
func TestLinkedCloneStaysWithItsTemplate(t *testing.T) {
	runLabWithTwoNodes(t, func(t *testing.T, l *lab) {
		linked := strings.Replace(vmYAML("web-1", 201), "node: pve1", "node: pve2", 1)
		l.files["web.yaml"] = strings.Replace(linked, "name: tmpl-debian-12}", "name: tmpl-debian-12, full: false}", 1)
		l.push("a linked clone", alice)
		defer l.start()()
		eventually(t, "the reason", func() bool { return l.says(reason.Impossible, "cannot leave that node") })
		time.Sleep(10 * time.Minute)
		if got := l.sim.Effects(201, pvesim.Cloned); got != 0 {
			t.Errorf("got %d clones, want none", got)
		}
	})
}
