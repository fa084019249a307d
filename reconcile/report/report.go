package report

import (
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/plan"
)

// Sync says whether a guest is as its manifest wants it.
type Sync string

// Sync states.
const (
	Synced      Sync = "Synced"
	OutOfSync   Sync = "OutOfSync"
	SyncUnknown Sync = "Unknown"
)

// Health says how a guest does.
type Health string

// Health states.
const (
	Healthy         Health = "Healthy"
	Progressing     Health = "Progressing"
	Degraded        Health = "Degraded"
	Missing         Health = "Missing"
	HealthSuspended Health = "Suspended"
)

// Operation says what the agent does with a guest.
type Operation string

// Operation states.
const (
	Idle    Operation = "Idle"
	Waiting Operation = "Waiting"
	Busy    Operation = "Running"
)

// Report is what the agent knows at the end of a cycle. It is a plain value, published once a cycle, also when the cycle
// failed half-way; the API, the commands, the status page and the metrics all print this one.
type Report struct {
	Time       time.Time   `json:"time"`
	Cluster    string      `json:"cluster"`
	Source     Source      `json:"source"`
	Writes     Writes      `json:"writes"`
	Proxmox    Proxmox     `json:"proxmox"`
	Journal    Journal     `json:"journal"`
	Guests     []Guest     `json:"guests"` // by vmid, then label
	Unmanaged  []GuestName `json:"unmanaged"`
	QueueDepth int         `json:"queueDepth"`
	Cycle      uint64      `json:"cycle"` // counts from the start of the agent
	Converged  bool        `json:"converged"`
}

// Source says which revision is in force and why a newer one is not.
type Source struct {
	Branch      string    `json:"branch"`
	Remote      string    `json:"remote,omitempty"` // without credentials
	Head        string    `json:"head,omitempty"`   // newest commit that was fetched
	HeadSeen    time.Time `json:"headSeen,omitzero"`
	Accepted    *Revision `json:"accepted,omitempty"`
	Refused     *Refused  `json:"refused,omitempty"`
	LastSuccess time.Time `json:"lastSuccess,omitzero"` // of a fetch
	Error       string    `json:"error,omitempty"`      // of the last fetch
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
	Warnings   []string  `json:"warnings,omitempty"`   // what its manifests may not mean, such as a class that applies to no guest
}

// Writes says whether the agent may write to the cluster, and if not, why.
type Writes struct {
	Allowed bool           `json:"allowed"`
	Reason  gate.WriteStop `json:"reason,omitempty"`
	Message string         `json:"message,omitempty"`
}

// Proxmox says how the cluster answers.
type Proxmox struct {
	Ready       bool                  `json:"ready"`
	LastSuccess time.Time             `json:"lastSuccess,omitzero"` // of an inventory
	Error       string                `json:"error,omitempty"`
	HAError     string                `json:"haError,omitempty"` // why the HA manager's resources could not be read
	VMList      *observe.VMListStatus `json:"vmlist,omitempty"`  // nil where none is configured
}

// Journal says how the agent's durable state does.
type Journal struct {
	Healthy  bool   `json:"healthy"`
	Error    string `json:"error,omitempty"`
	Inflight int    `json:"inflight"` // steps begun and not ended
}

// GuestName names a guest that no manifest names.
type GuestName struct {
	Kind guest.Kind `json:"kind"`
	VMID int        `json:"vmid"`
	Name string     `json:"name,omitempty"`
	Node string     `json:"node"`
}

// Guest is one guest's three axes and the conditions that they follow from.
type Guest struct {
	Kind       guest.Kind       `json:"kind"`
	Name       string           `json:"name"`
	VMID       int              `json:"vmid,omitempty"`
	Node       string           `json:"node,omitempty"`
	Managed    bool             `json:"managed"` // false: owned, and no manifest names it
	Sync       Sync             `json:"sync"`
	Health     Health           `json:"health"`
	Operation  Operation        `json:"operation"`
	Status     guest.Status     `json:"status,omitempty"`
	Conditions []plan.Condition `json:"conditions,omitempty"`
	Changes    []Change         `json:"changes,omitempty"`
	Held       []HeldStep       `json:"held,omitempty"`
	ObservedAt time.Time        `json:"observedAt,omitzero"` // of the newest full reading
	Stale      bool             `json:"stale,omitempty"`     // that reading is twice as old as it should ever be
	DriftSince time.Time        `json:"driftSince,omitzero"`
	Converged  time.Time        `json:"lastConverged,omitzero"`
	Revision   string           `json:"revision,omitempty"` // that it was last in sync with
}

// Change is a difference for people.
type Change struct {
	Key    string      `json:"key"`
	From   string      `json:"from"`
	To     string      `json:"to"`
	Class  guest.Class `json:"class"`
	Note   string      `json:"note,omitempty"`
	Origin string      `json:"origin,omitempty"` // "web.yaml:12:5"
}

// HeldStep is a step that the gate holds.
type HeldStep struct {
	Op      cluster.Op      `json:"op"`
	Class   guest.Class     `json:"class"`
	Reason  gate.HoldReason `json:"reason"`
	Message string          `json:"message"`
	Hint    string          `json:"hint,omitempty"`
	Digest  string          `json:"digest,omitempty"` // for gitops-agent approve
	Since   time.Time       `json:"since"`
}

// Label returns "VirtualMachine/web-1".
func (g Guest) Label() string { return string(g.Kind) + "/" + g.Name }
