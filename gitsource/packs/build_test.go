package packs

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" // #nosec G505 -- git's checksum
	"encoding/binary"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/memfs"
	"github.com/go-git/go-billy/v5/util"
	"github.com/go-git/go-git/v5/plumbing"

	_ "gitops-agent/internal/memtemp"
)

// A builder makes a pack and its index, also hostile ones: hashes, sizes and deltas are what the test says.
type builder struct {
	t     testing.TB
	pack  bytes.Buffer
	index []indexed
}

type indexed struct {
	hash   plumbing.Hash
	offset int64
}

func newBuilder(t testing.TB) *builder {
	b := &builder{t: t}
	b.pack.WriteString("PACK\x00\x00\x00\x02\x00\x00\x00\x00") // the reader does not use the count
	return b
}

// deflaters are used again, because a new one takes more time than a small object.
var deflaters = sync.Pool{New: func() any { return zlib.NewWriter(io.Discard) }}

// deflate compresses what r has.
func (b *builder) deflate(r io.Reader) []byte {
	b.t.Helper()
	var out bytes.Buffer
	z := deflaters.Get().(*zlib.Writer)
	defer deflaters.Put(z)
	z.Reset(&out)
	if _, err := io.Copy(z, r); err != nil {
		b.t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		b.t.Fatal(err)
	}
	return out.Bytes()
}

// add appends an entry with a declared size, the bytes between header and content, and content that is compressed already. It returns the place.
func (b *builder) add(h plumbing.Hash, typ plumbing.ObjectType, declared uint64, reference, compressed []byte) int64 {
	offset := int64(b.pack.Len())
	first := byte(typ)<<4 | byte(declared&0x0f)
	if declared>>4 != 0 {
		b.pack.Write(binary.AppendUvarint([]byte{first | 0x80}, declared>>4))
	} else {
		b.pack.WriteByte(first)
	}
	b.pack.Write(reference)
	b.pack.Write(compressed)
	b.index = append(b.index, indexed{h, offset})
	return offset
}

// object appends an object that is no delta.
func (b *builder) object(typ plumbing.ObjectType, content []byte) (plumbing.Hash, int64) {
	h := plumbing.ComputeHash(typ, content)
	return h, b.add(h, typ, uint64(len(content)), nil, b.deflate(bytes.NewReader(content)))
}

// delta appends a delta of the object at base.
func (b *builder) delta(h plumbing.Hash, base int64, delta []byte) int64 {
	return b.add(h, plumbing.OFSDeltaObject, uint64(len(delta)), distance(int64(b.pack.Len())-base), b.deflate(bytes.NewReader(delta)))
}

// distance is the form of the distance to a base.
func distance(n int64) []byte {
	out := []byte{byte(n & 0x7f)}
	for n >>= 7; n > 0; n >>= 7 {
		n--
		out = append([]byte{byte(n&0x7f) | 0x80}, out...)
	}
	return out
}

// instructions makes a delta of its two sizes and its instructions.
func instructions(from, to uint64, rest ...byte) []byte {
	return append(binary.AppendUvarint(binary.AppendUvarint(nil, from), to), rest...)
}

// files returns a git directory with the pack.
func (b *builder) files() billy.Filesystem {
	b.t.Helper()
	files := memfs.New()
	for name, content := range map[string][]byte{"pack-1.pack": b.pack.Bytes(), "pack-1.idx": b.indexFile()} {
		if err := util.WriteFile(files, dir+"/"+name, content, 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
	return files
}

func (b *builder) indexFile() []byte {
	slices.SortFunc(b.index, func(x, y indexed) int { return bytes.Compare(x.hash[:], y.hash[:]) })
	out := []byte(indexV2)
	n := 0
	for first := range 256 {
		for n < len(b.index) && int(b.index[n].hash[0]) <= first {
			n++
		}
		out = binary.BigEndian.AppendUint32(out, uint32(n))
	}
	var sums, offsets, large []byte
	for _, e := range b.index {
		out, sums = append(out, e.hash[:]...), append(sums, 0, 0, 0, 0)
		if e.offset < largeOffset {
			offsets = binary.BigEndian.AppendUint32(offsets, uint32(e.offset))
			continue
		}
		offsets = binary.BigEndian.AppendUint32(offsets, largeOffset|uint32(len(large)/8))
		large = binary.BigEndian.AppendUint64(large, uint64(e.offset))
	}
	out = slices.Concat(out, sums, offsets, large, make([]byte, hashSize))
	sum := sha1.Sum(out) // #nosec G401 -- git's checksum
	return append(out, sum[:]...)
}

// zeros reads as many zeros as it says.
func zeros(n int64) io.Reader { return io.LimitReader(zeroReader{}, n) }

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }
