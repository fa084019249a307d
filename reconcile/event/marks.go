package event

import "maps"

// Marks remembers the newest mark of each key, such as the state of each order, to notice which have changed.
type Marks[K, M comparable] map[K]M

// Changed sets the mark of a key, and reports whether the key is new or had another mark.
func (m Marks[K, M]) Changed(key K, mark M) bool {
	if before, known := m[key]; known && before == mark {
		return false
	}
	m[key] = mark
	return true
}

// Keep forgets the keys that are gone.
func (m Marks[K, M]) Keep(is func(K) bool) {
	maps.DeleteFunc(m, func(key K, _ M) bool { return !is(key) })
}
