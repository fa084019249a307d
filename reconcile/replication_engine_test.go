package reconcile_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/reason"
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
		eventually(t, "the condition", func() bool { return l.objectHasReason(job, reason.Awaits) })
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("the guest", alice)
		l.converge()
		if got := l.sim.Replication("201-0"); got["target"] != "pve2" {
			t.Fatalf("got %v, want the job", got)
		}

		l.files["copy.yaml"] = strings.Replace(replicationOfWeb, "pve2", "pve3", 1)
		l.push("another target", alice)
		eventually(t, "the condition", func() bool { return l.objectHasReason(job, reason.Impossible) })
		delete(l.files, "copy.yaml")
		l.push("no job", alice)
		eventually(t, "the mark", func() bool { return l.sim.Replication("201-0")["remove_job"] == "full" })
		l.files["copy.yaml"] = replicationOfWeb
		l.push("the job again", alice)
		eventually(t, "the condition", func() bool { return l.objectHasReason(job, reason.Locked) })
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

// TestReplicationFollowsItsGuest moves a guest to the target of its job and back, and a guest with two jobs around three nodes. Proxmox changes the targets, and nothing is blocked.
func TestReplicationFollowsItsGuest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, newSim(t, pvesim.Options{Nodes: []string{"pve1", "pve2", "pve3"}}))
		l.grant("VM.Replicate")
		job := objectCase{label: "Replication/201-0"}
		l.files["cluster.yaml"], l.files["web.yaml"], l.files["copy.yaml"] = clusterYAML, vmYAML("web-1", 201), replicationOfWeb
		l.files["second.yaml"] = strings.NewReplacer("201-0", "201-1", "pve2", "pve3").Replace(replicationOfWeb)
		l.push("a guest with copies", alice)
		defer l.start()()
		l.converge()
		l.sim.ResetCounters()
		from, moves := "pve1", 0
		for _, move := range []struct{ to, first, second string }{
			{"pve2", "pve1", "pve3"}, {"pve3", "pve1", "pve2"}, {"pve1", "pve3", "pve2"}, {"pve3", "pve1", "pve2"}, {"pve2", "pve1", "pve3"}, {"pve1", "pve2", "pve3"},
		} {
			l.callAs("root@pam!full", "POST", "/nodes/"+from+"/qemu/201/migrate", "target="+move.to+"&online=1")
			from, moves = move.to, moves+1
			time.Sleep(10 * time.Minute)
			if first, second := l.sim.Replication("201-0")["target"], l.sim.Replication("201-1")["target"]; l.nodeOf(201) != move.to || first != move.first || second != move.second {
				t.Fatalf("got the guest on %s with copies on %s and %s, want %+v", l.nodeOf(201), first, second, move)
			}
			r := l.engine.Report()
			if !r.Converged || l.objectHasReason(job, reason.Impossible) || l.objectHasReason(job, reason.OtherNode) != (move.first != "pve2") {
				t.Errorf("after the move to %s: got %+v, want it in sync, and the condition other-node if it differs", move.to, l.object(job.label))
			}
		}
		if writes := l.sim.Counters().Writes; writes != moves {
			t.Errorf("got %d writes, want the %d moves", writes, moves)
		}
	})
}

// TestGuestWithAReplicationJobIsNotStoppedForADestroy removes the manifest of a running guest whose job waits for an approval, or was made by hand. Proxmox would refuse the
// destroy, so nothing is called until the job is gone.
func TestGuestWithAReplicationJobIsNotStoppedForADestroy(t *testing.T) {
	t.Parallel()
	for name, byHand := range map[string]bool{"held": false, "by_hand": true} {
		t.Run(name, func(t *testing.T) {
			runLabWithTwoNodes(t, func(t *testing.T, l *lab) {
				l.grant("VM.Replicate")
				job := objectCase{label: "Replication/201-0"}
				l.files["keep.yaml"] = vmYAML("keep-1", 209)
				l.files["web.yaml"] = vmYAML("web-1", 201, "state: running", "lifecycle: {destroy: allow}")
				if !byHand {
					l.files["copy.yaml"] = strings.Replace(replicationOfWeb, ", lifecycle: {destroy: allow}", "", 1)
				}
				l.push("a guest with a copy", alice)
				defer l.start()()
				l.converge()
				if byHand {
					l.sim.AddReplication(201, "pve2")
				}
				delete(l.files, "web.yaml")
				delete(l.files, "copy.yaml")
				l.waitForAcceptance(l.push("neither of them", alice))
				l.waitForCondition(201, "replication job 201-0")
				l.sim.ResetCounters()
				time.Sleep(10 * time.Minute)
				if !slices.ContainsFunc(l.sim.Guests(), func(g pvesim.GuestInfo) bool { return g.VMID == 201 && g.Running }) {
					t.Fatal("got the guest stopped, want it running while the job exists")
				}
				if writes, destroys := l.sim.Counters().Writes, len(l.journal.State().Destroys); writes != 0 || destroys != 0 {
					t.Fatalf("got %d writes and %d destroys, want none while the job exists", writes, destroys)
				}
				if byHand {
					l.sim.RemoveReplication("201-0")
				} else {
					l.approve(l.object(job.label).Held[0].Digest)
				}
				eventually(t, "the destroy", func() bool { return l.nodeOf(201) == "" })
				l.converge()
				if destroys := len(l.journal.State().Destroys); destroys != 1 || l.sim.Replication("201-0") != nil {
					t.Errorf("got %d destroys and the job %v, want one call, after the job was gone", destroys, l.sim.Replication("201-0"))
				}
			})
		})
	}
}
