package journal

// index is one map of the State, for example the owned guests by vmid. Each entry also holds the number of the record that it comes
// from, so that compaction keeps the record. The map that readers get is copied once after a change and then shared, so reading the
// state costs nothing while the map does not change.
type index[K comparable, V any] struct {
	entries map[K]entry[V]
	shared  map[K]V // nil after a change
}

type entry[V any] struct {
	seq   uint64
	value V
}

func newIndex[K comparable, V any]() *index[K, V] { return &index[K, V]{entries: map[K]entry[V]{}} }

func (x *index[K, V]) set(key K, r Record, v V) {
	x.entries[key] = entry[V]{r.Seq, v}
	x.shared = nil
}

func (x *index[K, V]) remove(key K) {
	if _, found := x.entries[key]; found {
		delete(x.entries, key)
		x.shared = nil
	}
}

// snapshot returns a map that is never changed again.
func (x *index[K, V]) snapshot() map[K]V {
	if x.shared == nil {
		x.shared = make(map[K]V, len(x.entries))
		for k, e := range x.entries {
			x.shared[k] = e.value
		}
	}
	return x.shared
}

// addSeqs adds the records that the entries come from to seqs.
func (x *index[K, V]) addSeqs(seqs map[uint64]bool) {
	for _, e := range x.entries {
		seqs[e.seq] = true
	}
}
