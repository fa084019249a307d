package metrics_test

import (
	"time"

	"gitops-agent/gitsource/fault"
	"gitops-agent/internal/attest"
	"gitops-agent/internal/commitstatus"
	"gitops-agent/internal/notify"
	"gitops-agent/internal/status"
	"gitops-agent/internal/status/access"
	"gitops-agent/internal/traces"
	"gitops-agent/metrics"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/pause"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

var noon = time.Date(2026, time.March, 22, 12, 0, 0, 0, time.UTC)

const commit = "3f2a1c94d07b5f2e6a8c1b0d9e4f7a6b5c3d2e1f"

// sampleReport returns a report with guests of each sync state, a guest that no manifest names, and guests without a vmid.
func sampleReport() report.Report {
	return report.Report{
		Time: noon, Cluster: "pve-lab", QueueDepth: 2,
		Source: report.Source{
			Branch: "main", Reason: fault.None, HeadSeen: noon.Add(-time.Minute), LastSuccess: noon.Add(-5 * time.Second),
			Remotes:  []report.Remote{{URL: "https://git.lan/infra.git", State: report.RemoteLate}, {URL: "https://mirror.lan/infra.git", State: report.RemoteAnswers}},
			Accepted: &report.Revision{Commit: commit, ProvenTime: noon.Add(-2 * time.Minute), Converged: noon.Add(-30 * time.Second)},
		},
		Writes: report.Writes{Allowed: true, Reason: reason.WritesAllowed, Paused: &pause.Note{Since: noon.Add(-time.Minute)}},
		Proxmox: report.Proxmox{Ready: true, Reason: cluster.OutageNone, Endpoints: []cluster.Endpoint{
			{Address: "pve1.lan:8006", State: cluster.EndpointDown, Fault: cluster.FaultLate, Faults: map[cluster.EndpointFault]uint64{cluster.FaultLate: 2}},
			{Address: "pve2.lan:8006", State: cluster.EndpointUp, Current: true, ExtraReads: map[cluster.ExtraReadReason]uint64{cluster.ExtraLate: 2}},
		}},
		Journal:   report.Journal{Healthy: true, Inflight: 1},
		Unmanaged: []report.GuestName{{Kind: guest.VirtualMachine, VMID: 100}},
		Guests: []report.Guest{
			{
				GuestName: report.GuestName{Kind: guest.VirtualMachine, Name: "web-1", VMID: 211, Node: "pve1"}, Managed: true, Sync: report.Synced, Health: report.Healthy,
				Snapshots:  &report.Snapshots{Schedule: "daily", Taken: 2, Newest: noon.Add(-36 * time.Hour), LateSince: noon.Add(-12 * time.Hour)},
				ObservedAt: noon.Add(-9 * time.Second), Converged: noon,
			},
			{
				GuestName: report.GuestName{Kind: guest.Container, Name: "dns-1", VMID: 201, Node: "pve2"}, Managed: true, Sync: report.OutOfSync, Health: report.HealthSuspended,
				Changes: []report.Change{{Key: "memory", Class: guest.Live, Drifted: true}, {Key: "cores", Class: guest.Live}, {Key: "rootfs", Class: guest.Destructive, Drifted: true}},
				Held:    []report.HeldStep{{Op: cluster.OpConfig, Hold: report.Hold{Reason: reason.Suspended}, Since: noon.Add(-time.Hour)}},
				Conditions: []plan.Condition{
					{Type: plan.Drifted, Reason: reason.Differs, Since: noon.Add(-time.Hour)},
					{Type: plan.Suspended, Reason: reason.Suspended, Since: noon.Add(-2 * time.Hour)},
				},
				ObservedAt: noon.Add(-12 * time.Second), DriftSince: noon.Add(-time.Hour), Converged: noon.Add(-time.Hour),
			},
			{
				GuestName: report.GuestName{Kind: guest.VirtualMachine, Name: "batch-7", VMID: 307, Node: "pve3"}, Sync: report.OutOfSync, Health: report.Degraded,
				Held: []report.HeldStep{{Op: cluster.OpDestroy, Hold: report.Hold{Reason: reason.Approval}, Since: noon.Add(-3 * time.Hour)}},
				Conditions: []plan.Condition{ // two facts for one reason are one guest
					{Type: plan.PendingRestart, Reason: reason.PendingRestart, Since: noon.Add(-3 * time.Hour)},
					{Type: plan.PendingRestart, Reason: reason.PendingRestart, Since: noon.Add(-2 * time.Hour)},
				},
				Snapshots:  &report.Snapshots{Schedule: "hourly", Taken: 1, Newest: noon},
				ObservedAt: noon.Add(-15 * time.Second),
			},
			{GuestName: report.GuestName{Kind: guest.VirtualMachine, Name: "web-3"}, Managed: true, Sync: report.SyncUnknown, Health: report.Missing},
			{GuestName: report.GuestName{Kind: guest.VirtualMachine, Name: "web-4"}, Managed: true, Sync: report.OutOfSync, Health: report.Missing},
		},
	}
}

// recordConvergence records the events of a typical convergence, from the push to a converged cluster.
func recordConvergence(m *metrics.Metrics) {
	m.Poll(report.PollOutcome{Result: report.PollAccepted, Duration: 300 * time.Millisecond})
	m.Poll(report.PollOutcome{Result: report.PollRefused, Duration: 200 * time.Millisecond})
	m.Verified(report.VerifyOutcome{Duration: time.Millisecond})
	m.Verified(report.VerifyOutcome{Reason: string(verify.ReasonUnsigned), Duration: time.Millisecond})
	m.Event(event.Event{Outcome: report.Refused{Reason: string(verify.ReasonUnsigned)}})
	m.Event(event.Event{Outcome: report.Refused{Reason: report.RefusedManifests}})
	m.Planned(report.PlanOutcome{Duration: 3 * time.Millisecond, Steps: map[guest.Class]int{guest.Live: 7, guest.Destructive: 1}})
	m.Planned(report.PlanOutcome{Duration: 2 * time.Millisecond, Steps: map[guest.Class]int{guest.Live: 2}})
	m.Step(report.StepOutcome{Step: plan.Step{Op: cluster.OpCreate}, Result: journal.Done, Duration: 12 * time.Second})
	m.Step(report.StepOutcome{Step: plan.Step{Op: cluster.OpStart}, Result: journal.Failed, Duration: 2 * time.Second})
	m.QueueWait(40 * time.Millisecond)
	m.Event(event.Event{Name: event.GuestDrifted, Outcome: report.DriftOutcome{Cause: report.DriftCluster}})
	m.Event(event.Event{Name: event.GuestRepaired, Outcome: report.DriftOutcome{Cause: report.DriftCluster}})
	m.Converged(report.ConvergedOutcome{Revision: "main@sha1:" + commit, Total: 20 * time.Second, SinceProof: 50 * time.Second, Verify: time.Second, Apply: 19 * time.Second})
	m.Event(event.Event{Outcome: report.SettledOutcome{Result: journal.NotRun}})
	m.Event(event.Event{Outcome: report.OrderOutcome{Operation: "approve", State: journal.OrderRun}})
	m.Request(cluster.Exchange{Method: "GET", Route: "/cluster/resources", Code: "200", Duration: 20 * time.Millisecond})
	m.Request(cluster.Exchange{Method: "PUT", Route: "/nodes/{node}/{kind}/{vmid}/config", Code: "500", Duration: time.Second})
	m.JournalSync(5, 2*time.Millisecond)
	m.TrustedRoot("0f1e2d", noon.AddDate(1, 0, 0))
	m.TokenExpiry(noon.AddDate(0, 6, 0))
	m.Report(sampleReport())
}

// recordEveryLabelValue records an event for each value of each closed list of label values.
func recordEveryLabelValue(m *metrics.Metrics) {
	for _, r := range report.PollResults() {
		m.Poll(report.PollOutcome{Result: r})
	}
	for _, r := range verify.Reasons() {
		m.Verified(report.VerifyOutcome{Reason: string(r)})
		m.Event(event.Event{Outcome: report.Refused{Reason: string(r)}})
	}
	m.Verified(report.VerifyOutcome{Reason: string(verify.ReasonEvidenceMissing), Waiting: true})
	for _, r := range report.RefusedReasons() {
		m.Event(event.Event{Outcome: report.Refused{Reason: r}})
	}
	for _, op := range cluster.Ops() {
		for _, r := range journal.Results() {
			m.Step(report.StepOutcome{Step: plan.Step{Op: op}, Result: r})
			m.Event(event.Event{Outcome: report.SettledOutcome{Result: r}})
		}
	}
	for _, c := range report.DriftCauses() {
		m.Event(event.Event{Name: event.GuestDrifted, Outcome: report.DriftOutcome{Cause: c}})
	}
	for _, operation := range []string{"approve", "run"} {
		for _, s := range journal.OrderStates() {
			m.Event(event.Event{Outcome: report.OrderOutcome{Operation: operation, State: s}})
		}
	}
	for _, result := range attest.Results() {
		m.Attestation(string(result))
	}
	for _, result := range commitstatus.Results() {
		m.CommitStatus(string(result))
	}
	for _, result := range notify.Results() {
		m.Notification(string(result))
	}
	for _, result := range status.WebhookResults() {
		m.Webhook(string(result))
	}
	steps := map[guest.Class]int{}
	for _, class := range guest.Classes() {
		steps[class] = 1
	}
	m.Planned(report.PlanOutcome{Steps: steps})
	for _, stop := range reason.Stops() {
		m.Report(report.Report{Writes: report.Writes{Reason: stop}})
	}
	r := report.Report{}
	for _, hold := range reason.Holds() {
		r.Guests = append(r.Guests, report.Guest{Sync: report.OutOfSync, Held: []report.HeldStep{{Hold: report.Hold{Reason: hold}}}})
	}
	m.Report(r)
}

// reasons returns the label values that other packages define.
func reasons() metrics.Reasons {
	return metrics.Reasons{
		Rejections: texts(verify.Reasons()), Waits: []string{string(verify.ReasonEvidenceMissing)}, Refusals: texts(access.Reasons()), Closes: texts(status.CloseReasons()),
		Webhooks: texts(status.WebhookResults()), Notifications: texts(notify.Results()),
		Attestations: texts(attest.Results()),
		Commits:      texts(commitstatus.Results()), Spans: texts(traces.Results()),
	}
}

func texts[T ~string](values []T) []string {
	texts := make([]string, 0, len(values))
	for _, v := range values {
		texts = append(texts, string(v))
	}
	return texts
}
