package edge

import (
	"iter"

	"gitops-agent/reconcile/object"
)

// Graph is a set of edges, found from both ends. It does not change, and several goroutines may read it. The nil Graph has no edges.
type Graph struct {
	edges    []Edge
	from, to map[object.Key]int32 // the first edge of a key, by its number from 1
	nextFrom []int32              // the next edge with the same From, by the number of an edge from 0; 0 if there is none
	nextTo   []int32
}

// New returns the graph of some edges, which it keeps. Of the edges of a key, their order is kept.
func New(edges []Edge) *Graph {
	if len(edges) == 0 {
		return nil
	}
	g := &Graph{
		edges: edges, from: make(map[object.Key]int32), to: make(map[object.Key]int32), nextFrom: make([]int32, len(edges)), nextTo: make([]int32, len(edges)),
	}
	for i := len(edges) - 1; i >= 0; i-- {
		e := &edges[i]
		g.nextFrom[i], g.from[e.From] = g.from[e.From], int32(i+1) //nolint:gosec // a plan has far fewer edges
		g.nextTo[i], g.to[e.To] = g.to[e.To], int32(i+1)           //nolint:gosec // as above
	}
	return g
}

// From returns the edges of one reason that begin at a key, in the order of New.
func (g *Graph) From(key object.Key, why Why) iter.Seq[*Edge] {
	return func(yield func(*Edge) bool) {
		if g == nil {
			return
		}
		for i := g.from[key]; i > 0; i = g.nextFrom[i-1] {
			if e := &g.edges[i-1]; e.Why == why && !yield(e) {
				return
			}
		}
	}
}

// To returns the edges of one reason that end at a key, in the order of New.
func (g *Graph) To(key object.Key, why Why) iter.Seq[*Edge] {
	return func(yield func(*Edge) bool) {
		if g == nil {
			return
		}
		for i := g.to[key]; i > 0; i = g.nextTo[i-1] {
			if e := &g.edges[i-1]; e.Why == why && !yield(e) {
				return
			}
		}
	}
}

// HasFrom reports whether an edge begins at a key.
func (g *Graph) HasFrom(key object.Key) bool { return g != nil && g.from[key] > 0 }

// HasTo reports whether an edge of one reason ends at a key.
func (g *Graph) HasTo(key object.Key, why Why) bool {
	for range g.To(key, why) {
		return true
	}
	return false
}

// Layers returns how far each key is from the keys that need nothing: the number of edges of one reason on the longest way, 0 for those that have none. Of a cycle, it is the
// way that is found first.
func (g *Graph) Layers(keys []object.Key, why Why) map[object.Key]int {
	layers := make(map[object.Key]int, len(keys))
	var layerOf func(key object.Key) int
	layerOf = func(key object.Key) int {
		if known, found := layers[key]; found {
			return known
		}
		layers[key] = 0
		deepest := 0
		for e := range g.From(key, why) {
			deepest = max(deepest, layerOf(e.To)+1)
		}
		layers[key] = deepest
		return deepest
	}
	for _, key := range keys {
		layerOf(key)
	}
	return layers
}

// Groups numbers the keys that edges of one reason connect, in either direction, from 0: in the order in which keys has the first of each group.
func (g *Graph) Groups(keys []object.Key, why Why) map[object.Key]int {
	groups := make(map[object.Key]int, len(keys))
	next := 0
	for _, key := range keys {
		if _, found := groups[key]; found {
			continue
		}
		groups[key] = next
		for open := []object.Key{key}; len(open) > 0; {
			last := open[len(open)-1]
			open = open[:len(open)-1]
			visit := func(other object.Key) {
				if _, found := groups[other]; !found {
					groups[other], open = next, append(open, other)
				}
			}
			for e := range g.From(last, why) {
				visit(e.To)
			}
			for e := range g.To(last, why) {
				visit(e.From)
			}
		}
		next++
	}
	return groups
}

// WithoutCycles returns the edges that are part of no cycle, in their order. What would wait for itself waits for nothing of its cycle.
func WithoutCycles(edges []Edge) []Edge {
	if len(edges) == 0 {
		return nil
	}
	part := New(edges).parts()
	var kept []Edge
	for _, e := range edges {
		if part[e.From] != part[e.To] {
			kept = append(kept, e)
		}
	}
	return kept
}

// parts numbers the strongly connected parts: two keys have the same number if and only if each is reached from the other. It is Tarjan's algorithm, without recursion, so that a
// long chain of guests needs no deep stack.
func (g *Graph) parts() map[object.Key]int {
	type visit struct {
		key  object.Key
		next int32 // the next edge to follow
	}
	var (
		part    = make(map[object.Key]int)
		index   = make(map[object.Key]int) // from 1, in the order of visits
		lowest  = make(map[object.Key]int) // the lowest index that is reached
		open    []object.Key               // visited, and in no part yet
		visits  []visit
		numbers int
	)
	begin := func(key object.Key) {
		index[key], lowest[key] = len(index)+1, len(index)+1
		open = append(open, key)
		visits = append(visits, visit{key, g.from[key]})
	}
	for i := range g.edges {
		if index[g.edges[i].From] == 0 {
			begin(g.edges[i].From)
		}
		for len(visits) > 0 {
			v := &visits[len(visits)-1]
			if v.next > 0 {
				to := g.edges[v.next-1].To
				v.next = g.nextFrom[v.next-1]
				if index[to] == 0 {
					begin(to)
				} else if _, closed := part[to]; !closed {
					lowest[v.key] = min(lowest[v.key], index[to])
				}
				continue
			}
			key := v.key
			visits = visits[:len(visits)-1]
			if len(visits) > 0 {
				under := visits[len(visits)-1].key
				lowest[under] = min(lowest[under], lowest[key])
			}
			if lowest[key] != index[key] {
				continue
			}
			numbers++
			for {
				last := open[len(open)-1]
				open = open[:len(open)-1]
				part[last] = numbers
				if last == key {
					break
				}
			}
		}
	}
	return part
}
