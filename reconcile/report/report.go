package report

import (
	"slices"
	"time"

	"gitops-agent/gitsource/fault"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/pause"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/recovery"
	"gitops-agent/reconcile/retry"
)

// Report describes everything that the agent found, at the end of a cycle. It is a plain value. The engine publishes one report per cycle,
// even if the cycle failed. The API, the commands, the status page and the metrics all print this report.
type Report struct {
	Time       time.Time        `json:"time"`
	Cluster    string           `json:"cluster"`
	Source     Source           `json:"source"`
	Writes     Writes           `json:"writes"`
	Proxmox    Proxmox          `json:"proxmox"`
	Journal    Journal          `json:"journal"`
	Replica    *Replica         `json:"replica,omitempty"` // which of several agents this one is; nil if there is only one
	Guards     *Guards          `json:"guards,omitempty"`  // nil while no revision is in force
	Guests     []Guest          `json:"guests"`            // by vmid, then label
	Unmanaged  []GuestName      `json:"unmanaged"`
	Recovery   *recovery.Result `json:"recovery,omitempty"` // guests that have a marker and no record; nil if there are none
	Retried    *retry.Outcome   `json:"retried,omitempty"`  // of the newest gitops-agent retry that this process carried out
	Orders     []Order          `json:"orders,omitempty"`   // one-shot operations: those without an outcome, then the newest
	Rollouts   []Rollout        `json:"rollouts,omitempty"` // by name
	Late       []Late           `json:"late,omitempty"`     // what the cluster has not answered in time; the agent goes on with what it knows
	QueueDepth int              `json:"queueDepth"`
	Cycle      uint64           `json:"cycle"` // counts from the start of the agent
	Converged  bool             `json:"converged"`
	Except     *Except          `json:"except,omitempty"` // what guests in sync lack although nothing is left for the agent to do; nil if that is nothing
}

// Replica describes one of several agents that share a journal: one leads, the others are ready to.
type Replica struct {
	Role    Role      `json:"role"`
	Name    string    `json:"name"`             // of this agent
	Leader  string    `json:"leader,omitempty"` // name of the agent that leads, "" if it is not known
	Since   time.Time `json:"since"`            // when this agent got its role
	Number  uint64    `json:"number,omitempty"` // counts the elections up to that of the leader; 0 if it is not known
	LeaseMS int64     `json:"leaseMs"`          // of its lease, a leader has so much left, in milliseconds; 0 for a standby
	Agents  int       `json:"agents"`           // that share the journal, as the config says
}

// WhoLeads says which agent leads, as far as it is known: "agent-1 leads".
func (r Replica) WhoLeads() string {
	if r.Leader == "" {
		return "no agent is known to lead"
	}
	return r.Leader + " leads"
}

// Role is what an agent does among others, a label of metrics.
type Role string

// Roles of an agent. An agent without others leads, and has no Replica.
const (
	RoleLeader  Role = "leader"
	RoleStandby Role = "standby"
)

// Source describes which revision is in force, and why a newer one is not.
type Source struct {
	Branch      string       `json:"branch"`
	Remote      string       `json:"remote,omitempty"` // without credentials
	Head        string       `json:"head,omitempty"`   // the newest commit that was fetched
	HeadSeen    time.Time    `json:"headSeen,omitzero"`
	Accepted    *Revision    `json:"accepted,omitempty"`
	Refused     *Refused     `json:"refused,omitempty"`    // why the newest commit is not in force
	Waiting     *WaitingHead `json:"waiting,omitempty"`    // what the newest commit waits for
	Ahead       *Ahead       `json:"ahead,omitempty"`      // commits above the candidate that are for other targets only
	Polled      time.Time    `json:"polled,omitzero"`      // when the last poll that has ended began, also one that failed
	LastSuccess time.Time    `json:"lastSuccess,omitzero"` // of a fetch
	Reason      fault.Fault  `json:"reason"`               // whether the last fetch succeeded, and if not, why
	Error       string       `json:"error,omitempty"`      // of the last fetch
	Remotes     []Remote     `json:"remotes,omitempty"`    // in the configured order
	RootExpires time.Time    `json:"trustedRootExpires,omitzero"`
	RootExpired bool         `json:"trustedRootExpired,omitempty"` // no new signature can be verified; the revision in force is not affected
	RootError   string       `json:"trustedRootError,omitempty"`   // why the newest trusted root could not be read or used; the previous one stays in force
}

// Checking returns the newest commit that was fetched, if it has not been accepted or refused yet, and waits for nothing but the agent's own check.
func (s Source) Checking() string {
	switch {
	case s.Head == "" || s.Error != "", s.Accepted != nil && s.Accepted.Commit == s.Head, s.Refused != nil && s.Refused.Commit == s.Head,
		s.Waiting != nil && s.Waiting.Commit == s.Head:
		return ""
	}
	return s.Head
}

