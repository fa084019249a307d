package metrics

import (
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"gitops-agent/gitsource/fault"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/recovery"
	"gitops-agent/reconcile/report"
)

// reportCollector computes gauges from the newest report at each scrape.
type reportCollector struct {
	newest *atomic.Pointer[report.Report]
	among  *atomic.Pointer[func() *report.Replica]
}

// replica describes this agent among others, nil if it is the only one.
func (c reportCollector) replica() *report.Replica {
	if now := c.among.Load(); now != nil {
		return (*now)()
	}
	return nil
}

// The first block contains the eight series of a guest.
var (
	guestInfo      = describe("guest_info", "A guest that a manifest names or that the agent owns.", "kind", "vmid", "node", "name")
	guestInSync    = describe("guest_in_sync", "1 if the guest was read, and what its manifest wants is in effect.", "kind", "vmid")
	guestDriftKeys = describe("guest_drift_keys", "Configuration keys that were changed in the cluster.", "kind", "vmid")
	guestDegraded  = describe("guest_degraded", "1 if the agent cannot bring the guest in sync without a person.", "kind", "vmid")
	guestHeld      = describe("guest_held_steps", "Steps of the guest that the gate holds.", "kind", "vmid")
	guestDrift     = describe("guest_drift_start_timestamp_seconds", "When the guest was first seen to be changed in the cluster, 0 if it is not.", "kind", "vmid")
	guestConverged = describe("guest_last_converged_timestamp_seconds", "When the guest was last in sync, 0 if not since the agent started.", "kind", "vmid")
	guestObserved  = describe("guest_last_observed_timestamp_seconds", "When the guest was last read in full, 0 if not since the agent started.", "kind", "vmid")

	fleetGuests    = describe("guests", "Guests by sync state.", "sync")
	fleetDrift     = describe("drift_keys", "Configuration keys that were changed in the cluster, by class of the change that takes them back; root: keys that differ and that only root@pam may set.", "class")
	fleetUnmanaged = describe("unmanaged_guests", "Guests of the cluster that no manifest names and that the agent does not own.")
	fleetLost      = describe("lost_guests", "Guests that have a marker and no ownership record, by the verdict of recover.", "verdict")
	fleetOrphaned  = describe("orphaned_guests", "Guests that the agent owns and that no manifest names.")
	fleetSuspended = describe("suspended_guests", "Guests whose manifest suspends all changes.")
	fleetHeld      = describe("steps_held", "Steps that the gate holds, by reason.", "reason")
	fleetReasons   = describe("conditions", "Guests with a condition, by the reason of the condition.", "reason")
	restartOldest  = describe("restart_pending_oldest_timestamp_seconds", "When the guest that waits longest for a restart began to wait, 0 if there is none.")
	fleetLate      = describe("snapshots_late", "Guests for which a time of their schedule of snapshots has passed without a snapshot.")
	lateOldest     = describe("snapshots_late_oldest_timestamp_seconds", "The first time of a schedule since which a guest has no snapshot, of the guest that waits longest, 0 if there is none.")
	heldOldest     = describe("steps_held_oldest_timestamp_seconds", "When the step that is held for the longest time for the reason was first held, 0 if there is none.", "reason")
	suspendOldest  = describe("suspended_oldest_timestamp_seconds", "When the guest that is suspended for the longest time was first seen to be suspended, 0 if there is none.")
	fleetOldest    = describe("held_oldest_timestamp_seconds", "When the step that is held for the longest time was first held, 0 if no step is held.")

	clusterInfo = describe("cluster_info", "The cluster that the agent works on.", "cluster")
	cycleEnd    = describe("cycle_timestamp_seconds", "When the newest cycle ended, 0 before the first one.")
	pauseStart  = describe("paused_timestamp_seconds", "When a person paused the agent, 0 if it is not paused.")

	sourceInfo   = describe("source_info", "The accepted revision.", "ref", "commit")
	sourceCommit = describe("source_commit_timestamp_seconds",
		"Time of a commit by stage: when the head was first fetched, and the proven signing times of the accepted and of the converged revision.", "stage")
	sourceRemote  = describe("source_remote_state", "1 for the state of each remote that serves the branch.", "remote", "state")
	sourceState   = describe("source_state", "1 for the reason that the last fetch of the branch had.", "reason")
	sourceSuccess = describe("source_last_success_timestamp_seconds", "When the remote last answered.")
	sourceWaiting = describe("source_waiting_timestamp_seconds", "Since when the head of the branch waits for evidence about its signature, 0 if it does not.")

	sourcePromotes = describe("source_promotion_waiting_timestamp_seconds", "Since when the head of the branch, a promotion, waits for the statement of another cluster, 0 if it does not.")

	proxmoxState   = describe("proxmox_state", "1 for the current reason why the cluster can or cannot be worked with.", "reason")
	endpointUp     = describe("proxmox_endpoint_up", "1 if requests may be sent to the endpoint of the Proxmox API, 0 while it is down.", "endpoint")
	endpointFirst  = describe("proxmox_endpoint_current", "1 for the endpoint that gets requests first.", "endpoint")
	endpointFaults = describe("proxmox_endpoint_faults_total", "Requests that an endpoint did not reply to correctly, by fault.", "endpoint", "fault")
	endpointExtra  = describe("proxmox_endpoint_extra_reads_total", "Reads that were also sent to an endpoint, beyond the first request of the read, by reason.", "endpoint", "reason")

	rolloutStates = describe("rollouts", "Rollouts by state.", "state")
	rolloutOldest = describe("rollouts_oldest_timestamp_seconds", "Since when the rollout is in the state that has been in it for the longest time, 0 if there is none.", "state")

	queueDepth     = describe("queue_depth", "Guests whose work is running or queued.")
	inflight       = describe("inflight_steps", "Steps that have begun and have not ended.")
	journalState   = describe("journal_state", "1 for the reason why the journal takes records or takes none.", "reason")
	sourceAhead    = describe("source_commits_ahead", "Commits of the branch above the revision in force that name only other targets, and those of the newest 100 whose targets the repository does not have.", "targets")
	endpointClock  = describe("proxmox_endpoint_clock_ahead_seconds", "How far the clock of the endpoint's node is ahead of that of this host, at least; negative if it is behind.", "endpoint")
	journalHealthy = describe("journal_healthy", "1 if the journal can be written.")
	leader         = describe("leader", "1 if this agent may write, 0 if it is a standby and another one leads.")
	leaderElection = describe("leader_election", "Number of the election of the agent that leads, counted by etcd; 0 without etcd.")
	replicas       = describe("replicas", "How many agents share the journal, as the config says; 1 without etcd.")
	leaseRemaining = describe("lease_remaining_seconds", "How much of its lease in etcd the leader has left for certain; 0 for a standby, and without etcd.")
	lateCalls      = describe("late_calls", "Calls to Proxmox that have no reply within the deadline of a cycle, by what they ask for.", "component")
	writesAllowed  = describe("writes_allowed", "1 for the current reason why the agent may or may not write to the cluster.", "reason")
)

