package packs

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sort"

	"github.com/go-git/go-git/v5/plumbing"
)

// A record is one object of a received pack. A pack may have millions, so a record has 36 bytes.
type record struct {
	low  uint32        // bits of the offset in the pack
	hash plumbing.Hash // of the object; for a delta that is not resolved, where it is kept, see keepDelta
	crc  uint32        // of the entry
	base uint32        // record of the base of a delta
	high uint8         // bits of the offset
	typ  plumbing.ObjectType
}

const maxOffset = 1<<40 - 1

// recordAt returns a record with an offset of at most maxOffset.
func recordAt(offset int64) record { return record{low: uint32(offset), high: uint8(offset >> 32)} } //nolint:gosec // the parts of 40 bits

func (r *record) offset() int64 { return int64(r.high)<<32 | int64(r.low) }

// keepDelta notes where a delta is kept.
func (r *record) keepDelta(at, size int) {
	binary.BigEndian.PutUint32(r.hash[0:], uint32(at)+1) //nolint:gosec // at most maxArena
	binary.BigEndian.PutUint32(r.hash[4:], uint32(size)) //nolint:gosec // at most maxKeptPart
}

// keptDelta returns where a delta is kept.
func (r *record) keptDelta() (at, size int, kept bool) {
	at = int(binary.BigEndian.Uint32(r.hash[0:]))
	return at - 1, int(binary.BigEndian.Uint32(r.hash[4:])), at > 0
}

const recordsOfChunk = 1 << 12

// A table is a list of records that is never copied when it grows.
type table struct {
	chunks [][]record
	n      uint32
}

func (t *table) at(i uint32) *record { return &t.chunks[i/recordsOfChunk][i%recordsOfChunk] }

func (t *table) last() *record { return t.at(t.n - 1) }

func (t *table) add(r record) uint32 {
	if t.n%recordsOfChunk == 0 {
		size := recordsOfChunk
		if t.n == 0 {
			size = 16 // most packs are small
		}
		t.chunks = append(t.chunks, make([]record, 0, size))
	}
	last := &t.chunks[len(t.chunks)-1]
	*last = append(*last, r)
	t.n++
	return t.n - 1
}

// atOffset returns the record of the object at an offset.
func (t *table) atOffset(offset int64) (uint32, bool) {
	i := uint32(sort.Search(int(t.n), func(i int) bool { return t.at(uint32(i)).offset() >= offset })) //nolint:gosec // at most maxCount
	return i, i < t.n && t.at(i).offset() == offset
}

// sort makes the list of records by hash. It overwrites spare, which has room for all.
func (p *Received) sort(spare []uint32) {
	p.byHash = slices.Grow(spare[:0], int(p.records.n))[:p.records.n]
	var next [256]uint32
	for i := range p.records.n {
		p.fanout[p.records.at(i).hash[0]]++
	}
	total := uint32(0)
	for i, n := range p.fanout {
		next[i] = total
		total += n
		p.fanout[i] = total
	}
	for i := range p.records.n {
		at := &next[p.records.at(i).hash[0]] //nolint:gosec // a byte
		p.byHash[*at] = i
		*at++
	}
	low := uint32(0)
	for _, high := range p.fanout {
		slices.SortFunc(p.byHash[low:high], func(a, b uint32) int {
			return bytes.Compare(p.records.at(a).hash[:], p.records.at(b).hash[:])
		})
		low = high
	}
}

// find returns the record of an object.
func (p *Received) find(h plumbing.Hash) (uint32, bool) {
	low := uint32(0)
	if h[0] > 0 {
		low = p.fanout[h[0]-1]
	}
	part := p.byHash[low:p.fanout[h[0]]]
	n, found := slices.BinarySearchFunc(part, h, func(i uint32, h plumbing.Hash) int { return bytes.Compare(p.records.at(i).hash[:], h[:]) })
	if !found {
		return 0, false
	}
	return part[n], true
}
