package reconcile_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
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
			return l.objectHasReason(objectCase{label: "VirtualMachine/web-1"}, reason.Approval)
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
		eventually(t, "the condition", func() bool { return l.objectHasReason(objectCase{label: "BackupJob/nightly"}, reason.Awaits) })
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
		eventually(t, "the condition", func() bool { return l.objectHasReason(web, reason.NoBackup) })
		l.converge() // the condition is a warning

		l.sim.SetBackupJob("foreign", map[string]string{"schedule": "daily", "all": "1", "enabled": "1"})
		eventually(t, "the end of the condition", func() bool { return !l.objectHasReason(web, reason.NoBackup) })
		l.sim.SetBackupJob("foreign", map[string]string{"schedule": "daily", "all": "1", "enabled": "0"})
		eventually(t, "the condition again", func() bool { return l.objectHasReason(web, reason.NoBackup) })

		manifest := func(rest string) {
			l.files["job.yaml"] = "apiVersion: proxmox.gitops/v1alpha1\nkind: BackupJob\nmetadata: {name: nightly}\nspec: {schedule: daily, guests: {vmids: [201]}, " + rest + "}\n"
		}
		manifest("retention: {keepDaily: 7}")
		l.push("a job", alice)
		l.converge()
		eventually(t, "the end of the condition", func() bool { return !l.objectHasReason(web, reason.NoBackup) })

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
				return len(g.Held) > 0 && g.Held[0].Reason == reason.Guard && g.Held[0].Digest != before
			})
			time.Sleep(2 * time.Minute)
			if !unchanged() {
				t.Errorf("%s: got the job %v, want it as it was", what, l.sim.BackupJob("nightly"))
			}
			if l.objectHasReason(web, reason.NoBackup) {
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
		if got := l.object(job.label).Held[0].Reason; got != reason.Guard {
			t.Errorf("got the removal held for %s, want the guard", got)
		}
		l.approve(l.object(web.label).Held[0].Digest)
		eventually(t, "the plain hold of the removal", func() bool {
			g := l.object(job.label)
			return len(g.Held) > 0 && g.Held[0].Reason == reason.Approval
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
		eventually(t, "the end of the condition", func() bool { return !l.objectHasReason(web, reason.NoBackup) })
		inPool("old")
		l.push("another pool", alice)
		eventually(t, "the hold", func() bool { return l.objectHasReason(web, reason.Guard) })
		l.sim.SetBackupJob("old-too", map[string]string{"schedule": "daily", "pool": "old", "enabled": "1"})
		l.converge()
		if l.objectHasReason(web, reason.NoBackup) {
			t.Error("got the condition, want the guest backed up in its new pool")
		}
	})
}

// requiredJob returns a job for two guests, with more fields.
func requiredJob(schedule, rest string) string {
	return "apiVersion: proxmox.gitops/v1alpha1\nkind: BackupJob\nmetadata: {name: nightly}\nspec: {schedule: \"" + schedule + "\", storage: local, guests: {vmids: [201, 202]}" + rest + "}\n"
}

// runRequiredBackup runs a test with two guests that require backups and their job, in sync. Edit changes keys of the job in Proxmox; "" removes one.
func runRequiredBackup(t *testing.T, test func(t *testing.T, l *lab, edit func(keys map[string]string))) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.grant("Sys.Modify", "Datastore.Allocate")
		l.files["web.yaml"], l.files["db.yaml"] = vmYAML("web-1", 201, "backup: required"), vmYAML("db-1", 202, "backup: required")
		l.files["job.yaml"] = requiredJob("02:00", ", enabled: true, retention: {keepLast: 3}")
		l.push("guests and their job", alice)
		defer l.start()()
		l.converge()
		eventually(t, "the record of the job", func() bool {
			return len(l.journal.State().Objects[journal.ObjectID{Kind: "BackupJob", ID: "nightly"}].Agreed) > 0
		})
		test(t, l, func(keys map[string]string) {
			live := l.sim.BackupJob("nightly")
			maps.Copy(live, keys)
			maps.DeleteFunc(live, func(_, text string) bool { return text == "" })
			l.sim.SetBackupJob("nightly", live)
		})
	})
}

// isHeldForGuard reports whether the change of the job is held because it takes backups from a guest.
func (l *lab) isHeldForGuard() bool {
	held := l.object("BackupJob/nightly").Held
	return len(held) > 0 && held[0].Reason == reason.Guard
}

