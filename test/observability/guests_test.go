//go:build integration

package observability

import (
	"fmt"
	"os"
	"slices"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// guests breaks what the agent does with guests. The faults begin at the same time, since an age of an hour must pass for one of them, and each has a
// guest of its own.
func guests(w *world) {
	const (
		flapping, waiting, pending, suspended, unknown, hanging = 201, 202, 203, 204, 205, 206
		locked, unsaved                                         = 208, 209
		failing                                                 = 211 // and the four after it
	)
	files := w.repo.Files
	files["flapping.yaml"] = machine("flapping", flapping)
	files["waiting.yaml"] = machine("waiting", waiting, "state: running", "lifecycle: {rebootPolicy: approve}")
	files["pending.yaml"] = machine("pending", pending, "state: running")
	files["suspended.yaml"] = machine("suspended", suspended)
	files["unknown.yaml"] = machine("unknown", unknown)
	files["hanging.yaml"] = machine("hanging", hanging)
	files["blocked.yaml"] = machine("blocked", 207)
	files["locked.yaml"] = machine("locked", locked)
	files["unsaved.yaml"] = machine("unsaved", unsaved)
	for i := range 5 {
		files[fmt.Sprintf("failing-%d.yaml", i)] = machine(fmt.Sprintf("failing-%d", i), failing+i)
	}
	for i := range 2 {
		files[fmt.Sprintf("old-%d.yaml", i)] = machine(fmt.Sprintf("old-%d", i), 221+i, "lifecycle: {destroy: allow}")
	}
	w.begin()
	w.quiet("GitopsAgentGuestDrifted", "GitopsAgentGuestFailed", "GitopsAgentGuestFlapping", "GitopsAgentApprovalWaiting", "GitopsAgentRestartPending",
		"GitopsAgentSuspendedTooLong", "GitopsAgentStepsFailing", "GitopsAgentStepUnknown", "GitopsAgentTaskHanging", "GitopsAgentDestroyLimit", "GitopsAgentSnapshotLate",
		"GitopsAgentBackupMissing")

	// The reply to a change is lost, and nothing tells whether its task did all of it.
	w.inject(pvesim.Fault{Kind: pvesim.DropAfter, Writes: true, VMID: unknown, Path: "/config$"})
	// The storage of five guests is broken for their first start. The task of another guest never ends.
	for i := range 5 {
		w.inject(pvesim.Fault{Kind: pvesim.TaskFails, Text: "storage 'local-lvm' is not online", VMID: failing + i, Path: "/status/start$"})
	}
	w.inject(pvesim.Fault{Kind: pvesim.TaskNeverEnds, VMID: hanging, Path: "/status/start$"})
	files["unknown.yaml"] = machine("unknown", unknown, "description: changed")
	for i := range 5 {
		files[fmt.Sprintf("failing-%d.yaml", i)] = machine(fmt.Sprintf("failing-%d", i), failing+i, "state: running")
	}
	files["hanging.yaml"] = machine("hanging", hanging, "state: running")
	files["waiting.yaml"] = machine("waiting", waiting, "state: running", "lifecycle: {rebootPolicy: approve}", "memory: {size: 768Mi}")
	files["pending.yaml"] = machine("pending", pending, "state: running", "memory: {size: 768Mi}")
	files["suspended.yaml"] = machine("suspended", suspended, "suspend: {reason: a test}")
	files["blocked.yaml"] = machine("blocked", 207, "cloudInit: {storage: local-lvm, user: ops, passwordFrom: {file: blocked}}")
	// A backup that does not end locks a guest, so no snapshot is taken. No backup job covers another guest.
	w.ok(w.sim.Edit(locked, "lock", "backup"))
	files["locked.yaml"] = machine("locked", locked, "snapshots: {schedule: monthly, keep: 1}")
	files["unsaved.yaml"] = machine("unsaved", unsaved, "backup: required")
	old := files["old-1.yaml"]
	delete(files, "old-0.yaml")
	delete(files, "old-1.yaml")
	w.push("many changes")
	w.accepted()

	w.fires("GitopsAgentStepsFailing", "GitopsAgentStepUnknown", "GitopsAgentDestroyLimit", "GitopsAgentApprovalWaiting", "GitopsAgentTaskHanging")
	w.flap("flapping")
	w.fires("GitopsAgentGuestFlapping", "GitopsAgentGuestFailed", "GitopsAgentRestartPending", "GitopsAgentSuspendedTooLong", "GitopsAgentSnapshotLate", "GitopsAgentBackupMissing")

	// Follow the runbooks.
	w.ok(w.sim.Edit(locked, "lock", ""))
	w.sim.SetBackupJob("nightly", map[string]string{"schedule": "daily", "all": "1", "enabled": "1"})
	w.command("retry", "VirtualMachine/flapping")
	w.abortTasks(hanging)
	var kept string
	w.until("a held destroy", func(d report.Document) bool {
		for i := range 2 {
			if g := guestOf(d, fmt.Sprintf("old-%d", i)); len(g.Held) != 0 {
				kept = g.Name
			}
		}
		return kept != ""
	})
	if kept == "old-1" {
		files["old-1.yaml"] = old
	} else {
		files["old-0.yaml"] = machine("old-0", 221, "lifecycle: {destroy: allow}")
	}
	files["suspended.yaml"] = machine("suspended", suspended)
	w.push("keep " + kept + ", and resume a guest")
	w.approve("waiting", "suspended")
	w.resolve("GitopsAgentGuestFlapping", "GitopsAgentTaskHanging", "GitopsAgentDestroyLimit", "GitopsAgentApprovalWaiting", "GitopsAgentSuspendedTooLong",
		"GitopsAgentSnapshotLate")

	// A person changes a guest, and the agent cannot change it back.
	w.inject(pvesim.Fault{Kind: pvesim.ErrorText, Text: "storage 'local-lvm' is not online", Writes: true, VMID: unsaved, Path: "/config$", Times: -1})
	w.ok(w.sim.Edit(unsaved, "memory", "1024"))
	w.fires("GitopsAgentGuestDrifted")
	for _, a := range w.pager.find("GitopsAgentGuestDrifted", w.address) {
		if a.Labels["vmid"] == fmt.Sprint(pending) {
			w.Errorf("got %s of a guest that only waits for a restart", a.Labels["alertname"])
		}
	}
	w.sim.ClearFaults()
	w.ok(w.sim.SetRunning(pending, false)) // a person stops it, and the agent starts it again
	w.ok(os.WriteFile(w.path("secrets/blocked"), []byte("a password\n"), 0o600))
	w.command("retry", "--all")
	w.converged()
	w.resolve("GitopsAgentGuestDrifted", "GitopsAgentGuestFailed", "GitopsAgentRestartPending", "GitopsAgentStepsFailing", "GitopsAgentStepUnknown", "GitopsAgentBackupMissing")
}

// flap edits a guest each time the agent has brought it in sync again, as another program does, until the agent repairs it less often.
func (w *world) flap(name string) {
	w.Helper()
	edits, edited := 0, time.Now()
	w.until("the guest to be left alone", func(d report.Document) bool {
		g := guestOf(d, name)
		if slices.ContainsFunc(g.Conditions, func(c plan.Condition) bool { return c.Reason == reason.Flapping }) {
			return true
		}
		if g.Sync == report.Synced && g.ObservedAt.After(edited) && w.sim.Value(g.VMID, "memory") == "512" {
			edits++
			w.ok(w.sim.Edit(g.VMID, "memory", fmt.Sprint(1000+edits)))
			edited = time.Now()
		}
		return false
	})
}
