package edge

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gitops-agent/reconcile/object"
)

// edges draws edges between a few guests.
func edges(t *rapid.T) []Edge {
	key := rapid.Custom(func(t *rapid.T) object.Key { return object.Guest(rapid.IntRange(1, 7).Draw(t, "vmid")) })
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Edge {
		return Edge{From: key.Draw(t, "from"), To: key.Draw(t, "to"), Why: Why(rapid.IntRange(int(NeedsFirst), int(Covers)).Draw(t, "why"))}
	}), 0, 12).Draw(t, "edges")
}

// A graph returns the edges of a key from both ends, in their order, and no others.
func TestGraphReturnsWhatItWasMadeFrom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := edges(t)
		g := New(slices.Clone(list))
		for vmid := range 9 {
			key := object.Guest(vmid)
			for why := NeedsFirst; why <= Forces; why++ {
				var from, to, wantFrom, wantTo []Edge
				for e := range g.From(key, why) {
					from = append(from, *e)
				}
				for e := range g.To(key, why) {
					to = append(to, *e)
				}
				for _, e := range list {
					if e.From == key && e.Why == why {
						wantFrom = append(wantFrom, e)
					}
					if e.To == key && e.Why == why {
						wantTo = append(wantTo, e)
					}
				}
				if !slices.Equal(from, wantFrom) || !slices.Equal(to, wantTo) || g.HasTo(key, why) != (len(wantTo) > 0) {
					t.Fatalf("%s of %s: got %v and %v, want %v and %v", why, key, from, to, wantFrom, wantTo)
				}
			}
			if g.HasFrom(key) != slices.ContainsFunc(list, func(e Edge) bool { return e.From == key }) {
				t.Fatalf("got %t for an edge that begins at %s", g.HasFrom(key), key)
			}
		}
	})
}

// reaches reports whether there is a way from one key to another one, by trying all.
func reaches(list []Edge, from, to object.Key) bool {
	seen := map[object.Key]bool{from: true}
	for changed := true; changed; {
		changed = false
		for _, e := range list {
			if seen[e.From] && !seen[e.To] {
				seen[e.To], changed = true, true
			}
		}
	}
	return seen[to]
}

// Exactly the edges are left out whose ends wait for each other, so that nothing is left that waits for itself.
func TestWithoutCyclesLeavesOutCyclesAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := edges(t)
		var want []Edge
		for _, e := range list {
			if !reaches(list, e.To, e.From) {
				want = append(want, e)
			}
		}
		kept := WithoutCycles(list)
		if !slices.Equal(kept, want) {
			t.Fatalf("got %v of %v, want %v", kept, list, want)
		}
		for _, e := range kept {
			if reaches(kept, e.To, e.From) {
				t.Fatalf("got %v, in which %s waits for itself", kept, e.From)
			}
		}
	})
}

// A chain of ten thousand guests that ends at its beginning is one cycle.
func TestLongCycle(t *testing.T) {
	t.Parallel()
	const n = 10_000
	var list []Edge
	for i := range n {
		list = append(list, Edge{From: object.Guest(i + 1), To: object.Guest((i+1)%n + 1), Why: NeedsFirst})
	}
	if kept := WithoutCycles(list); len(kept) > 0 {
		t.Errorf("got %d edges of a cycle, want none", len(kept))
	}
	if kept := WithoutCycles(list[:n-1]); len(kept) != n-1 {
		t.Errorf("got %d edges of a chain, want all %d", len(kept), n-1)
	}
}

// Each reason has a name of its own.
func TestReasonsHaveNames(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for why := NeedsFirst; why <= Forces; why++ {
		if name := why.String(); name == "" || seen[name] {
			t.Errorf("got the name %q for reason %d, want one of its own", name, why)
		}
		seen[why.String()] = true
	}
	if got := (Forces + 1).String(); got != "why-9" {
		t.Errorf("got %q for a number without a name", got)
	}
}

// Keys are in one group if a chain of edges connects them in either direction. A key is in a higher layer than all that it needs, unless they need each other.
func TestLayersAndGroups(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := edges(t)
		for i := range list {
			list[i].Why = NeedsFirst
		}
		keys := make([]object.Key, 8)
		both := slices.Clone(list)
		for i := range keys {
			keys[i] = object.Guest(i + 1)
		}
		for _, e := range list {
			both = append(both, Edge{From: e.To, To: e.From})
		}
		g := New(slices.Clone(list))
		layers, groups := g.Layers(keys, NeedsFirst), g.Groups(keys, NeedsFirst)
		next := 0
		for i, a := range keys {
			if groups[a] > next {
				t.Fatalf("got %v, want groups numbered in the order of the keys", groups)
			}
			next = max(next, groups[a]+1)
			for _, b := range keys[:i] {
				if (groups[a] == groups[b]) != reaches(both, a, b) {
					t.Fatalf("%s and %s: got groups %d and %d of %v", a, b, groups[a], groups[b], list)
				}
			}
		}
		for _, e := range list {
			if !reaches(list, e.To, e.From) && layers[e.From] <= layers[e.To] {
				t.Fatalf("%s needs %s: got layers %d and %d of %v", e.From, e.To, layers[e.From], layers[e.To], list)
			}
		}
		if len(list) == 0 && layers[keys[0]] != 0 {
			t.Fatal("got a layer other than 0 without edges")
		}
	})
}