// hasNoBackup reports whether the guest has the condition about its backups.
func (l *lab) hasNoBackup() bool {
	return l.objectHasReason(objectCase{label: "VirtualMachine/web-1"}, reason.NoBackup)
}

// TestEditOfARequiredBackupIsRepaired edits the job of a guest that requires backups, while its manifest stays as it is.
func TestEditOfARequiredBackupIsRepaired(t *testing.T) {
	t.Parallel()
	tests := map[string]map[string]string{
		"never":                    {"schedule": "2099-01-01"},
		"another_storage":          {"storage": "local-lvm"},
		"default_storage":          {"storage": ""},
		"shorter_retention":        {"prune-backups": "keep-last=1"},
		"disabled":                 {"enabled": "0"},
		"never_but_kept_longer":    {"schedule": "2099-01-01", "prune-backups": "keep-last=9"},
		"disabled_but_kept_longer": {"enabled": "0", "prune-backups": "keep-last=9"},
		"taken_out":                {"vmid": "202", "prune-backups": "keep-last=9"},
	}
	for name, keys := range tests {
		t.Run(name, func(t *testing.T) {
			runRequiredBackup(t, func(t *testing.T, l *lab, edit func(map[string]string)) {
				before := l.sim.BackupJob("nightly")
				edit(keys)
				eventually(t, "the repair", func() bool { return maps.Equal(l.sim.BackupJob("nightly"), before) })
				l.converge()
				if l.hasNoBackup() {
					t.Error("got the condition after the repair, want none")
				}
			})
		})
	}
}

// TestLongerRetentionByHandIsKept edits only how long backups are kept. Taking that back removes backups, so it waits, and the hold says what can be done.
func TestLongerRetentionByHandIsKept(t *testing.T) {
	runRequiredBackup(t, func(t *testing.T, l *lab, edit func(map[string]string)) {
		edit(map[string]string{"prune-backups": "keep-last=9"})
		eventually(t, "the hold", l.isHeldForGuard)
		if hint := l.object("BackupJob/nightly").Held[0].Hint; !strings.Contains(hint, "approve") || !strings.Contains(hint, "write it into the manifest") {
			t.Errorf("got the hint %q, want every way out", hint)
		}
		time.Sleep(10 * time.Minute)
		if got := l.sim.BackupJob("nightly")["prune-backups"]; got != "keep-last=9" || l.hasNoBackup() {
			t.Errorf("got %s, condition %t, want the longer retention without a condition", got, l.hasNoBackup())
		}
		l.files["job.yaml"] = requiredJob("02:00", ", enabled: true, retention: {keepLast: 9}")
		l.push("the same in the manifest", alice)
		l.converge()
	})
}

// TestExcludedPathWithoutAField edits a key that the manifest does not name. The agent leaves it alone, and the guest has a condition until it is undone, or wanted.
func TestExcludedPathWithoutAField(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(l *lab, edit func(map[string]string)){
		"undone": func(_ *lab, edit func(map[string]string)) { edit(map[string]string{"exclude-path": ""}) },
		"wanted": func(l *lab, _ func(map[string]string)) {
			l.files["job.yaml"] = requiredJob("02:00", ", enabled: true, retention: {keepLast: 3}, excludePaths: [/]")
			l.push("leave out everything", alice)
		},
	} {
		t.Run(name, func(t *testing.T) {
			runRequiredBackup(t, func(t *testing.T, l *lab, edit func(map[string]string)) {
				edit(map[string]string{"exclude-path": "/"})
				eventually(t, "the condition", l.hasNoBackup)
				time.Sleep(10 * time.Minute)
				if got := l.sim.BackupJob("nightly")["exclude-path"]; got != "/" || !l.hasNoBackup() {
					t.Errorf("got exclude-path %q, condition %t, want the path left alone and the condition", got, l.hasNoBackup())
				}
				l.sim.SetBackupJob("foreign", map[string]string{"schedule": "daily", "all": "1", "enabled": "1"})
				eventually(t, "the end of the condition by another job", func() bool { return !l.hasNoBackup() })
				l.sim.RemoveBackupJob("foreign")
				eventually(t, "the condition again", l.hasNoBackup)
				end(l, edit)
				eventually(t, "the end of the condition", func() bool { return !l.hasNoBackup() })
			})
		})
	}
}

