package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/plan"
)

const labelledJob = "apiVersion: proxmox.gitops/v1alpha1\nkind: BackupJob\nmetadata: {name: nightly}\nspec: {schedule: daily, guests: {labels: {tier: web}}}\n"

// labelled returns a manifest of a machine with labels.
func labelled(name string, vmid int, labels string) string {
	return strings.Replace(vmYAML(name, vmid), "{name: "+name+"}", "{name: "+name+", labels: {"+labels+"}}", 1)
}

// TestBackupJobFollowsLabels selects guests by labels. A guest stays in the list until it is destroyed, and a list that another client changed is repaired.
func TestBackupJobFollowsLabels(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.grant("Sys.Modify", "Datastore.Allocate")
		l.files["a.yaml"], l.files["b.yaml"] = labelled("web-1", 201, "tier: web"), labelled("web-2", 202, "tier: web, stage: prod")
		l.files["c.yaml"], l.files["job.yaml"] = labelled("db-1", 203, "tier: db"), labelledJob
		l.push("a job", alice)
		defer l.start()()
		l.converge()
		list := func(want string) {
			t.Helper()
			eventually(t, "the list "+want, func() bool { return l.sim.BackupJob("nightly")["vmid"] == want })
		}
		list("201,202")
		l.files["c.yaml"] = labelled("db-1", 203, "tier: web")
		l.push("another label", alice)
		list("201,202,203")

		delete(l.files, "a.yaml")
		l.push("remove a guest", alice)
		eventually(t, "the hold", func() bool {
			return l.objectHasReason(objectCase{label: "VirtualMachine/web-1"}, plan.ConditionReason(gate.HoldApproval))
		})
		time.Sleep(5 * time.Minute)
		list("201,202,203")
		l.approve(l.object("VirtualMachine/web-1").Held[0].Digest)
		list("202,203")

		l.ok(l.sim.PurgeGuest(202)) // by another client, which takes it out of the list
		list("202,203")

		for _, file := range []string{"b.yaml", "c.yaml"} {
			l.files[file] = strings.ReplaceAll(l.files[file], "tier: web", "tier: none")
		}
		l.push("no labels", alice)
		eventually(t, "the condition", func() bool { return l.objectHasReason(objectCase{label: "BackupJob/nightly"}, plan.ReasonSelectsNone) })
		list("202,203")
	})
}

// TestBackupJobOfALastGuest loses its job to a destroy with purge by another client. The job is made again.
func TestBackupJobOfALastGuest(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.grant("Sys.Modify", "Datastore.Allocate")
		if _, err := l.sim.AddVM(pvesim.Guest{VMID: 300}); err != nil {
			t.Fatal(err)
		}
		l.files["web.yaml"], l.files["job.yaml"] = vmYAML("web-1", 201), strings.Replace(labelledJob, "labels: {tier: web}", "vmids: [300]", 1)
		l.push("a job", alice)
		defer l.start()()
		l.converge()
		l.ok(l.sim.PurgeGuest(300))
		if l.sim.BackupJob("nightly") != nil {
			t.Fatal("got the job, want it removed with its last guest")
		}
		eventually(t, "the job to be made again", func() bool { return l.sim.BackupJob("nightly")["vmid"] == "300" })
		l.converge()
		l.sim.ResetCounters()
		time.Sleep(10 * time.Minute)
		if writes := l.sim.Counters().Writes; writes != 0 {
			t.Errorf("got %d writes, want none", writes)
		}
	})
}
