package reconcile_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/plan"
)

// afterTask runs a function once, when the agent learns that the first clone task has ended.
type afterTask struct {
	cluster.Cluster
	done *atomic.Bool
	then func()
}

func (a afterTask) Wait(ctx context.Context, upid string) (cluster.Task, error) {
	task, err := a.Cluster.Wait(ctx, upid)
	if strings.HasSuffix(task.Type, "clone") && err == nil && !a.done.Swap(true) {
		a.then()
	}
	return task, err
}

// cloneOf returns a manifest of a guest that is cloned from the template 9100 of a kind.
func cloneOf(kind string) string {
	text := strings.Replace(vmYAML("web-1", 201, "memory: {size: 2Gi}", "lifecycle: {destroy: allow}"), "{name: tmpl-debian-12}", "{template: 9100}", 1)
	return strings.Replace(text, "VirtualMachine", kind, 1)
}

// addCloneTemplate adds the template 9100.
func (l *lab) addCloneTemplate(kind string) {
	l.Helper()
	if kind == "VirtualMachine" {
		_, err := l.sim.AddTemplate(pvesim.Guest{VMID: 9100, Config: "name: t\nmemory: 512\nscsi0: local:9100/vm-9100-disk-0.qcow2,size=3G\ntags: template\n"})
		l.ok(err)
		return
	}
	_, err := l.sim.AddCT(pvesim.Guest{VMID: 9100, Config: "hostname: t\nmemory: 512\nrootfs: local-lvm:4\ntemplate: 1\ntags: template\n"})
	l.ok(err)
}

// TestIncidentDescriptionOfANewCloneIsEdited edits the description of a clone before the agent configures the clone for the first time: at once, or
// while the agent does not run after a crash. The agent finds its clone by the task that made it.
func TestIncidentDescriptionOfANewCloneIsEdited(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"VirtualMachine", "Container"} {
		for _, when := range []string{"at_once", "after_a_crash", "replaced_after_a_crash"} {
			t.Run(kind+"/"+when, func(t *testing.T) {
				runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
					l.addCloneTemplate(kind)
					l.files["keep.yaml"], l.files["web.yaml"] = vmYAML("keep-1", 209), cloneOf(kind)
					l.push("a clone", alice)
					plain, edit := l.opts.Cluster, func() { l.ok(l.sim.Edit(201, "description", "edited by hand")) }
					if when == "at_once" {
						l.opts.Cluster = afterTask{plain, new(atomic.Bool), edit}
						defer l.start()()
						l.converge()
						l.wantOwnClone()
						return
					}
					crashing := &crashingCluster{Cluster: plain, op: cluster.OpCreate, at: "waiting"}
					l.opts.Cluster = onlyGuest{crashing, plain}
					stop := l.start()
					eventually(l, "the crash", crashing.crashed.Load)
					stop()
					time.Sleep(time.Minute)
					l.opts.Cluster = plain
					if when == "replaced_after_a_crash" {
						path := "/nodes/pve1/" + map[string]string{"VirtualMachine": "qemu", "Container": "lxc"}[kind]
						l.callAs("root@pam!full", http.MethodDelete, path+"/201", "")
						time.Sleep(time.Minute)
						l.callAs("root@pam!full", http.MethodPost, path+"/9100/clone", "newid=201&full=1")
						time.Sleep(time.Minute)
						config := l.sim.Config(201)
						w.reset()
						defer l.start()()
						l.waitForCondition(201, string(plan.IdentityConflict), "appeared under this vmid")
						time.Sleep(10 * time.Minute)
						if got := l.sim.Config(201); got != config || len(w.writes("/201/config")) != 0 {
							t.Errorf("got %q, want the other guest untouched: %q", got, config)
						}
						return
					}
					edit()
					defer l.start()()
					l.converge()
					l.wantOwnClone()
				})
			})
		}
	}
}

// onlyGuest crashes only the lane of guest 201.
type onlyGuest struct {
	*crashingCluster
	plain cluster.Cluster
}

func (o onlyGuest) Do(ctx context.Context, call cluster.Call, check cluster.LastCheck) (string, error) {
	if call.VMID != 201 {
		return o.plain.Do(ctx, call, check)
	}
	return o.crashingCluster.Do(ctx, call, check)
}

func (o onlyGuest) Wait(ctx context.Context, upid string) (cluster.Task, error) {
	if !strings.Contains(upid, ":9100:") {
		return o.plain.Wait(ctx, upid)
	}
	return o.crashingCluster.Wait(ctx, upid)
}

// wantOwnClone checks that guest 201 was cloned once, is configured and owned, and is destroyed with its manifest without an approval.
func (l *lab) wantOwnClone() {
	l.Helper()
	owned := l.journal.State().Owned[201]
	if owned.Claiming || owned.Task != "" || l.marker(201) != owned.Tag || l.sim.Value(201, "memory") != "2048" || l.sim.Effects(201, pvesim.Cloned) != 1 {
		l.Errorf("got record %+v, marker %q, memory %s and %d clones, want the one clone owned and configured", owned, l.marker(201), l.sim.Value(201, "memory"), l.sim.Effects(201, pvesim.Cloned))
	}
	if got := l.sim.Value(201, "description"); strings.Contains(got, "claimed by") {
		l.Errorf("got description %q, want no note of the agent", got)
	}
	delete(l.files, "web.yaml")
	l.push("remove the clone", alice)
	l.converge()
	if got := l.sim.Effects(201, pvesim.Destroyed); got != 1 {
		l.Errorf("got %d destroys, want one", got)
	}
}
