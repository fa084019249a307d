package report

import (
	"fmt"
	"slices"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// Sync states whether a guest matches its manifest.
type Sync string

// Sync states.
const (
	Synced      Sync = "Synced"
	OutOfSync   Sync = "OutOfSync"
	SyncUnknown Sync = "Unknown"
)

// Syncs lists every sync state, for metrics that start at zero.
func Syncs() []Sync { return []Sync{Synced, OutOfSync, SyncUnknown} }

// Health summarises the conditions of a guest.
type Health string

// Health states.
const (
	Healthy         Health = "Healthy"
	Progressing     Health = "Progressing"
	Degraded        Health = "Degraded"
	Missing         Health = "Missing"
	HealthSuspended Health = "Suspended"
	HealthUnknown   Health = "Unknown" // it was not read, or it is not known whether the agent owns it
)

// Healths lists every health state.
func Healths() []Health {
	return []Health{Healthy, Progressing, Degraded, Missing, HealthSuspended, HealthUnknown}
}

// Operation states what the agent is doing with a guest.
type Operation string

// Operation states.
const (
	Idle    Operation = "Idle"
	Waiting Operation = "Waiting"
	Busy    Operation = "Running"
)

// GuestName names a guest, and the node that it is on.
type GuestName struct {
	Kind guest.Kind `json:"kind"`
	Name string     `json:"name,omitempty"` // of an unmanaged guest: possibly empty
	VMID int        `json:"vmid,omitempty"` // 0 while none is assigned
	Node string     `json:"node,omitempty"`
}

// NewGuestName returns the name of the guest on a node.
func NewGuestName(ref guest.Ref, node string) GuestName {
	return GuestName{ref.Kind, ref.Name, ref.VMID, node}
}

// Ref returns the name without the node.
func (n GuestName) Ref() guest.Ref { return guest.Ref{Kind: n.Kind, Name: n.Name, VMID: n.VMID} }

// Label returns "VirtualMachine/web-1".
func (n GuestName) Label() string { return n.Ref().Label() }

// Guest is one guest's three axes (sync, health and operation) and the conditions that they follow from.
type Guest struct {
	GuestName

	Managed    bool             `json:"managed"` // a manifest of the revision in force names it; the agent owns any other guest of the report
	Sync       Sync             `json:"sync"`
	Health     Health           `json:"health"`
	Operation  Operation        `json:"operation"`
	Progress   int              `json:"progress,omitempty"` // of a download, in percent; 0 if it is not known
	Status     guest.Status     `json:"status,omitempty"`
	Digest     string           `json:"digest,omitempty"`    // of the configuration as it was read: SHA-1, from Proxmox
	Tags       []string         `json:"tags,omitempty"`      // of the guest as it was read, sorted, without ownership markers
	WhyNode    string           `json:"whyNode,omitempty"`   // why the agent chose the node; absent if the manifest names it, or the guest was moved
	DependsOn  []string         `json:"dependsOn,omitempty"` // labels of the guests that its manifest makes it wait for
	Conditions []plan.Condition `json:"conditions,omitempty"`
	Changes    []Change         `json:"changes,omitempty"`
	Held       []HeldStep       `json:"held,omitempty"`
	Snapshots  *Snapshots       `json:"snapshots,omitempty"` // of its schedule; absent if its manifest has none
	Schedules  []Schedule       `json:"schedules,omitempty"` // of an object that Proxmox runs: a backup or replication job
	ObservedAt time.Time        `json:"observedAt,omitzero"` // of the newest full reading
	Stale      bool             `json:"stale,omitempty"`     // that reading is twice as old as it should ever be
	DriftSince time.Time        `json:"driftSince,omitzero"`
	NextTry    time.Time        `json:"nextTry,omitzero"` // of a step that nothing holds; gitops-agent retry ends the wait
	Converged  time.Time        `json:"lastConverged,omitzero"`
	Revision   string           `json:"revision,omitempty"` // with which the guest was last in sync
}

// Schedule says when Proxmox runs an object.
type Schedule struct {
	Field string    `json:"field"`         // of the manifest
	Text  string    `json:"schedule"`      // as the manifest has it
	Words string    `json:"words"`         // "every day at 02:30"
	Next  time.Time `json:"next,omitzero"` // absent if it never runs again. The clock of the node is taken to show the same time as that of the agent
}

// Snapshots are those that the agent took of a guest by the schedule of its manifest.
type Snapshots struct {
	Schedule  string    `json:"schedule"`           // as the manifest has it
	Taken     int       `json:"taken"`              // that the agent knows
	Newest    time.Time `json:"newest,omitzero"`    // time in the schedule of the newest one
	LateSince time.Time `json:"lateSince,omitzero"` // the first time of the schedule after it that has passed without a snapshot; absent if there is none
}

// IsOrphaned reports whether the agent owns the guest and no manifest names it. While it is unknown which revision is in force, no guest is known to be.
func (g Guest) IsOrphaned() bool {
	return !g.Managed && !slices.ContainsFunc(g.Conditions, func(c plan.Condition) bool { return c.Type == plan.NotObserved && c.Reason == reason.WritesStopped })
}

// OperationText returns what the agent is doing, with the progress of a download: "Running 42%".
func (g Guest) OperationText() string {
	if g.Progress == 0 {
		return string(g.Operation)
	}
	return fmt.Sprintf("%s %d%%", g.Operation, g.Progress)
}
