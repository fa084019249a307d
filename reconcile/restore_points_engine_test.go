package reconcile_test

import (
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
)

// runWithJob runs a test with a guest that requires backups, on two nodes, and a job that a person made.
func runWithJob(t *testing.T, job map[string]string, test func(t *testing.T, l *lab)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, newSim(t, pvesim.Options{Nodes: []string{"pve1", "pve2"}}))
		l.trustOtto()
		l.files["cluster.yaml"], l.files["web.yaml"] = clusterYAML, vmYAML("web-1", 201, "backup: required")
		for key, text := range map[string]string{"schedule": "daily", "enabled": "1", "storage": "local"} {
			if job[key] == "" {
				job[key] = text
			}
		}
		l.sim.SetBackupJob("nightly", job)
		l.push("a guest", alice)
		defer l.start()()
		l.converge()
		eventually(t, "the cover", func() bool {
			return !l.objectHasReason(objectCase{label: "VirtualMachine/web-1"}, reason.NoBackup)
		})
		test(t, l)
	})
}

// TestOrdersThatTakeRestorePoints gives orders to a guest that requires backups. One that takes the place of a backup of a job, or moves the guest out of its job, waits for an approval.
func TestOrdersThatTakeRestorePoints(t *testing.T) {
	t.Parallel()
	all := map[string]string{"all": "1", "prune-backups": "keep-last=3"}
	for name, test := range map[string]struct {
		job  map[string]string
		run  string
		held bool
	}{
		"backup":           {all, backupWeb1, true},
		"protected_backup": {all, backupWeb1 + " protected=yes", false},
		"backup_of_all":    {map[string]string{"all": "1", "prune-backups": "keep-all=1"}, backupWeb1, false},
		"backup_elsewhere": {map[string]string{"vmid": "201", "storage": "local-lvm", "prune-backups": "keep-last=3"}, backupWeb1, false},
		"move":             {map[string]string{"all": "1", "node": "pve1"}, "migrate" + web1 + " target=pve2", true},
		"move_in_a_job":    {all, "migrate" + web1 + " target=pve2", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runWithJob(t, maps.Clone(test.job), func(t *testing.T, l *lab) {
				l.sim.SetBackupJob("others", map[string]string{"schedule": "daily", "enabled": "1", "storage": "local", "all": "1", "exclude": "201", "prune-backups": "keep-last=3"})
				l.order(test.run)
				if !test.held {
					l.waitForOrder(test.run, journal.OrderRun)
					return
				}
				eventually(t, "the hold", func() bool { return l.objectHasReason(objectCase{label: "VirtualMachine/web-1"}, reason.Approval) })
				time.Sleep(time.Hour)
				if o := l.orderOf(test.run); o.State != journal.OrderSeen || len(l.backups()) != 0 || l.sim.Effects(201, pvesim.Migrated) != 0 {
					t.Fatalf("got the order %+v, want it to wait", o)
				}
				l.approve(l.object("VirtualMachine/web-1").Held[0].Digest)
				l.waitForOrder(test.run, journal.OrderRun)
			})
		})
	}
}

// TestGuestUnderHALeavesItsJob puts a guest under HA that only a job of its node, or one that shuts it down, backs up.
func TestGuestUnderHALeavesItsJob(t *testing.T) {
	t.Parallel()
	for name, job := range map[string]map[string]string{
		"node": {"all": "1", "node": "pve1"}, "stop": {"all": "1", "mode": "stop"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runWithJob(t, job, func(t *testing.T, l *lab) {
				l.grant("Sys.Console")
				l.files["web.yaml"] = vmYAML("web-1", 201, "backup: required", "ha: {state: started}")
				l.push("HA", alice)
				eventually(t, "the hold", func() bool { return l.objectHasReason(objectCase{label: "VirtualMachine/web-1"}, reason.Guard) })
				time.Sleep(time.Hour)
				if l.guest(l.engine.Report(), 201).Held[0].Digest == "" {
					t.Error("got no digest, want an approval to release it")
				}
			})
		})
	}
}

