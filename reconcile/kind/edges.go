package kind

import (
	"maps"
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/object"
)

// Want is an object whose edges are asked for.
type Want struct {
	Desired                // as its manifest wants it, with its guests resolved; of an object without a manifest, only its kind and its id
	Live    cluster.Object // as it was read; the zero value of an object that does not exist
	Removed bool           // no manifest describes it any more: what keeps it is looked for
	Reach   bool           // the guests that it reaches are asked for
}

// Text returns the text that a key has or, if the manifest manages the key, shall have.
func (w Want) Text(key string) string {
	if text, isManaged := w.Desired.Text(key); isManaged {
		return text
	}
	return w.Live.Keys[key]
}

// ReachedBy returns what a change of an object reaches, as it is and as its manifest wants it: guests, pools and edge.Everything, sorted.
func (k *Kind) ReachedBy(d Desired, live cluster.Object) []object.Key {
	return k.ends(edge.Reaches, Want{Desired: d, Live: live, Reach: true}, Want{Desired: Desired{Kind: k.Name, ID: d.ID}, Live: live, Reach: true})
}

// ForcedBy returns what an object moves, stops or pauses once it is as its manifest wants it, as ReachedBy does.
func (k *Kind) ForcedBy(d Desired, live cluster.Object) []object.Key {
	return k.ends(edge.Forces, Want{Desired: d, Live: live, Reach: true})
}

// ends returns to what objects have edges, sorted.
func (k *Kind) ends(why edge.Why, wants ...Want) []object.Key {
	if k.Edges == nil {
		return nil
	}
	var ends []object.Key
	for _, want := range wants {
		for _, e := range k.Edges(want, World{}) {
			if e.Why == why {
				ends = append(ends, e.To)
			}
		}
	}
	slices.SortFunc(ends, object.Key.Compare)
	return slices.Compact(ends)
}

// Exists reports whether the object was read.
func (w Want) Exists() bool { return w.Live.ID != "" }

// EdgesOf returns all edges of an object: what it needs, and what its kind says.
func (k *Kind) EdgesOf(want Want, world World) []edge.Edge {
	var list []edge.Edge
	for _, need := range want.Needs {
		list = append(list, edge.Edge{From: want.Key(), To: need.Key(), Why: edge.NeedsFirst})
	}
	if k.Edges != nil {
		list = append(list, k.Edges(want, world)...)
	}
	return list
}

// KeptBy returns the first edge that keeps an object from being removed, as far as the world was read, and whether there is one.
func (k *Kind) KeptBy(id string, world World) (by edge.Edge, isKept bool) {
	gone := Desired{Kind: k.Name, ID: id}
	for _, e := range k.EdgesOf(Want{Desired: gone, Removed: true}, world) {
		if e.Why == edge.KeepsFromRemoval && e.To == gone.Key() {
			return e, true
		}
	}
	return edge.Edge{}, false
}

// LiveEdges returns the edges of objects as they are, in the order of their ids. Objects has those of each kind.
func LiveEdges(kinds []*Kind, got cluster.Snapshot) []edge.Edge {
	var list []edge.Edge
	for _, k := range kinds {
		if k.Edges == nil {
			continue
		}
		objects := got.Objects[k.Name].ByID
		for _, id := range slices.Sorted(maps.Keys(objects)) {
			list = append(list, k.Edges(Want{Desired: Desired{Kind: k.Name, ID: id}, Live: objects[id]}, World{Observed: got})...)
		}
	}
	return list
}

// Mark is a key with which an object is marked for removal, and why the object will disappear by itself. Nothing is done to it until then. It is a fact about
// the object alone, and no edge.
type Mark struct{ Key, Text string }

// Leaving returns why an object will disappear by itself, "" if it stays.
func (k *Kind) Leaving(o cluster.Object) string {
	if k.Mark.Key == "" || o.Keys[k.Mark.Key] == "" {
		return ""
	}
	return k.Mark.Text
}