// TestEditBeforeThereIsARecord requires backups of a guest whose job was edited before. Nothing proves that the change of the job is a repair.
func TestEditBeforeThereIsARecord(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.grant("Sys.Modify", "Datastore.Allocate")
		l.files["web.yaml"], l.files["job.yaml"] = vmYAML("web-1", 201), requiredJob("02:00", "")
		l.push("a guest and its job", alice)
		defer l.start()()
		l.converge()
		l.files["job.yaml"] = requiredJob("02:00", ", mode: observe")
		l.push("only observe the job", alice)
		l.converge()
		live := l.sim.BackupJob("nightly")
		live["schedule"] = "2099-01-01"
		l.sim.SetBackupJob("nightly", live)
		time.Sleep(5 * time.Minute) // the agent reads it
		l.files["web.yaml"], l.files["job.yaml"] = vmYAML("web-1", 201, "backup: required"), requiredJob("02:00", "")
		l.push("require backups", alice)
		eventually(t, "the hold and the condition", func() bool { return l.isHeldForGuard() && l.hasNoBackup() })
		l.approve(l.object("BackupJob/nightly").Held[0].Digest)
		eventually(t, "the schedule", func() bool { return l.sim.BackupJob("nightly")["schedule"] == "02:00" })
		l.converge()
		if l.hasNoBackup() {
			t.Error("got the condition after the approval, want none")
		}
	})
}

// TestEditWhileAnotherScheduleIsHeld edits the job while a commit waits that asks for a schedule which it never had.
func TestEditWhileAnotherScheduleIsHeld(t *testing.T) {
	runRequiredBackup(t, func(t *testing.T, l *lab, edit func(map[string]string)) {
		schedule := func() string { return l.sim.BackupJob("nightly")["schedule"] }
		const rest = ", enabled: true, retention: {keepLast: 3}"
		manifest := func(of string) {
			l.files["job.yaml"] = requiredJob(of, rest)
			l.push("at "+of, alice)
		}
		manifest("05:00")
		eventually(t, "the hold", l.isHeldForGuard)
		if l.hasNoBackup() {
			t.Error("got the condition, want none while the job is as it was accepted")
		}
		edit(map[string]string{"schedule": "2099-01-01"})
		eventually(t, "the condition", l.hasNoBackup)
		time.Sleep(5 * time.Minute)
		if schedule() != "2099-01-01" || !l.isHeldForGuard() {
			t.Fatalf("got %s, want the change held", schedule())
		}
		manifest("02:00")
		eventually(t, "the repair", func() bool { return schedule() == "02:00" })
		l.converge()

		// Somebody does by hand what an approval has not released, and somebody else undoes it.
		manifest("05:00")
		eventually(t, "the hold again", l.isHeldForGuard)
		edit(map[string]string{"schedule": "05:00"})
		l.converge()
		time.Sleep(5 * time.Minute)
		edit(map[string]string{"schedule": "02:00"})
		eventually(t, "the hold of what was done by hand", l.isHeldForGuard)
		time.Sleep(5 * time.Minute)
		if schedule() != "02:00" {
			t.Errorf("got %s without an approval, want 02:00", schedule())
		}
		l.approve(l.object("BackupJob/nightly").Held[0].Digest)
		eventually(t, "the approved schedule", func() bool { return schedule() == "05:00" })
		l.converge()
		time.Sleep(2 * time.Minute)
		edit(map[string]string{"schedule": "2099-01-01"})
		eventually(t, "the repair", func() bool { return schedule() == "05:00" })

		manifest("02:00") // it was wanted before, and is not what is wanted now
		eventually(t, "the hold of the former schedule", l.isHeldForGuard)
	})
}