// TestGuestUnderHAIsCovered puts a guest under HA that a job of each node backs up, and one that the HA manager leaves alone. Both are covered, and nothing waits.
func TestGuestUnderHAIsCovered(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ state, second string }{"job_of_each_node": {"started", "pve2"}, "ignored": {"ignored", ""}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runWithJob(t, map[string]string{"all": "1", "node": "pve1", "prune-backups": "keep-last=3"}, func(t *testing.T, l *lab) {
				l.grant("Sys.Console", "Sys.Modify", "Datastore.Allocate")
				if test.second != "" {
					l.files["second.yaml"] = objectYAML("BackupJob", "second", "schedule: daily, storage: local, guests: {all: true}, node: "+test.second+", retention: {keepLast: 3}")
				}
				l.push("a job of the other node", alice)
				l.converge()
				l.files["web.yaml"] = vmYAML("web-1", 201, "backup: required", "ha: {state: "+test.state+"}")
				l.push("HA", alice)
				l.converge()
				time.Sleep(time.Hour)
				if g := l.guest(l.engine.Report(), 201); len(g.Held) > 0 || l.sim.HAState(201) == "" || l.objectHasReason(objectCase{label: "VirtualMachine/web-1"}, reason.NoBackup) {
					t.Errorf("got %+v, want the guest under HA and covered", g)
				}
				if test.second != "" {
					return
				}
				l.files["web.yaml"] = vmYAML("web-1", 201, "backup: required", "ha: {state: started}")
				l.push("managed", alice)
				eventually(t, "the hold", func() bool { return l.objectHasReason(objectCase{label: "VirtualMachine/web-1"}, reason.Guard) })
			})
		})
	}
}

// TestStoragesAreReadSeldom counts how often storages are read while nothing happens, and makes a second job while they cannot be read: it waits, and its kind is known.
func TestStoragesAreReadSeldom(t *testing.T) {
	t.Parallel()
	runWithJob(t, map[string]string{"all": "1", "prune-backups": "keep-last=3"}, func(t *testing.T, l *lab) {
		l.grant("Sys.Modify", "Datastore.Allocate")
		time.Sleep(15 * time.Minute)
		const jobs, storages = "GET /cluster/backup", "GET /storage"
		before := l.sim.Counters().Routes
		time.Sleep(time.Hour)
		after := l.sim.Counters().Routes
		if n, of := after[storages]-before[storages], after[jobs]-before[jobs]; n > 6 || of < 50 {
			t.Errorf("got storages read %d times in an hour and jobs %d times, want at most 6 and at least 50", n, of)
		}
		l.ok(l.sim.Inject(pvesim.Fault{Method: "GET", Path: "^/storage$", Kind: pvesim.ErrorText, Text: "no answer", Times: -1}))
		l.files["second.yaml"] = objectYAML("BackupJob", "second", "schedule: hourly, storage: local-lvm, guests: {all: true}, retention: {keepLast: 1}")
		l.push("a second job", alice)
		eventually(t, "the hold", func() bool { return l.objectHasReason(objectCase{label: "BackupJob/second"}, reason.Guard) })
		if l.objectHasReason(objectCase{label: "VirtualMachine/web-1"}, reason.NoBackup) {
			t.Error("got a guest that is not known to be covered, want the jobs known")
		}
		l.sim.ClearFaults()
		l.converge()
	})
}