// Describe implements prometheus.Collector.
func (reportCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		guestInfo, guestInSync, guestDriftKeys, guestDegraded, guestHeld, guestDrift, guestConverged, guestObserved,
		fleetGuests, fleetDrift, fleetUnmanaged, fleetLost, fleetOrphaned, fleetSuspended, fleetHeld, fleetReasons, fleetOldest,
		restartOldest, heldOldest, suspendOldest, fleetLate, lateOldest, clusterInfo, cycleEnd, pauseStart,
		sourceInfo, sourceCommit, sourceRemote, sourceState, sourceSuccess, sourceAhead, sourceWaiting, sourcePromotes, proxmoxState, endpointUp, endpointFirst, endpointFaults, endpointExtra, endpointClock, queueDepth, inflight, journalHealthy, journalState, lateCalls, writesAllowed,
		rolloutStates, rolloutOldest, leader, leaderElection, leaseRemaining, replicas,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c reportCollector) Collect(ch chan<- prometheus.Metric) {
	r := c.newest.Load()
	send := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	sent := make(map[guestKey]bool, len(r.Guests))
	for _, g := range r.Guests {
		key := guestKey{g.Kind, g.VMID}
		if g.VMID == 0 || sent[key] {
			continue // two guests with the same labels would make the scrape fail; the gauges of the fleet count this guest
		}
		sent[key] = true
		sendGuest(send, g)
	}
	sendFleet(send, r)
	sendAges(send, r)
	sendRollouts(send, r)
	sendSource(send, r)
	sendEndpoints(ch, r)
	for _, outage := range cluster.Outages() {
		send(proxmoxState, boolean(r.Proxmox.Reason == outage), string(outage))
	}
	if r.Cluster != "" {
		send(clusterInfo, 1, strings.ToValidUTF8(r.Cluster, "?"))
	}
	send(cycleEnd, timestamp(r.Time))
	send(pauseStart, pausedSince(r.Writes))
	send(queueDepth, float64(r.QueueDepth))
	send(inflight, float64(r.Journal.Inflight))
	send(journalHealthy, boolean(r.Journal.Healthy))
	for _, fault := range journal.Faults() {
		send(journalState, boolean(r.Journal.Reason == fault), string(fault))
	}
	sendReplica(send, c.replica())
	late := map[report.Component]int{}
	for _, l := range r.Late {
		late[l.Component] += l.Calls
	}
	for _, c := range report.Components() {
		send(lateCalls, float64(late[c]), string(c))
	}
	for _, stop := range reason.Stops() {
		send(writesAllowed, boolean(r.Writes.Reason == stop), string(stop))
	}
}

