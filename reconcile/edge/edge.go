// Package edge is the graph of the relations between what the agent manages: which guest or object needs another one first, what keeps an object from being removed, and
// so on. Plan, order of steps, waits, health and pages read this graph. It is pure, and a leaf beside package object.
//
// A guest is the key of its vmid, or of its label while it has none. An object of another kind is the key of its kind and its id in Proxmox: see Object. The
// name of its manifest may be another one.
package edge

import (
	"strconv"
	"strings"

	"gitops-agent/reconcile/object"
)

// Edge is a relation between two guests or objects, and why there is one.
type Edge struct {
	From, To object.Key
	Why      Why
	Field    string // of From, with which it names To: a native key, or a field of its manifest; "" if it names it by its id or not at all
	Text     string // for people, as Why says; "" if From and To say everything
	Hint     string // for people: what they can do; "" if nothing
}

// Why is the reason of an edge.
type Why uint8

// The reasons.
const (
	// NeedsFirst says that nothing is made of From, or started, before To is as its manifest wants it. Which steps of From wait depends on the kind of To: package plan
	// decides it.
	NeedsFirst Why = iota + 1
	// KeepsFromRemoval says that Proxmox refuses to remove To because of From, or that From loses its effect. Text is a sentence without its end: "it contains guest 201".
	KeepsFromRemoval
	// Guards says that a guard of the guest From depends on the object To, so that a change of To waits for an approval if it takes something from the guest.
	Guards
	// ExclusiveWith says that Proxmox accepts one object with an edge to To. To is no object but a place: see Place. Text says what an object with it does.
	ExclusiveWith
	// Follows says that Proxmox itself changed Field of From, because the guest To moved. The text that the field has is wanted, and Text and Hint say why.
	Follows
	// Covers says that the backup job From backs up the guest To.
	Covers
	// Reaches says that the object From does something to the guest To, to the guests of the pool To, or to Everything.
	Reaches
	// Forces says that the object From makes Proxmox move, stop or pause the guest To, the guests of the pool To, or those of Everything.
	Forces
)

// names are the reasons in metrics, tests and logs.
var names = [...]string{NeedsFirst: "needs-first", KeepsFromRemoval: "keeps-from-removal", Guards: "guards", ExclusiveWith: "exclusive-with", Follows: "follows", Covers: "covers", Reaches: "reaches", Forces: "forces"}

// String returns "needs-first", or "why-9" for a number without a name.
func (w Why) String() string {
	if w == 0 || int(w) >= len(names) {
		return "why-" + strconv.Itoa(int(w))
	}
	return names[w]
}

// Object returns the key of an object that is no guest, by its kind and its id in Proxmox. A copy of an Image has the id "NAME on NODE".
func Object(kind, id string) object.Key { return object.Key{Label: kind + "/" + id} }

// ID returns the id of an object that is no guest.
func ID(key object.Key) string {
	_, id, _ := strings.Cut(key.Label, "/")
	return id
}

// Everything is the end of an edge that reaches every guest of the cluster, also those that come later.
var Everything = Place("every guest")

// IsAt reports whether the end of an edge that Reaches or Forces guests is the guest, its pool, or Everything. The pool is "" for a guest without one.
func IsAt(to object.Key, vmid int, pool string) bool {
	return to == Everything || to == object.Guest(vmid) || to == Object(to.Kind(), pool)
}

// Place returns the key of what only one object may have, in words that are equal for each of them: "the copies of guest 201 on pve2".
func Place(words string) object.Key { return object.Key{Label: words} }