// TestPoolOfABackupJobStays removes the manifest of a pool that a job selects. The pool stays, with a condition, until the job selects something else. The job
// is one of a manifest, or one of a person, which the plan does not read.
func TestPoolOfABackupJobStays(t *testing.T) {
	t.Parallel()
	for name, isForeign := range map[string]bool{"of_a_manifest": false, "of_a_person": true} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.grant("Sys.Modify", "Datastore.Allocate", "VM.Backup", "Pool.Allocate")
				l.files["web.yaml"] = vmYAML("web-1", 201)
				l.files["pool.yaml"] = objectCases["pool"].manifest("lifecycle: {destroy: allow}")
				if isForeign {
					l.sim.SetBackupJob("weekly", map[string]string{"schedule": "daily", "pool": "web", "enabled": "1"})
				} else {
					l.files["job.yaml"] = "apiVersion: proxmox.gitops/v1alpha1\nkind: BackupJob\nmetadata: {name: nightly}\nspec:\n  schedule: daily\n  guests: {pool: web}\n"
				}
				l.push("a pool that a job selects", alice)
				defer l.start()()
				l.converge()
				delete(l.files, "pool.yaml")
				l.push("remove the pool", alice)
				time.Sleep(10 * time.Minute)
				named := slices.ContainsFunc(l.object("Pool/web").Conditions, func(c plan.Condition) bool { return strings.Contains(c.Message, "the backup job ") })
				if _, exists := l.sim.PoolComment("web"); !exists || !named {
					t.Fatalf("got the pool there %t and the conditions %+v, want it kept, and the job named", exists, l.object("Pool/web").Conditions)
				}
				if isForeign {
					l.sim.RemoveBackupJob("weekly")
					time.Sleep(40 * time.Minute) // a user that only the check before the removal shows is looked for again after half an hour
				} else {
					l.files["job.yaml"] = strings.Replace(l.files["job.yaml"], "pool: web", "all: true", 1)
					l.push("back up all guests", alice)
				}
				eventually(t, "the removal of the pool", func() bool {
					_, exists := l.sim.PoolComment("web")
					return !exists
				})
				l.converge()
			})
		})
	}
}

// TestBackupJobOfNoPool describes a job of a pool that does not exist: it is not made. When the pool of a job is removed by hand, the job is in sync and has the
// condition.
func TestBackupJobOfNoPool(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.grant("Sys.Modify", "Datastore.Allocate", "VM.Backup")
		job := objectCase{label: "BackupJob/nightly"}
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.files["job.yaml"] = "apiVersion: proxmox.gitops/v1alpha1\nkind: BackupJob\nmetadata: {name: nightly}\nspec:\n  schedule: daily\n  guests: {pool: web}\n"
		l.push("a job of a pool", alice)
		defer l.start()()
		eventually(t, "the condition", func() bool { return l.objectHasReason(job, reason.Awaits) })
		time.Sleep(5 * time.Minute)
		if l.sim.BackupJob("nightly") != nil {
			t.Error("got the job made, want none: it would back up nothing")
		}
		l.sim.AddPool("web", "of a person")
		eventually(t, "the job", func() bool { return l.sim.BackupJob("nightly") != nil && !l.objectHasReason(job, reason.Awaits) })
		l.converge()
		l.sim.RemovePool("web")
		eventually(t, "the condition of the job that exists", func() bool { return l.objectHasReason(job, reason.Awaits) })
		if got := l.object("BackupJob/nightly"); got.Health != report.Degraded {
			t.Errorf("got the health %s, want %s", got.Health, report.Degraded)
		}
	})
}