// sendReplica sends which of several agents this one is. Without others, it leads.
func sendReplica(send sender, now *report.Replica) {
	if now == nil {
		now = &report.Replica{Role: report.RoleLeader, Agents: 1}
	}
	send(leader, boolean(now.Role == report.RoleLeader))
	send(leaderElection, float64(now.Number))
	send(leaseRemaining, float64(now.LeaseMS)/1000)
	send(replicas, float64(now.Agents))
}

// guestKey contains the labels of a guest's series.
type guestKey struct {
	kind guest.Kind
	vmid int
}

type sender func(d *prometheus.Desc, value float64, labels ...string)

func sendGuest(send sender, g report.Guest) {
	kind, vmid := string(g.Kind), strconv.Itoa(g.VMID)
	send(guestInfo, 1, kind, vmid, strings.ToValidUTF8(g.Node, "?"), strings.ToValidUTF8(g.Name, "?"))
	send(guestInSync, boolean(g.Sync == report.Synced), kind, vmid)
	send(guestDriftKeys, float64(len(drifted(g))), kind, vmid)
	send(guestDegraded, boolean(g.Health == report.Degraded), kind, vmid)
	send(guestHeld, float64(len(g.Held)), kind, vmid)
	send(guestDrift, timestamp(g.DriftSince), kind, vmid)
	send(guestConverged, timestamp(g.Converged), kind, vmid)
	send(guestObserved, timestamp(g.ObservedAt), kind, vmid)
}

// drifted returns the changes of a guest that take back what others changed in the cluster.
func drifted(g report.Guest) []report.Change {
	var list []report.Change
	for _, c := range g.Changes {
		if c.Drifted {
			list = append(list, c)
		}
	}
	return list
}

func sendRollouts(send sender, r *report.Report) {
	count, oldest := map[journal.RolloutState]int{}, map[journal.RolloutState]float64{}
	for _, one := range r.Rollouts {
		count[one.State]++
		oldest[one.State] = older(oldest[one.State], one.Since)
	}
	for _, s := range journal.RolloutStates() {
		send(rolloutStates, float64(count[s]), string(s))
		send(rolloutOldest, oldest[s], string(s))
	}
}

// classRoot is the label of the changes that only root@pam may make, in place of their class.
const classRoot = "root"

func sendFleet(send sender, r *report.Report) {
	sync, class, held, conditions := map[string]int{}, map[string]int{}, map[string]int{}, map[reason.Name]int{}
	orphaned, suspended, oldest := 0, 0, 0.0
	guards := map[string]bool{} // digests: one held change of a guard may concern several guests
	count := func(h report.HeldStep) {
		if h.Reason != reason.Guard || !guards[h.Digest] {
			held[string(h.Reason)]++
		}
		guards[h.Digest] = true
		oldest = older(oldest, h.Since)
	}
	if r.Guards != nil {
		for _, h := range r.Guards.Held {
			count(h)
		}
	}
	for _, g := range r.Guests {
		sync[string(g.Sync)]++
		for _, change := range g.Changes {
			if change.Root {
				class[classRoot]++
				continue
			}
			if !change.Drifted {
				continue
			}
			class[string(change.Class)]++
		}
		for _, h := range g.Held {
			count(h)
		}
		for i, c := range g.Conditions {
			if !slices.ContainsFunc(g.Conditions[:i], func(earlier plan.Condition) bool { return earlier.Reason == c.Reason }) {
				conditions[c.Reason]++
			}
		}
		if g.IsOrphaned() {
			orphaned++
		}
		if g.Health == report.HealthSuspended {
			suspended++
		}
	}
	for _, s := range report.Syncs() {
		send(fleetGuests, float64(sync[string(s)]), string(s))
	}
	for _, c := range guest.Classes() {
		send(fleetDrift, float64(class[string(c)]), string(c))
	}
	send(fleetDrift, float64(class[classRoot]), classRoot)
	for _, h := range reason.Holds() {
		send(fleetHeld, float64(held[string(h)]), string(h))
	}
	for _, c := range reason.Conditions() {
		send(fleetReasons, float64(conditions[c]), string(c))
	}
	send(fleetUnmanaged, float64(len(r.Unmanaged)))
	lost := map[recovery.Verdict]int{}
	if r.Recovery != nil {
		for _, g := range r.Recovery.Guests {
			lost[g.Verdict]++
		}
	}
	for _, v := range recovery.Verdicts() {
		send(fleetLost, float64(lost[v]), string(v))
	}
	send(fleetOrphaned, float64(orphaned))
	send(fleetSuspended, float64(suspended))
	send(fleetOldest, oldest)
}

