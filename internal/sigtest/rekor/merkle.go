package rekor

import (
	"crypto/sha256"
	"math/bits"
)

type hash = [sha256.Size]byte

// tree is an append-only Merkle tree (RFC 6962, section 2.1). It keeps the hash of every complete subtree, so appending costs O(1) hashes on
// average and a proof O(log n). The zero value is the empty tree.
type tree struct {
	levels [][]hash // levels[k][i] covers the leaves from i<<k to (i+1)<<k, exclusive
}

// size returns the number of leaves.
func (t *tree) size() int {
	if len(t.levels) == 0 {
		return 0
	}
	return len(t.levels[0])
}

// append adds a leaf by its hash.
func (t *tree) append(leaf hash) {
	for k := 0; ; k++ {
		if k == len(t.levels) {
			t.levels = append(t.levels, nil)
		}
		t.levels[k] = append(t.levels[k], leaf)
		n := len(t.levels[k])
		if n%2 == 1 {
			return
		}
		leaf = nodeHash(t.levels[k][n-2], t.levels[k][n-1])
	}
}

// root returns the hash over all leaves.
func (t *tree) root() hash {
	if t.size() == 0 {
		return sha256.Sum256(nil)
	}
	return t.rangeHash(0, t.size())
}

// proof returns the audit path of a leaf in the whole tree, from the leaf's sibling upwards.
func (t *tree) proof(index int) []hash { return t.path(index, 0, t.size()) }

func (t *tree) path(index, from, to int) []hash {
	if to-from == 1 {
		return nil
	}
	middle := from + split(to-from)
	if index < middle {
		return append(t.path(index, from, middle), t.rangeHash(middle, to))
	}
	return append(t.path(index, middle, to), t.rangeHash(from, middle))
}

// rangeHash returns the hash over the leaves from (inclusive) to to (exclusive). The range must begin where a subtree of its size may begin.
func (t *tree) rangeHash(from, to int) hash {
	if n := to - from; n&(n-1) == 0 {
		k := bits.TrailingZeros(uint(n)) //nolint:gosec // ranges are not negative
		return t.levels[k][from>>k]
	}
	middle := from + split(to-from)
	return nodeHash(t.rangeHash(from, middle), t.rangeHash(middle, to))
}

// split returns the largest power of two below n, for n above 1.
func split(n int) int {
	return 1 << (bits.Len(uint(n-1)) - 1) //nolint:gosec // n is above 1
}

// leafHash and nodeHash hash different first bytes, so that a leaf cannot be taken for a node.
func leafHash(entry []byte) hash { return sha256.Sum256(append([]byte{0}, entry...)) }

func nodeHash(left, right hash) hash {
	return sha256.Sum256(append(append([]byte{1}, left[:]...), right[:]...))
}