// TestVMIDOfAGuestThatRequiredBackups takes away the manifest of a guest that requires backups. Its backups are all that is left of it when it is gone, and the jobs of the next guest with its
// vmid prune them: it is neither destroyed without an approval nor, if a person destroyed it, is a guest created with its vmid.
func TestVMIDOfAGuestThatRequiredBackups(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]map[string]string{
		"other_guest": {"other.yaml": vmYAML("other-1", 202, "lifecycle: {recreate: allow}")}, "same_label": {"db.yaml": vmYAML("db-1", 202, "lifecycle: {recreate: allow}")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runWithJob(t, map[string]string{"all": "1", "prune-backups": "keep-last=3"}, func(t *testing.T, l *lab) {
				l.files["db.yaml"] = vmYAML("db-1", 202, "backup: required", "lifecycle: {destroy: allow, recreate: allow}")
				l.push("another guest", alice)
				l.converge()
				delete(l.files, "db.yaml")
				l.waitForAcceptance(l.push("without the guest", alice))
				l.waitForHold(202, reason.Approval)
				l.removeByHand(202)
				eventually(l, "the end of the ownership", func() bool { _, owned := l.journal.State().Owned[202]; return !owned })
				l.sim.ResetCounters()
				l.set(next)
				l.waitForAcceptance(l.push("its vmid", alice))
				l.waitForHold(202, reason.Approval)
				time.Sleep(time.Hour)
				if n := l.creations(202); n > 0 {
					t.Errorf("got %d guests with the vmid, want none before an approval", n)
				}
				if g := l.journal.State().Guarded[202]; g.Rules.Backup == "" {
					t.Errorf("got the guards %+v, want the backups guarded", g)
				}
			})
		})
	}
}

// TestRecreationOfAGuestThatRequiresBackups destroys a guest by hand whose manifest stays, with recreate: allow. The jobs would prune its backups as those of the new guest, so this one waits
// for an approval, and with the guard in force also after the manifest has lost its line.
func TestRecreationOfAGuestThatRequiresBackups(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]string{"required": "backup: required", "line_removed": "description: web"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runWithJob(t, map[string]string{"all": "1", "prune-backups": "keep-last=3"}, func(t *testing.T, l *lab) {
				l.files["web.yaml"] = vmYAML("web-1", 201, "backup: required", "lifecycle: {recreate: allow}")
				l.waitForAcceptance(l.push("created again", alice))
				l.converge()
				l.files["web.yaml"] = vmYAML("web-1", 201, after, "lifecycle: {recreate: allow}")
				l.sim.ResetCounters()
				l.removeByHand(201)
				l.waitForAcceptance(l.push("its last manifest", alice))
				l.waitForHold(201, reason.Approval)
				time.Sleep(time.Hour)
				if n := l.creations(201); n > 0 {
					t.Fatalf("got %d guests created in place of one that required backups, want none before an approval", n)
				}
				l.approve(l.guest(l.engine.Report(), 201).Held[0].Digest)
				eventually(l, "the approved creation", func() bool { return l.creations(201) == 1 })
			})
		})
	}
}

// TestLostMarkerOfAJobThatAGuardNames lets an edit drop the comment of a job, keep less, and take the marker along. The agent may not repair what may be another job, so the guest that requires
// backups says it until an approval names the overwriting.
func TestLostMarkerOfAJobThatAGuardNames(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.grant("Sys.Modify", "Datastore.Allocate")
		l.files["web.yaml"], l.files["other.yaml"] = vmYAML("web-1", 201, "backup: required"), vmYAML("other-1", 202)
		l.files["job.yaml"] = objectYAML("BackupJob", "nightly", "schedule: daily, storage: local, guests: {vmids: [201, 202]}, retention: {keepLast: 9}")
		l.push("guests and a job", alice)
		defer l.start()()
		l.converge()
		l.sim.SetBackupJob("nightly", map[string]string{"schedule": "daily", "enabled": "1", "storage": "local", "vmid": "201,202", "prune-backups": "keep-last=1"})
		warned := func(label string) bool { return l.objectHasReason(objectCase{label: label}, reason.NotManaged) }
		eventually(t, "the warning", func() bool { return warned("BackupJob/nightly") && warned("VirtualMachine/web-1") })
		if warned("VirtualMachine/other-1") {
			t.Error("got a warning at a guest that does not require backups")
		}
		l.approve(l.object("BackupJob/nightly").Held[0].Digest)
		eventually(t, "the end of the warning", func() bool { return !warned("VirtualMachine/web-1") })
		l.converge()
		if got := l.sim.BackupJob("nightly")["prune-backups"]; got != "keep-last=9" {
			t.Errorf("got %q, want the retention of the manifest", got)
		}
	})
}
