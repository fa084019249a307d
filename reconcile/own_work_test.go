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

// threeNodes is a cluster of three nodes with a storage that they share.
var threeNodes = pvesim.Options{Nodes: []string{"pve1", "pve2", "pve3"}, Storages: []pvesim.Storage{
	{ID: "local", Type: "dir", Path: "/var/lib/vz", Content: "images,rootdir,iso,vztmpl,import,snippets,backup"},
	{ID: "ceph", Type: "lvmthin", Content: "images,rootdir", Shared: true},
	{ID: "slow", Type: "lvmthin", Content: "images,rootdir", Shared: true},
}}

// flaps reports whether an object counts as changed back by others.
func flaps(r report.Report) string {
	for _, g := range r.Guests {
		if hasCondition(g, plan.Blocked, "flapping") {
			return g.Name
		}
	}
	return ""
}

// TestOwnWorkIsNotFlapping lets the agent work much on one object: steps that follow from its own steps, from several revisions, and from guests that appear. None of
// it counts as a change that others make again and again, also with a restart in between.
func TestOwnWorkIsNotFlapping(t *testing.T) {
	t.Parallel()
	moved := func(storage, node string, size int) string {
		return strings.Replace(vmYAML("fc-3", 208, "memory: {size: 1Gi}", "state: running", fmt.Sprintf("disks: {scsi0: {storage: %s, size: %dGi}}", storage, size)), "node: pve1", "node: "+node, 1)
	}
	job := "apiVersion: proxmox.gitops/v1alpha1\nkind: BackupJob\nmetadata: {name: nightly}\nspec: {schedule: \"02:30\", storage: local, guests: {labels: {backup: nightly}}}\n"
	tests := map[string]func(l *lab, next func(message string)){
		"clone_moved_and_resized": func(l *lab, next func(string)) {
			l.files["fc.yaml"] = moved("ceph", "pve2", 8)
			next("a guest on another node and storage")
		},
		"many_clones_on_one_node": func(l *lab, next func(string)) {
			for i := range 3 {
				name := fmt.Sprint("fc-", i)
				l.files[name+".yaml"] = strings.NewReplacer("fc-3", name, "208", fmt.Sprint(220+i)).Replace(moved("ceph", "pve3", 5))
			}
			next("guests on another node and storage")
		},
		"job_of_guests_that_appear": func(l *lab, next func(string)) {
			l.sim.SetPrivileges("gitops@pve!agent", []pvesim.ACL{{Path: "/", Privileges: append(pvesim.DefaultTokens()[1].ACL[0].Privileges, "Sys.Modify", "Datastore.Allocate")}})
			l.files["job.yaml"] = job
			for i := range 12 {
				name := fmt.Sprint("web-", i)
				l.files[name+".yaml"] = strings.Replace(vmYAML(name, 230+i), "metadata: {name: "+name+"}", "metadata: {name: "+name+", labels: {backup: nightly}}", 1)
				next("one more guest")
			}
		},
	}
	for name, work := range tests {
		t.Run(name, func(t *testing.T) {
			runLabOn(t, threeNodes, func(t *testing.T, l *lab) {
				stop := func() {}
				defer func() { stop() }()
				work(l, func(message string) {
					stop() // and a new process with each revision
					l.push(message, alice)
					stop = l.start()
					eventually(l, "the end of the work on "+message, func() bool {
						if who := flaps(l.engine.Report()); who != "" {
							t.Fatalf("%s: got %s changed back by others, want the agent's own work", message, who)
						}
						return l.engine.Report().Converged && !l.engine.Report().Time.IsZero()
					})
				})
				if got := l.journal.State().Flapping; len(got) != 0 {
					t.Errorf("got %v in the journal, want nothing that outlives a restart", got)
				}
			})
		})
	}
}

// TestDriftAfterOwnWorkIsRepairedAtOnce changes a guest behind the agent's back right after the agent moved it, and again and again after restarts: the first changes
// are repaired at once, and only those of others are counted.
func TestDriftAfterOwnWorkIsRepairedAtOnce(t *testing.T) {
	runLabOn(t, threeNodes, func(t *testing.T, l *lab) {
		l.files["fc.yaml"] = strings.Replace(vmYAML("fc-3", 208, "description: a web server", "disks: {scsi0: {storage: ceph, size: 8Gi}}"), "node: pve1", "node: pve2", 1)
		l.push("a guest on another node and storage", alice)
		stop := l.start()
		defer func() { stop() }()
		l.converge()
		edits := 0
		for range 8 {
			l.ok(l.sim.Edit(208, "description", "somebody"))
			edits++
			began := time.Now()
			eventually(l, "the repair", func() bool { return l.sim.Value(208, "description") == "a web server" })
			if took := time.Since(began); took > 2*time.Minute {
				t.Fatalf("got repair %d after %s, want it in the next sweep", edits, took)
			}
			stop()
			stop = l.start()
			eventually(l, "a report", func() bool { return l.engine.Report().Converged })
		}
		eventually(l, "the limit", func() bool {
			if l.sim.Value(208, "description") == "a web server" {
				l.ok(l.sim.Edit(208, "description", "somebody"))
				edits++
			}
			return flaps(l.engine.Report()) != ""
		})
		if edits < 9 {
			t.Errorf("got the changes of others spaced out after %d of them, want more than eight", edits)
		}
	})
}
