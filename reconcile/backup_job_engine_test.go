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

// TestRequiredBackup requires backups of a guest: it has a condition until a job covers it, and everything that weakens this waits for approvals.
func TestRequiredBackup(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.grant("Sys.Modify", "Datastore.Allocate")
		l.files["web.yaml"] = vmYAML("web-1", 201) + "  backup: required\n"
		l.push("a guest", alice)
		defer l.start()()
		web, job := objectCase{label: "VirtualMachine/web-1"}, objectCase{label: "BackupJob/nightly"}
		eventually(t, "the condition", func() bool { return l.objectHasReason(web, plan.ReasonNoBackup) })
		l.converge() // the condition is a warning

		l.sim.SetBackupJob("foreign", map[string]string{"schedule": "daily", "all": "1", "enabled": "1"})
		eventually(t, "the end of the condition", func() bool { return !l.objectHasReason(web, plan.ReasonNoBackup) })
		l.sim.SetBackupJob("foreign", map[string]string{"schedule": "daily", "all": "1", "enabled": "0"})
		eventually(t, "the condition again", func() bool { return l.objectHasReason(web, plan.ReasonNoBackup) })

		manifest := func(rest string) {
			l.files["job.yaml"] = "apiVersion: proxmox.gitops/v1alpha1\nkind: BackupJob\nmetadata: {name: nightly}\nspec: {schedule: daily, guests: {vmids: [201]}, " + rest + "}\n"
		}
		manifest("retention: {keepDaily: 7}")
		l.push("a job", alice)
		l.converge()
		eventually(t, "the end of the condition", func() bool { return !l.objectHasReason(web, plan.ReasonNoBackup) })

		held := func(what string, weaken func(), unchanged func() bool) {
			t.Helper()
			before := ""
			if g := l.object(job.label); len(g.Held) > 0 {
				before = g.Held[0].Digest
			}
			weaken()
			l.push(what, alice)
			eventually(t, "the hold of "+what, func() bool {
				g := l.object(job.label)
				return len(g.Held) > 0 && g.Held[0].Reason == gate.HoldGuard && g.Held[0].Digest != before
			})
			time.Sleep(2 * time.Minute)
			if !unchanged() {
				t.Errorf("%s: got the job %v, want it as it was", what, l.sim.BackupJob("nightly"))
			}
			if l.objectHasReason(web, plan.ReasonNoBackup) {
				t.Errorf("%s: got no backup, and the job still backs the guest up", what)
			}
		}
		keeps := func() bool {
			live := l.sim.BackupJob("nightly")
			return live["prune-backups"] == "keep-daily=7" && live["enabled"] == "1"
		}
		held("a shorter retention", func() { manifest("retention: {keepDaily: 2}") }, keeps)
		held("a disabled job", func() { manifest("retention: {keepDaily: 7}, enabled: false") }, keeps)
		held("a removed job", func() { delete(l.files, "job.yaml") }, keeps)

		manifest("retention: {keepDaily: 2}")
		l.push("a shorter retention again", alice)
		eventually(t, "the hold", func() bool { g := l.object(job.label); return len(g.Held) > 0 && g.Held[0].Op == "object-set" })
		l.approve(l.object(job.label).Held[0].Digest)
		eventually(t, "the shorter retention", func() bool { return l.sim.BackupJob("nightly")["prune-backups"] == "keep-daily=2" })
		l.converge()

		// The field and the job leave with one commit: both wait, and the job goes only after the field.
		l.files["web.yaml"] = vmYAML("web-1", 201)
		delete(l.files, "job.yaml")
		l.push("neither", alice)
		eventually(t, "both holds", func() bool { return len(l.object(web.label).Held) > 0 && len(l.object(job.label).Held) > 0 })
		if reason := l.object(job.label).Held[0].Reason; reason != gate.HoldGuard {
			t.Errorf("got the removal held for %s, want the guard", reason)
		}
		l.approve(l.object(web.label).Held[0].Digest)
		eventually(t, "the plain hold of the removal", func() bool {
			g := l.object(job.label)
			return len(g.Held) > 0 && g.Held[0].Reason == gate.HoldApproval
		})
	})
}

// TestMoveOutOfABackedUpPool moves a guest that requires backups to another pool: only the job of its present pool backs it up.
func TestMoveOutOfABackedUpPool(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.sim.AddPool("web", "")
		l.sim.AddPool("old", "")
		l.sim.SetBackupJob("by-pool", map[string]string{"schedule": "daily", "pool": "web", "enabled": "1"})
		inPool := func(pool string) {
			l.files["web.yaml"] = vmYAML("web-1", 201) + "  backup: required\n  pool: " + pool + "\n"
		}
		inPool("web")
		l.push("a guest in a pool", alice)
		defer l.start()()
		l.converge()
		web := objectCase{label: "VirtualMachine/web-1"}
		eventually(t, "the end of the condition", func() bool { return !l.objectHasReason(web, plan.ReasonNoBackup) })
		inPool("old")
		l.push("another pool", alice)
		eventually(t, "the hold", func() bool { return l.objectHasReason(web, plan.ConditionReason(gate.HoldGuard)) })
		l.sim.SetBackupJob("old-too", map[string]string{"schedule": "daily", "pool": "old", "enabled": "1"})
		l.converge()
		if l.objectHasReason(web, plan.ReasonNoBackup) {
			t.Error("got the condition, want the guest backed up in its new pool")
		}
	})
}
