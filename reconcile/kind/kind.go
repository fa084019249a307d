package kind

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/object"
)

// Kind describes one kind. The functions are pure, except for Read and Check. Those without which a kind is useful may be nil.
type Kind struct {
	Name   guest.Kind // in manifests and labels: "Pool"
	Noun   string     // for people: "pool"
	Plural string     // for people: "pools"
	Fields []Field    // of the spec, beside those that every kind has
	ID     IDRule
	Note   CommentRule

	// Lower completes what the fields say: keys that no field alone determines, and what the object needs. It returns the problems between fields.
	Lower func(spec Spec, d *Desired) []Problem
	// Reserved returns why no manifest may describe the object with an id, "" if one may.
	Reserved func(id string) string
	// Resolve puts the guests that the manifest names or selects into the keys of the object. It is required if Lower names or selects guests. It returns why the
	// object cannot be planned now, nil if it can be.
	Resolve func(d Desired, found Found) (resolved Desired, why *Unresolved)

	// Native gives a resolved object the keys that it has in the cluster's release, or returns why the release has no such object. Without it, all releases have the same.
	Native func(d Desired, found Found) (native Desired, why *Unresolved)

	// Read reads the objects of the kind, and those of ids also if a list leaves them out. If each object takes a call and there are ids, it may read only these. An object that
	// the token may not read is an entry of a cluster.UnreadError, beside which the others are returned.
	Read func(ctx context.Context, get Get, ids []string) ([]cluster.Object, error)
	// AsksEach says that Read makes calls for each of ids, or for each one that a list leaves out, as those that are not made yet. A step asks for its own object alone.
	AsksEach bool
	// Encode returns the request of a call with one of the operations on objects. Of a call about a rule or an entry, it has only the path of the list that has it.
	Encode func(call cluster.Call) (Request, error)
	// Calls splits a change into the calls that make it, in order. Without it, one call sets and deletes all keys.
	Calls func(change Change) []cluster.Call
	// Content is the list that an object has apart from what its calls set, nil if it has none.
	Content *Content
	// Edges returns the relations of an object to guests and other objects, apart from Desired.Needs. Without it, there are no others. Guards is required if there are
	// Content and Weakens: an approval of a change of the list names the guests.
	Edges func(want Want, world World) []edge.Edge
	// Mark is what the call that removes an object leaves behind, if the object disappears later by itself.
	Mark Mark
	// Check reads what has an edge to an object that keeps it from being removed, and returns the first such edge as a cluster.UsedError. It is asked immediately before the
	// change. Proxmox itself refuses what Check does not look for.
	Check func(ctx context.Context, read Reader, change Change) error

	// Guard is a guard of guests that changes of the objects can weaken, "" if there is none. The objects are also read if only a guest has this guard.
	Guard guest.GuardField
	// GuardKeys are the keys on whose texts such a guard depends. Going back to the text that a key had when the object agreed with its manifest is a repair.
	GuardKeys []string
	// Weakens returns what a change would take from guests with guards, one entry for each guest and guard. Such a change waits for an approval.
	Weakens func(change Change, world World) []Weakening

	// Nodes returns the nodes without which Proxmox refuses the object.
	Nodes func(d Desired) []string
	// Privileges returns what the token needs to read and to write the object.
	Privileges func(d Desired) []guest.Need
	// Raise returns the fields of the manifest that describes a live object, apart from id and comment, and the keys that no field describes. Without it,
	// every field with a key is the text of the key.
	Raise func(o cluster.Object) (fields []Raised, left []string)
}

// One returns the noun with its article: "a pool", "an alias".
func (k *Kind) One() string {
	if strings.ContainsRune("aeiouAEIO", rune(k.Noun[0])) {
		return "an " + k.Noun
	}
	return "a " + k.Noun
}

// IDRule says which ids Proxmox accepts for objects of the kind.
type IDRule struct {
	Want     string // "the name of a pool"
	Pattern  string // of the whole id
	Examples []string
	Max      int // bytes
}

// CommentRule says what the comment of an object may contain, and which key it is.
type CommentRule struct {
	Key   string
	Max   int  // bytes with the marker; 0 is 255
	ASCII bool // other characters do not come back as they were sent
}

// Found is what the names and labels of a manifest mean at the moment.
type Found struct {
	Named    map[string]guest.Ref // the guests of Desired.Guests, by label
	Selected []guest.Ref          // the guests that have all labels of Desired.Selects and a vmid, sorted by vmid
	HA       map[int]bool         // vmids of the guests that the HA manager manages
	Orphans  map[int]bool         // vmids of guests that the agent owns and no manifest names: they exist until they are destroyed
	Live     cluster.Object       // as it was read; the zero value of an object that is to be made
	// Others are all objects of the kind that were read, by id, the object itself among them.
	Others  map[string]cluster.Object
	Release guest.Version // of the cluster; zero if unknown
}

// Unresolved is why an object cannot be planned now.
type Unresolved struct {
	Cause         Cause
	Message, Hint string
	Guests        []int // of NotInHA: the vmids of these guests
}

// Cause is the cause of Unresolved.
type Cause int

// The causes.
const (
	SelectsNone Cause = iota // no guest has the labels that the manifest selects
	NotInHA                  // the HA manager does not manage a guest of the object
	Impossible               // no call makes the object what the manifest wants
)

// Change is what a step does to an object.
type Change struct {
	Op     cluster.Op
	ID     string
	Got    cluster.Object    // as it was read; the zero value of an object that is to be made
	Set    map[string]string // keys with their new texts
	Delete []string          // keys to remove, sorted
	Agreed map[string]string // of GuardKeys, how they were when the object agreed with its manifest, "" for one that it did not have; only those of which that is certain
}

// Single returns the one call that makes a change.
func (c Change) Single(kind guest.Kind) cluster.Call {
	return cluster.Call{Op: c.Op, Kind: kind, Object: c.ID, Params: c.Set, Delete: c.Delete, Digest: c.Got.Digest}
}

// CallsWithoutDigest returns the function of a kind whose changes are one call each, without a digest. Proxmox's digest of a list is that of all its objects, so a
// change of another object would refuse the call.
func CallsWithoutDigest(name guest.Kind) func(Change) []cluster.Call {
	return func(c Change) []cluster.Call {
		call := c.Single(name)
		call.Digest = ""
		return []cluster.Call{call}
	}
}

// Reader reads for a last check.
type Reader struct {
	Get   Get
	First object.Key // what kept the object the last time, and probably keeps it still; the zero Key if nothing did
}

// Get reads one path of the API, and returns the content of data. Route is the path with its variables named, as metrics have it.
type Get func(ctx context.Context, route, path string) (json.RawMessage, error)

// methods are the methods of the requests about a whole object.
var methods = map[cluster.Op]string{cluster.OpObjectAdd: http.MethodPost, cluster.OpObjectSet: http.MethodPut, cluster.OpObjectRemove: http.MethodDelete}

// Method returns the method of the request about a whole object.
func Method(op cluster.Op) string { return methods[op] }

// Request is one request that changes something. Params are its parameters, in the body or, for DELETE, in the query.
type Request struct {
	Method, Route, Path string
	Params              map[string]string
	Lists               map[string][]string // parameters that are arrays, none of them in Params
}