// TestSecondJobOfARequiredBackup makes and widens a job that would prune what another one keeps of a guest that requires backups, by a list, by labels and by a pool. Each of them waits
// for an approval, and nothing of the other guests does.
func TestSecondJobOfARequiredBackup(t *testing.T) {
	runRequiredBackup(t, func(t *testing.T, l *lab, _ func(map[string]string)) {
		l.grant("Sys.Modify", "Datastore.Allocate", "VM.Backup", "Pool.Allocate", "VM.Allocate")
		second := func(guests string) {
			l.files["second.yaml"] = "apiVersion: proxmox.gitops/v1alpha1\nkind: BackupJob\nmetadata: {name: second}\nspec: {schedule: hourly, storage: local, retention: {keepLast: 1}, guests: " + guests + "}\n"
		}
		isHeld := func(label string) bool {
			held := l.object(label).Held
			return len(held) > 0 && held[0].Reason == reason.Guard
		}
		prunes := func() bool {
			job := l.sim.BackupJob("second")
			return job != nil && (job["vmid"] != "203" || job["pool"] != "")
		}
		never := func(what, label string) {
			t.Helper()
			l.push(what, alice)
			eventually(t, "the hold of "+what, func() bool { return isHeld(label) })
			time.Sleep(5 * time.Minute)
			if prunes() {
				t.Errorf("%s: got the job %v, want no backup of 201 pruned", what, l.sim.BackupJob("second"))
			}
		}
		l.sim.AddPool("lab", "")
		second("{vmids: [201]}")
		never("a second job", "BackupJob/second")

		l.files["lab.yaml"] = vmYAML("lab-1", 203)
		second("{vmids: [203]}")
		l.push("a job of another guest", alice)
		eventually(t, "the job", func() bool { return l.sim.BackupJob("second")["vmid"] == "203" })
		l.converge()
		second("{vmids: [201, 203]}")
		never("a longer list", "BackupJob/second")
		second("{all: true}")
		never("all guests", "BackupJob/second")

		l.files["lab.yaml"] = labelled("lab-1", 203, "tier: lab")
		second("{labels: {tier: lab}}")
		l.push("by labels", alice)
		l.converge()
		l.files["web.yaml"] = strings.Replace(vmYAML("web-1", 201, "backup: required"), "{name: web-1}", "{name: web-1, labels: {tier: lab}}", 1)
		never("a label", "BackupJob/second")
		l.approve(l.object("BackupJob/second").Held[0].Digest)
		eventually(t, "the approved job", func() bool { return l.sim.BackupJob("second")["vmid"] == "201,203" })
		l.converge()
	})
}

// TestMoveIntoAPoolOfASecondJob moves a guest that requires backups into a pool whose job would prune what another one keeps.
func TestMoveIntoAPoolOfASecondJob(t *testing.T) {
	runRequiredBackup(t, func(t *testing.T, l *lab, _ func(map[string]string)) {
		l.grant("Sys.Modify", "Datastore.Allocate", "VM.Backup", "Pool.Allocate", "VM.Allocate")
		l.sim.AddPool("lab", "")
		job := func(storage string) {
			l.files["by-pool.yaml"] = "apiVersion: proxmox.gitops/v1alpha1\nkind: BackupJob\nmetadata: {name: by-pool}\nspec: {schedule: hourly, storage: " + storage + ", retention: {keepLast: 1}, guests: {pool: lab}}\n"
		}
		job("local")
		l.files["web.yaml"] = vmYAML("web-1", 201, "backup: required", "pool: lab")
		l.push("the job and the guest at once", alice)
		web := objectCase{label: "VirtualMachine/web-1"}
		eventually(t, "the hold", func() bool { return l.objectHasReason(web, reason.Guard) })
		time.Sleep(5 * time.Minute)
		for _, g := range l.sim.Guests() {
			if g.Pool == "lab" {
				t.Errorf("got guest %d in the pool, want none", g.VMID)
			}
		}
		delete(l.files, "by-pool.yaml")
		l.push("no such job", alice)
		eventually(t, "the hold of the removal", func() bool { return l.objectHasReason(objectCase{label: "BackupJob/by-pool"}, reason.Approval) })
		l.approve(l.object("BackupJob/by-pool").Held[0].Digest)
		l.converge()
		job("local-lvm") // on another storage it takes nothing
		l.push("a job on another storage", alice)
		l.converge()
	})
}

// TestStarvedJobOfARequiredBackup slows down the job of guests that require backups, in one way after the other. Each change waits for an approval.
func TestStarvedJobOfARequiredBackup(t *testing.T) {
	runRequiredBackup(t, func(t *testing.T, l *lab, _ func(map[string]string)) {
		before := l.sim.BackupJob("nightly")
		for _, field := range []string{"bandwidthLimit: 1", "backupMode: stop", "lockWait: 0", "stopWait: 0", "prune: false", "protected: true", "performance: {pbsEntriesMax: 1}"} {
			l.files["job.yaml"] = requiredJob("02:00", ", enabled: true, retention: {keepLast: 3}, "+field)
			l.push(field, alice)
			eventually(t, "the hold of "+field, l.isHeldForGuard)
			time.Sleep(5 * time.Minute)
			if got := l.sim.BackupJob("nightly"); !maps.Equal(got, before) {
				t.Errorf("%s: got %v, want %v", field, got, before)
			}
			l.files["job.yaml"] = requiredJob("02:00", ", enabled: true, retention: {keepLast: 3}")
			l.push("not "+field, alice)
			l.converge()
		}
	})
}
