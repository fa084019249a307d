//go:build integration

package observability

import (
	"fmt"

	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
)

// rollouts lets a rollout wait for a person after its first batch, and makes the second batch fail.
func rollouts(w *world) {
	const first = 201
	web := func(memory string) {
		w.repo.Files["classes.yaml"] = manifest("GuestClass", "web", "rollout: {canary: 1, maxUnavailable: 1, pause: approval, failAfter: 1s}",
			"virtualMachine: {state: running, lifecycle: {rebootPolicy: auto}, memory: {size: "+memory+"}}")
	}
	web("512Mi")
	for i := range 3 {
		w.repo.Files[fmt.Sprintf("web-%d.yaml", i)] = manifest("VirtualMachine", fmt.Sprintf("web-%d", i), fmt.Sprintf("vmid: %d", first+i), "class: web", "node: pve1",
			"source: {blank: {}}", "disks: {scsi0: {storage: local-lvm, size: 1Gi}}")
	}
	w.begin()
	w.quiet("GitopsAgentRolloutFailed", "GitopsAgentRolloutWaiting")

	web("768Mi")
	w.push("more memory")
	w.accepted()
	revision := w.repo.Tip
	w.inState(journal.RolloutPaused)
	w.fires("GitopsAgentRolloutWaiting")

	w.inject(pvesim.Fault{Kind: pvesim.TaskFails, Text: "the guest does not answer", VMID: first + 1, Path: "/status/reboot$"})
	w.promote(revision)
	w.fires("GitopsAgentRolloutFailed")

	// Follow the runbooks.
	w.sim.ClearFaults()
	w.promote(revision)
	w.command("retry", "--all")
	w.resolve("GitopsAgentRolloutFailed", "GitopsAgentRolloutWaiting")
	w.converged()
}

// inState waits until the rollout is in a state.
func (w *world) inState(state journal.RolloutState) {
	w.Helper()
	w.until("the rollout to be "+string(state), func(d report.Document) bool { return len(d.Rollouts) == 1 && d.Rollouts[0].State == state })
}

// promote pushes the order that continues the rollout of a revision, as olga.
func (w *world) promote(revision string) {
	w.Helper()
	w.commit("Continue\n\nGitops-Run: promote Rollout/web revision="+revision+"\nGitops-Target: home/main\n", olga, sigtest.SignOptions{})
}
