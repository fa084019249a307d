package metrics_test

import (
	"time"

	"gitops-agent/metrics"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/verify"
)

var noon = time.Date(2026, time.March, 22, 12, 0, 0, 0, time.UTC)

const commit = "3f2a1c94d07b5f2e6a8c1b0d9e4f7a6b5c3d2e1f"

// report is a cluster with a guest of each sync state, one that no manifest names any more, and one that has no vmid yet.
func sampleReport() reconcile.Report {
	return reconcile.Report{
		Time: noon, Cluster: "pve-lab", QueueDepth: 2,
		Source: reconcile.SourceReport{
			Branch: "main", HeadSeen: noon.Add(-time.Minute), LastSuccess: noon.Add(-5 * time.Second),
			Accepted: &reconcile.RevisionReport{Commit: commit, ProvenTime: noon.Add(-2 * time.Minute), Converged: noon.Add(-30 * time.Second)},
		},
		Writes:    reconcile.WritesReport{Allowed: true, Reason: string(reconcile.WritesAllowed)},
		Journal:   reconcile.JournalReport{Healthy: true, Inflight: 1},
		Unmanaged: []reconcile.GuestName{{Kind: guest.VirtualMachine, VMID: 100}},
		Guests: []reconcile.GuestReport{
			{
				Kind: guest.VirtualMachine, Name: "web-1", VMID: 211, Node: "pve1", Managed: true, Sync: reconcile.Synced, Health: reconcile.Healthy,
				ObservedAt: noon.Add(-9 * time.Second), Converged: noon,
			},
			{
				Kind: guest.Container, Name: "dns-1", VMID: 201, Node: "pve2", Managed: true, Sync: reconcile.OutOfSync, Health: reconcile.HealthSuspended,
				Changes:    []reconcile.ChangeReport{{Key: "memory", Class: guest.Live}, {Key: "rootfs", Class: guest.Destructive}},
				Held:       []reconcile.HeldReport{{Op: reconcile.OpConfig, Reason: reconcile.HoldSuspended, Since: noon.Add(-time.Hour)}},
				ObservedAt: noon.Add(-12 * time.Second), DriftSince: noon.Add(-time.Hour), Converged: noon.Add(-time.Hour),
			},
			{
				Kind: guest.VirtualMachine, Name: "batch-7", VMID: 307, Node: "pve3", Sync: reconcile.OutOfSync, Health: reconcile.Healthy,
				Held:       []reconcile.HeldReport{{Op: reconcile.OpDestroy, Reason: reconcile.HoldApproval, Since: noon.Add(-3 * time.Hour)}},
				ObservedAt: noon.Add(-15 * time.Second), DriftSince: noon.Add(-3 * time.Hour),
			},
			{Kind: guest.VirtualMachine, Name: "web-3", Managed: true, Sync: reconcile.SyncUnknown, Health: reconcile.Missing},
			{Kind: guest.VirtualMachine, Name: "web-4", Managed: true, Sync: reconcile.OutOfSync, Health: reconcile.Missing},
		},
	}
}

// work feeds what happens on the way from a push to a converged cluster.
func work(m *metrics.Metrics) {
	m.Poll(reconcile.PollOutcome{Result: reconcile.PollAccepted, Duration: 300 * time.Millisecond})
	m.Poll(reconcile.PollOutcome{Result: reconcile.PollRefused, Duration: 200 * time.Millisecond})
	m.Verified(reconcile.VerifyOutcome{Duration: time.Millisecond})
	m.Verified(reconcile.VerifyOutcome{Reason: string(verify.ReasonUnsigned), Duration: time.Millisecond})
	m.Refused(reconcile.RefusedReport{Reason: string(verify.ReasonUnsigned)})
	m.Refused(reconcile.RefusedReport{Reason: reconcile.RefusedManifests})
	m.Planned(reconcile.PlanOutcome{Duration: 3 * time.Millisecond, Steps: map[guest.Class]int{guest.Live: 7, guest.Destructive: 1}})
	m.Planned(reconcile.PlanOutcome{Duration: 2 * time.Millisecond, Steps: map[guest.Class]int{guest.Live: 2}})
	m.Step(reconcile.StepOutcome{Step: reconcile.Step{Op: reconcile.OpCreate}, Result: journal.Done, Duration: 12 * time.Second})
	m.Step(reconcile.StepOutcome{Step: reconcile.Step{Op: reconcile.OpStart}, Result: journal.Failed, Duration: 2 * time.Second})
	m.QueueWait(40 * time.Millisecond)
	m.Drift(reconcile.DriftOutcome{Cause: reconcile.DriftCluster})
	m.Drift(reconcile.DriftOutcome{Cause: reconcile.DriftCluster, Repaired: true})
	m.Converged(reconcile.ConvergedOutcome{Total: 20 * time.Second, SinceProof: 50 * time.Second, Verify: time.Second, Apply: 19 * time.Second})
	m.Recovered(211, reconcile.OpStart, journal.NotRun)
	m.Order("approve", journal.OrderRun)
	m.Request("GET", "/cluster/resources", "200", 20*time.Millisecond)
	m.Request("PUT", "/nodes/{node}/{kind}/{vmid}/config", "500", time.Second)
	m.JournalSync(5, 2*time.Millisecond)
	m.TrustedRoot("0f1e2d", noon.AddDate(1, 0, 0))
	m.Report(sampleReport())
}

// everyWord feeds every word of every closed vocabulary.
func everyWord(m *metrics.Metrics) {
	for _, r := range reconcile.PollResults() {
		m.Poll(reconcile.PollOutcome{Result: r})
	}
	for _, r := range verify.Reasons() {
		m.Verified(reconcile.VerifyOutcome{Reason: string(r)})
		m.Refused(reconcile.RefusedReport{Reason: string(r)})
	}
	for _, r := range reconcile.RefusedReasons() {
		m.Refused(reconcile.RefusedReport{Reason: r})
	}
	results := []journal.Result{journal.Done, journal.Failed, journal.Unknown, journal.NotRun}
	for _, op := range reconcile.Ops() {
		for _, r := range results {
			m.Step(reconcile.StepOutcome{Step: reconcile.Step{Op: op}, Result: r})
			m.Recovered(1, op, r)
		}
	}
	for _, c := range reconcile.DriftCauses() {
		m.Drift(reconcile.DriftOutcome{Cause: c})
	}
	for _, operation := range []string{"approve", "run"} {
		for _, s := range []journal.OrderState{
			journal.OrderSeen, journal.OrderReleased, journal.OrderRun, journal.OrderExpired, journal.OrderRefused, journal.OrderUnknown,
		} {
			m.Order(operation, s)
		}
	}
	m.Planned(reconcile.PlanOutcome{Steps: map[guest.Class]int{guest.Live: 1, guest.Restart: 1, guest.Disruptive: 1, guest.Destructive: 1, guest.Impossible: 1}})
	for _, stop := range reconcile.WriteStops() {
		m.Report(reconcile.Report{Writes: reconcile.WritesReport{Reason: string(stop)}})
	}
	r := reconcile.Report{}
	for _, hold := range reconcile.HoldReasons() {
		r.Guests = append(r.Guests, reconcile.GuestReport{Sync: reconcile.OutOfSync, Held: []reconcile.HeldReport{{Reason: hold}}})
	}
	m.Report(r)
}

// rejections returns the reasons for which the verifier rejects a signature.
func rejections() []string {
	var reasons []string
	for _, r := range verify.Reasons() {
		reasons = append(reasons, string(r))
	}
	return reasons
}
