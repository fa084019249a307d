package rekor

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

// TestTreeRoots compares with roots that the implementations of RFC 6962 agree on, for the same eight entries.
func TestTreeRoots(t *testing.T) {
	entries := []string{"", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"}
	want := map[int]string{
		0: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
		2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
		3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
		8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
	}
	var tree tree
	for n := 0; ; n++ {
		root := tree.root()
		if want, known := want[n]; known && hex.EncodeToString(root[:]) != want {
			t.Errorf("%d entries: got root %x, want %s", n, root, want)
		}
		if n == len(entries) {
			return
		}
		entry, err := hex.DecodeString(entries[n])
		if err != nil {
			t.Fatalf("decode entry: %v", err)
		}
		tree.append(leafHash(entry))
	}
}

// TestTreeProofs follows the RFC's recursive definitions over all sizes around a few powers of two.
func TestTreeProofs(t *testing.T) {
	var grown tree
	var leaves []hash
	for n := 1; n <= 70; n++ {
		leaf := leafHash([]byte{byte(n)})
		leaves = append(leaves, leaf)
		grown.append(leaf)
		root := grown.root()
		if want := naiveRoot(leaves); root != want {
			t.Fatalf("%d leaves: got root %x, want %x", n, root, want)
		}
		for i := range leaves {
			if got := climb(leaves[i], i, n, grown.proof(i)); got != root {
				t.Errorf("leaf %d of %d: got root %x from its proof, want %x", i, n, got, root)
			}
		}
	}
}

// naiveRoot is the definition of the RFC, section 2.1, for at least one leaf.
func naiveRoot(leaves []hash) hash {
	if len(leaves) == 1 {
		return leaves[0]
	}
	k := 1
	for k*2 < len(leaves) {
		k *= 2
	}
	left, right := naiveRoot(leaves[:k]), naiveRoot(leaves[k:])
	return sha256.Sum256(bytes.Join([][]byte{{1}, left[:], right[:]}, nil))
}

// climb computes the root from a leaf and its proof, as RFC 9162, 2.1.3.2 describes.
func climb(leaf hash, index, size int, proof []hash) hash {
	fn, sn := index, size-1
	for _, p := range proof {
		if fn%2 == 1 || fn == sn {
			leaf = nodeHash(p, leaf)
			for fn%2 == 0 && fn != 0 {
				fn, sn = fn/2, sn/2
			}
		} else {
			leaf = nodeHash(leaf, p)
		}
		fn, sn = fn/2, sn/2
	}
	if sn != 0 {
		return hash{} // the proof is too short
	}
	return leaf
}
