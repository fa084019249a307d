package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/plan"
)

const replicationOfWeb = "apiVersion: proxmox.gitops/v1alpha1\nkind: Replication\nmetadata: {name: 201-0}\nspec: {target: pve2, lifecycle: {destroy: allow}}\n"

// TestReplicationWaitsForItsGuest declares a job of a guest that has to be created. The job is removed by Proxmox some time after the call.
func TestReplicationWaitsForItsGuest(t *testing.T) {
	runLabWithTwoNodes(t, func(t *testing.T, l *lab) {
		l.grant("VM.Replicate")
		job := objectCase{label: "Replication/201-0"}
		l.files["copy.yaml"] = replicationOfWeb
		l.files["keep.yaml"] = vmYAML("keep-1", 209)
		l.push("a job without a guest", alice)
		defer l.start()()
		eventually(t, "the condition", func() bool { return l.objectHasReason(job, plan.ReasonAwaits) })
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("the guest", alice)
		l.converge()
		if got := l.sim.Replication("201-0"); got["target"] != "pve2" {
			t.Fatalf("got %v, want the job", got)
		}

		l.files["copy.yaml"] = strings.Replace(replicationOfWeb, "pve2", "pve1", 1)
		l.push("another target", alice)
		eventually(t, "the condition", func() bool { return l.objectHasReason(job, plan.ReasonImpossible) })
		delete(l.files, "copy.yaml")
		l.push("no job", alice)
		eventually(t, "the mark", func() bool { return l.sim.Replication("201-0")["remove_job"] == "full" })
		l.files["copy.yaml"] = replicationOfWeb
		l.push("the job again", alice)
		eventually(t, "the condition", func() bool { return l.objectHasReason(job, plan.ReasonLeaving) })
		eventually(t, "the end of the job", func() bool { return l.sim.Replication("201-0")["remove_job"] == "" })
		l.converge()
		if l.sim.Replication("201-0") == nil {
			t.Error("got no job, want it made again")
		}
		delete(l.files, "copy.yaml")
		l.push("no job", alice)
		eventually(t, "the end of the record", func() bool { return len(l.journal.State().Objects) == 0 })
		l.sim.ResetCounters()
		time.Sleep(5 * time.Minute)
		if writes := l.sim.Counters().Writes; writes != 0 {
			t.Errorf("got %d writes, want none", writes)
		}
	})
}
