package report

import (
	"slices"
	"strconv"
	"time"

	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/history"
	"gitops-agent/reconcile/object"
)

// GuestDocument is one guest in full as JSON: /status.json?guest=201, and gitops-agent status KIND/NAME -o json.
type GuestDocument struct {
	SchemaVersion int             `json:"schemaVersion"`
	Time          time.Time       `json:"time"` // of the report
	Cluster       string          `json:"cluster"`
	Guest         Guest           `json:"guest"`
	Needs         []Neighbour     `json:"needs"`    // guests on which it depends
	NeededBy      []Neighbour     `json:"neededBy"` // guests that depend on it
	Values        []Value         `json:"values"`   // its configuration: the manifest's and what was read
	History       []history.Entry `json:"history"`  // newest first
	Orders        []Order         `json:"orders"`   // one-shot operations, as the report lists them
}

// Neighbour is a guest on which another one depends, or which depends on another one. Without a manifest it has no states.
type Neighbour struct {
	Guest  string `json:"guest"` // label
	Sync   Sync   `json:"sync,omitempty"`
	Health Health `json:"health,omitempty"`
}

// NewGuestDocument returns the document of a guest of the report. The lists are never null.
func NewGuestDocument(r Report, g Guest, values []Value, entries []history.Entry) GuestDocument {
	d := GuestDocument{
		SchemaVersion: SchemaVersion, Time: r.Time, Cluster: r.Cluster, Guest: g,
		Needs: []Neighbour{}, NeededBy: []Neighbour{}, Values: append([]Value{}, values...), History: append([]history.Entry{}, entries...),
		Orders: append([]Order{}, r.OrdersOf(g.GuestName)...),
	}
	for _, label := range g.DependsOn {
		n := Neighbour{Guest: label}
		if other, found := r.Find(label); found {
			n.Sync, n.Health = other.Sync, other.Health
		}
		d.Needs = append(d.Needs, n)
	}
	for _, other := range r.NeededBy(g.Label()) {
		d.NeededBy = append(d.NeededBy, Neighbour{other.Label(), other.Sync, other.Health})
	}
	return d
}

// NeededBy returns the guests that depend on the guest with a label.
func (r Report) NeededBy(label string) []Guest {
	var list []Guest
	for _, other := range r.Guests {
		if slices.Contains(other.DependsOn, label) {
			list = append(list, other)
		}
	}
	return list
}

// Dependencies returns the edges from guests to the guests that they need first. All are known by their labels, also those that no manifest names.
func (r Report) Dependencies() []edge.Edge {
	var list []edge.Edge
	for _, g := range r.Guests {
		for _, on := range g.DependsOn {
			list = append(list, edge.Edge{From: object.Key{Label: g.Label()}, To: object.Key{Label: on}, Why: edge.NeedsFirst, Field: "dependsOn"})
		}
	}
	return list
}

// Find returns the guest with a vmid, a label or a name that no other guest has: "201", "VirtualMachine/web-1" or "web-1".
func (r Report) Find(name string) (Guest, bool) {
	vmid, err := strconv.Atoi(name)
	labels := make([]string, len(r.Guests))
	for i, g := range r.Guests {
		if labels[i] = g.Label(); err == nil && vmid != 0 && g.VMID == vmid {
			return g, true
		}
	}
	if i := slices.Index(labels, guest.FindLabel(name, labels)); i >= 0 {
		return r.Guests[i], true
	}
	return Guest{}, false
}