// Remote describes one of the remotes that serve the branch.
type Remote struct {
	URL      string      `json:"url"` // without credentials
	State    RemoteState `json:"state"`
	Since    time.Time   `json:"since,omitzero"`    // when the state began
	Answered time.Time   `json:"answered,omitzero"` // when it last served the branch
	Reason   fault.Fault `json:"reason,omitempty"`  // of the newest failure, also after it has ended
	Error    string      `json:"error,omitempty"`   // of the newest failure
}

// RemoteState is the state of a remote, a label of metrics. The values are those of gitsource.RemoteState, which this package does not import.
type RemoteState string

// States of a remote.
const (
	RemoteUnknown RemoteState = "unknown" // it was not asked yet
	RemoteAnswers RemoteState = "answers"
	RemoteLate    RemoteState = "late"   // it had not replied when the next remote was asked
	RemoteFailed  RemoteState = "failed" // it could not serve the branch
	RemoteBehind  RemoteState = "behind" // it served a commit that is older than what another remote served
)

// RemoteStates lists every state, for metrics.
func RemoteStates() []RemoteState {
	return []RemoteState{RemoteUnknown, RemoteAnswers, RemoteLate, RemoteFailed, RemoteBehind}
}

// Revision describes an accepted revision.
type Revision struct {
	Commit     string    `json:"commit"`
	Revision   string    `json:"revision"` // "main@sha1:<40 hex>"
	Subject    string    `json:"subject"`
	Issuer     string    `json:"issuer"`
	ProvenTime time.Time `json:"provenTime"`
	AcceptedAt time.Time `json:"acceptedAt"`
	Converged  time.Time `json:"convergedAt,omitzero"` // when all its guests were in sync for the first time
	Warnings   []string  `json:"warnings,omitempty"`   // probable mistakes in its manifests, such as a class that applies to no guest
}

// Writes states whether the agent may write to the cluster, and if not, why.
type Writes struct {
	Allowed bool        `json:"allowed"`
	Reason  reason.Stop `json:"reason,omitempty"`
	Message string      `json:"message,omitempty"`
	Paused  *pause.Note `json:"paused,omitempty"` // while a person has paused the agent, also if Reason is another one
}

// Guards describes the guards of the Cluster that are in effect.
type Guards struct {
	Approvals         int        `json:"approvals"` // people who must approve a held step
	MaxDestroysPerDay int        `json:"maxDestroysPerDay"`
	Minimum           []string   `json:"minimum,omitempty"` // bounds that the host's configuration sets, for people
	Held              []HeldStep `json:"held,omitempty"`    // changes of the Cluster's manifest that would weaken these guards
}

// Proxmox describes whether the cluster answers.
type Proxmox struct {
	Ready       bool                  `json:"ready"`
	LastSuccess time.Time             `json:"lastSuccess,omitzero"` // of an inventory
	Reason      cluster.Outage        `json:"reason"`               // why it is not ready, none while it is
	Error       string                `json:"error,omitempty"`
	HAError     string                `json:"haError,omitempty"` // why the HA manager's resources could not be read
	VMList      *observe.VMListStatus `json:"vmlist,omitempty"`  // nil if none is configured
	Endpoints   []cluster.Endpoint    `json:"endpoints,omitempty"`
}

// Journal describes the agent's durable state.
type Journal struct {
	Healthy  bool          `json:"healthy"`
	Reason   journal.Fault `json:"reason"` // why it is not healthy, none while it is
	Error    string        `json:"error,omitempty"`
	Unread   bool          `json:"unread,omitempty"` // it may have records that were not read: what the report does not contain is unknown, not absent
	Inflight int           `json:"inflight"`         // steps that have begun and not ended
}

// InForceUnknown reports whether it is unknown which revision is in force, and with it which guests are wanted: the journal, the floor in the cluster or the policy
// was not read.
func (r Report) InForceUnknown() bool {
	unread := []reason.Stop{reason.StopUnchecked, reason.StopPolicy, reason.StopNotReady}
	return r.Source.Accepted == nil && (r.Journal.Unread || slices.Contains(unread, r.Writes.Reason))
}

// AcceptedNotInForce reports whether the report has an accepted revision from which nothing is applied: it does not verify, or could not be checked yet. Such a
// revision is called accepted, and not in force.
func (r Report) AcceptedNotInForce() bool {
	return r.Source.Accepted != nil && slices.Contains([]reason.Stop{reason.StopUnverified, reason.StopUnchecked, reason.StopPolicy}, r.Writes.Reason)
}

// NoneInForce says that no revision is in force, or that it is unknown which one is.
func (r Report) NoneInForce() string {
	if r.InForceUnknown() {
		return "it is unknown which revision is in force"
	}
	return "no revision is accepted yet"
}

// Count returns how many guests, and how many other objects, the report has.
func (r Report) Count() (guests, objects int) {
	for _, g := range r.Guests {
		if g.Kind.IsGuest() {
			guests++
		}
	}
	return guests, len(r.Guests) - guests
}
