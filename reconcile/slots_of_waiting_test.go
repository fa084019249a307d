package reconcile_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// TestHungStartsLeaveRoomForOthers hangs eight starts on two nodes. A guest of a third node is started all the same, and one more guest of a full node is
// Waiting with what it waits for.
func TestHungStartsLeaveRoomForOthers(t *testing.T) {
	runLabOn(t, threeNodes, func(t *testing.T, l *lab) {
		on := func(vmid int, node, state string) string {
			return strings.Replace(vmYAML(fmt.Sprint("fc-", vmid), vmid, "disks: {scsi0: {storage: ceph, size: 3Gi}}", "state: "+state), "node: pve1", "node: "+node, 1)
		}
		nodes := []string{"pve1", "pve2"}
		for i := range 10 {
			l.files[fmt.Sprint(i, ".yaml")] = on(210+i, nodes[i%2], "stopped")
		}
		l.files["third.yaml"] = on(230, "pve3", "stopped")
		l.push("guests on three nodes", alice)
		defer l.start()()
		l.converge()
		l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/status/start$", Kind: pvesim.TaskNeverEnds, Times: 8}))
		for i := range 10 {
			l.files[fmt.Sprint(i, ".yaml")] = on(210+i, nodes[i%2], "running")
		}
		l.push("start them", alice)
		eventually(l, "the hung starts", func() bool {
			running := 0
			for _, g := range l.engine.Report().Guests {
				if g.Operation == report.Busy {
					running++
				}
			}
			return running == 8
		})
		l.files["third.yaml"] = on(230, "pve3", "running")
		l.push("start the guest on the third node", alice)
		began := time.Now()
		eventually(l, "the guest on the third node", func() bool { return l.sim.Running(230) })
		if took := time.Since(began); took > 5*time.Minute {
			t.Errorf("got it running after %s, want it while the others hang", took)
		}
		waiting := 0
		for _, g := range l.engine.Report().Guests {
			for _, c := range g.Conditions {
				if c.Type == plan.WaitsFor && strings.Contains(c.Message, "limits.guests_per_node") && strings.Contains(c.Message, g.Node) && g.Operation == report.Waiting && g.Health == report.Progressing {
					waiting++
				}
			}
		}
		if waiting != 2 {
			t.Errorf("got %d guests that wait for their node, want two: %+v", waiting, l.engine.Report().Guests)
		}
	})
}

// TestHungWorkLeavesRoomForOthers hangs other work than starts on two nodes: the guest of a third node is started all the same.
func TestHungWorkLeavesRoomForOthers(t *testing.T) {
	for name, test := range map[string]struct{ before, after, path string }{ // lines of the manifests; without any before, the guests do not exist
		"stops":     {"state: running", "state: stopped", "/status/(shutdown|stop)$"},
		"clones":    {"", "state: stopped", "/clone$"},
		"restarts":  {"state: running\n  cpu: {cores: 1}\n  lifecycle: {rebootPolicy: auto}", "state: running\n  cpu: {cores: 2}\n  lifecycle: {rebootPolicy: auto}", "/status/(reboot|shutdown)$"},
		"new_sizes": {"state: stopped", "state: stopped\n  disks: {scsi0: {storage: ceph, size: 4Gi}}", "/resize$"},
	} {
		t.Run(name, func(t *testing.T) {
			runLabOn(t, threeNodes, func(t *testing.T, l *lab) {
				put := func(lines string) {
					for i := range 8 {
						text := strings.Replace(vmYAML(fmt.Sprint("fc-", 210+i), 210+i, lines), "node: pve1", fmt.Sprint("node: pve", 1+i%2), 1)
						if !strings.Contains(lines, "disks:") {
							text += "  disks: {scsi0: {storage: ceph, size: 3Gi}}\n"
						}
						l.files[fmt.Sprint(i, ".yaml")] = text
					}
				}
				third := func(state string) {
					l.files["third.yaml"] = strings.Replace(vmYAML("third", 230, "disks: {scsi0: {storage: ceph, size: 3Gi}}", "state: "+state), "node: pve1", "node: pve3", 1)
				}
				third("stopped")
				if test.before != "" {
					put(test.before)
				}
				l.push("before", alice)
				defer l.start()()
				l.converge()
				l.ok(l.sim.Inject(pvesim.Fault{Path: test.path, Kind: pvesim.TaskNeverEnds, Times: 8}))
				put(test.after)
				l.push("after", alice)
				time.Sleep(2 * time.Minute)
				hung := 0
				for _, task := range l.sim.Tasks() {
					if task.Active {
						hung++
					}
				}
				if hung == 0 {
					t.Fatal("got no hung task, want some")
				}
				third("running")
				l.push("start the guest on the third node", alice)
				began := time.Now()
				eventually(l, "the guest on the third node", func() bool { return l.sim.Running(230) })
				if took := time.Since(began); took > 5*time.Minute {
					t.Errorf("got it running after %s with %d hung tasks, want it while they hang", took, hung)
				}
			})
		})
	}
}
