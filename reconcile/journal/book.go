package journal

// book is one kind of entry in the state, by key. Each knows the record it stands on. What readers get is copied once a change
// and then shared, so that asking for the state costs nothing while the guests stay the same.
type book[K comparable, V any] struct {
	entries map[K]noted[V]
	shared  map[K]V // nil after a change
}

type noted[V any] struct {
	seq uint64
	is  V
}

func newBook[K comparable, V any]() *book[K, V] { return &book[K, V]{entries: map[K]noted[V]{}} }

func (b *book[K, V]) set(key K, r Record, v V) {
	b.entries[key] = noted[V]{r.Seq, v}
	b.shared = nil
}

func (b *book[K, V]) drop(key K) {
	if _, there := b.entries[key]; there {
		delete(b.entries, key)
		b.shared = nil
	}
}

// read returns a map that is never written to again.
func (b *book[K, V]) read() map[K]V {
	if b.shared == nil {
		b.shared = make(map[K]V, len(b.entries))
		for k, e := range b.entries {
			b.shared[k] = e.is
		}
	}
	return b.shared
}

// needs adds the records that the entries stand on.
func (b *book[K, V]) needs(keep map[uint64]bool) {
	for _, e := range b.entries {
		keep[e.seq] = true
	}
}
