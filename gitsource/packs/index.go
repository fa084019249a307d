package packs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/go-git/go-git/v5/plumbing"
)

const (
	hashSize    = 20
	fanoutStart = 8                         // after the signature and the version
	hashesStart = fanoutStart + 256*4       // after the counts of hashes by their first byte
	bytesOfHash = hashSize + 4 + 4          // in an index: a hash, a checksum, a place in the pack
	trailerSize = 2 * hashSize              // of an index: the checksums of the pack and of the index
	scanned     = 128                       // hashes that are read at once when a search has found where they are
	packHeader  = 12                        // bytes before the first object of a pack
	largeOffset = 1 << 31                   // a place in the pack with this bit is an index of the table of 64-bit places
	indexV2     = "\xfftOc\x00\x00\x00\x02" // the first bytes of an index
)

// A pack is one pack with its index.
type pack struct {
	name            string
	size, indexSize int64 // bytes of the two files

	opened bool        // fanout is set
	fanout [256]uint32 // number of hashes whose first byte is at most this
}

func (p *pack) count() uint32 { return p.fanout[255] }

// index opens the index, and checks its head when it is opened for the first time.
func (p *pack) index(files *openFiles) (io.ReaderAt, error) {
	file, err := files.get(p.name + ".idx")
	if err != nil || p.opened {
		return file, err
	}
	var head [hashesStart]byte
	if err := readAt(file, head[:], 0); err != nil {
		return nil, err
	}
	if string(head[:fanoutStart]) != indexV2 {
		return nil, errors.New("not an index of version 2: git index-pack")
	}
	last := uint32(0)
	for i := range p.fanout {
		p.fanout[i] = binary.BigEndian.Uint32(head[fanoutStart+4*i:])
		if p.fanout[i] < last {
			return nil, fmt.Errorf("the count of hashes falls at %02x", i)
		}
		last = p.fanout[i]
	}
	if want := hashesStart + int64(p.count())*bytesOfHash + trailerSize; p.indexSize < want {
		return nil, fmt.Errorf("%d bytes, want at least %d for %d objects", p.indexSize, want, p.count())
	}
	p.opened = true
	return file, nil
}

// find returns the place of an object in the pack, or ErrNotFound.
func (p *pack) find(files *openFiles, h plumbing.Hash) (int64, error) {
	index, err := p.index(files)
	if err != nil {
		return 0, err
	}
	first, hashes, err := p.near(index, h[:])
	if err != nil {
		return 0, err
	}
	n := sort.Search(len(hashes)/hashSize, func(i int) bool { return bytes.Compare(hashes[i*hashSize:(i+1)*hashSize], h[:]) >= 0 })
	if n*hashSize == len(hashes) || !bytes.Equal(hashes[n*hashSize:(n+1)*hashSize], h[:]) {
		return 0, ErrNotFound
	}
	return p.offset(index, first+int64(n))
}

// near returns up to scanned hashes, in order, that include every hash that begins with prefix or the first of them, and the number of the first. Prefix has
// at least one byte.
func (p *pack) near(index io.ReaderAt, prefix []byte) (int64, []byte, error) {
	low, high := int64(0), int64(p.fanout[prefix[0]])
	if prefix[0] > 0 {
		low = int64(p.fanout[prefix[0]-1])
	}
	var found [hashSize]byte
	for high-low > scanned {
		middle := low + (high-low)/2
		if err := readAt(index, found[:], hashesStart+middle*hashSize); err != nil {
			return 0, nil, err
		}
		if bytes.Compare(found[:len(prefix)], prefix) < 0 {
			low = middle + 1
		} else {
			high = middle + 1
		}
	}
	hashes := make([]byte, (high-low)*hashSize)
	return low, hashes, readAt(index, hashes, hashesStart+low*hashSize)
}

// offset returns the place of the nth object.
func (p *pack) offset(index io.ReaderAt, n int64) (int64, error) {
	var place [8]byte
	offsets := hashesStart + int64(p.count())*(hashSize+4)
	if err := readAt(index, place[:4], offsets+4*n); err != nil {
		return 0, err
	}
	offset := uint64(binary.BigEndian.Uint32(place[:4]))
	if offset >= largeOffset {
		if err := readAt(index, place[:], offsets+4*int64(p.count())+8*int64(offset-largeOffset)); err != nil { //nolint:gosec // at most 31 bits
			return 0, err
		}
		offset = binary.BigEndian.Uint64(place[:])
	}
	if offset < packHeader || offset >= uint64(p.size) { //nolint:gosec // sizes of files are not negative
		return 0, fmt.Errorf("the object is at %d of a pack of %d bytes", offset, p.size)
	}
	return int64(offset), nil //nolint:gosec // less than the size of a file
}

// withPrefix returns at most limit hashes that begin with the hexadecimal digits prefix, of which there are at least two.
func (p *pack) withPrefix(files *openFiles, prefix string, limit int) ([]plumbing.Hash, error) {
	index, err := p.index(files)
	if err != nil {
		return nil, err
	}
	begin, err := digits(prefix)
	if err != nil {
		return nil, err
	}
	n, _, err := p.near(index, begin)
	if err != nil {
		return nil, err
	}
	var found []plumbing.Hash
	for ; n < int64(p.count()) && len(found) < limit; n++ {
		var h plumbing.Hash
		if err := readAt(index, h[:], hashesStart+n*hashSize); err != nil {
			return nil, err
		}
		if bytes.Compare(h[:len(begin)], begin) > 0 {
			break
		}
		if text := h.String(); text[:len(prefix)] == prefix {
			found = append(found, h)
		}
	}
	return found, nil
}

// readAt fills b. A file that ends early is an error.
func readAt(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}