// sendAges sends since when guests are suspended, wait for a restart or lack a snapshot, and since when steps are held, for each reason.
func sendAges(send sender, r *report.Report) {
	held, conditions := map[reason.Name]float64{}, map[plan.ConditionType]float64{}
	late, lateSince := 0, 0.0
	if r.Guards != nil {
		for _, h := range r.Guards.Held {
			held[h.Reason] = older(held[h.Reason], h.Since)
		}
	}
	for _, g := range r.Guests {
		if g.Snapshots != nil && !g.Snapshots.LateSince.IsZero() {
			late, lateSince = late+1, older(lateSince, g.Snapshots.LateSince)
		}
		for _, c := range g.Conditions {
			conditions[c.Type] = older(conditions[c.Type], c.Since)
		}
		for _, h := range g.Held {
			held[h.Reason] = older(held[h.Reason], h.Since)
		}
	}
	for _, h := range reason.Holds() {
		send(heldOldest, held[h], string(h))
	}
	send(fleetLate, float64(late))
	send(lateOldest, lateSince)
	send(suspendOldest, conditions[plan.Suspended])
	send(restartOldest, conditions[plan.PendingRestart])
}

// older returns the earlier one of a timestamp, of which 0 is none, and a time.
func older(oldest float64, t time.Time) float64 {
	if at := timestamp(t); oldest == 0 || at < oldest {
		return at
	}
	return oldest
}

// pausedSince returns when the agent was paused. A pause whose file states no time began before every other one, at 1.
func pausedSince(w report.Writes) float64 {
	if w.Paused == nil {
		return 0
	}
	return max(1, timestamp(w.Paused.Since))
}

// sendEndpoints sends the state of each endpoint of the configuration.
func sendEndpoints(ch chan<- prometheus.Metric, r *report.Report) {
	send := func(d *prometheus.Desc, t prometheus.ValueType, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, t, value, labels...)
	}
	sent := make(map[string]bool, len(r.Proxmox.Endpoints))
	for _, e := range r.Proxmox.Endpoints {
		if sent[e.Address] {
			continue // configured twice
		}
		sent[e.Address] = true
		send(endpointUp, prometheus.GaugeValue, boolean(e.State != cluster.EndpointDown), e.Address)
		send(endpointClock, prometheus.GaugeValue, e.ClockAhead, e.Address)
		send(endpointFirst, prometheus.GaugeValue, boolean(e.Current), e.Address)
		for _, fault := range cluster.EndpointFaults() {
			send(endpointFaults, prometheus.CounterValue, float64(e.Faults[fault]), e.Address, string(fault))
		}
		for _, reason := range cluster.ExtraReadReasons() {
			send(endpointExtra, prometheus.CounterValue, float64(e.ExtraReads[reason]), e.Address, string(reason))
		}
	}
}

func sendSource(send sender, r *report.Report) {
	for _, reason := range fault.All() {
		send(sourceState, boolean(r.Source.Reason == reason), string(reason))
	}
	send(sourceSuccess, timestamp(r.Source.LastSuccess))
	send(sourceCommit, timestamp(r.Source.HeadSeen), "head")
	evidence, promotion := 0.0, 0.0
	switch w := r.Source.Waiting; {
	case w.ForEvidence():
		evidence = timestamp(w.Since)
	case w != nil:
		promotion = timestamp(w.Since)
	}
	others, unknown := 0, 0
	if a := r.Source.Ahead; a != nil {
		others, unknown = a.Commits-a.Misaddressed, a.Misaddressed
	}
	send(sourceAhead, float64(others), "others")
	send(sourceAhead, float64(unknown), "unknown")
	send(sourceWaiting, evidence)
	send(sourcePromotes, promotion)
	sent := make(map[string]bool, len(r.Source.Remotes))
	for _, remote := range r.Source.Remotes {
		name := strings.ToValidUTF8(remote.URL, "?")
		if sent[name] {
			continue // configured twice
		}
		sent[name] = true
		for _, state := range report.RemoteStates() {
			send(sourceRemote, boolean(remote.State == state), name, string(state))
		}
	}
	accepted, converged := 0.0, 0.0
	if a := r.Source.Accepted; a != nil {
		send(sourceInfo, 1, r.Source.Branch, a.Commit)
		accepted = timestamp(a.ProvenTime)
		if !a.Converged.IsZero() {
			converged = accepted
		}
	}
	send(sourceCommit, accepted, "accepted")
	send(sourceCommit, converged, "converged")
}

var _ prometheus.Collector = reportCollector{}
