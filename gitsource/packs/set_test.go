package packs

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/go-git/go-billy/v5/memfs"
	"github.com/go-git/go-billy/v5/util"
	"github.com/go-git/go-git/v5/plumbing"
)

var some = plumbing.NewHash(strings.Repeat("ab", 20))

// TestReadDeltas reads objects through deltas of deltas, with all instructions, more than once.
func TestReadDeltas(t *testing.T) {
	t.Parallel()
	b := newBuilder(t)
	base := bytes.Repeat([]byte("0123456789"), 30_000) // a copy of size 0 means 64 KiB
	baseHash, at := b.object(plumbing.BlobObject, base)
	one := append(bytes.Clone(base[10:10+0x10000]), "new"...)
	oneHash := plumbing.ComputeHash(plumbing.BlobObject, one)
	b.delta(oneHash, at, instructions(uint64(len(base)), uint64(len(one)), 0x81, 10, 3, 'n', 'e', 'w'))
	two := []byte("wen")
	twoHash := plumbing.ComputeHash(plumbing.BlobObject, two)
	delta := instructions(uint64(len(one)), 3, 0x97, 2, 0, 1, 1, 0x97, 1, 0, 1, 1, 0x97, 0, 0, 1, 1)
	b.add(twoHash, plumbing.REFDeltaObject, uint64(len(delta)), oneHash[:], b.deflate(bytes.NewReader(delta)))
	s := New(b.files())
	for range 2 {
		for h, want := range map[plumbing.Hash][]byte{twoHash: two, oneHash: one, baseHash: base} {
			got, err := s.Read(t.Context(), plumbing.BlobObject, h, 1<<20)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: got %d bytes and %v, want %d", h, len(got), err, len(want))
			}
			clear(got) // the reader has its own copy
		}
	}
	if _, err := s.Read(t.Context(), plumbing.CommitObject, twoHash, 1<<20); !errors.Is(err, ErrNotFound) {
		t.Errorf("another type: got %v, want ErrNotFound", err)
	}
	if _, err := s.Read(t.Context(), plumbing.BlobObject, twoHash, 2); !errors.Is(err, ErrTooLarge) {
		t.Errorf("over the limit: got %v, want ErrTooLarge", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestFind finds every one of many objects in several packs, by hash and by prefix, and none that is not there.
func TestFind(t *testing.T) {
	t.Parallel()
	files := memfs.New()
	var all []plumbing.Hash
	for n := range maxOpen { // more files than stay open
		b := newBuilder(t)
		for i := range 200 {
			h, _ := b.object(plumbing.BlobObject, fmt.Appendf(nil, "%d %d", n, i))
			all = append(all, h)
		}
		for name, content := range map[string][]byte{"pack": b.pack.Bytes(), "idx": b.indexFile()} {
			if err := util.WriteFile(files, fmt.Sprintf("%s/pack-%d.%s", dir, n, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := New(files)
	for i, h := range all {
		want := fmt.Sprintf("%d %d", i/200, i%200)
		if got, err := s.Read(t.Context(), plumbing.BlobObject, h, 100); err != nil || string(got) != want {
			t.Fatalf("%s: got %q and %v, want %q", h, got, err, want)
		}
		h[19]++
		if found, err := s.Has(h); found || err != nil {
			t.Fatalf("%s: got %t and %v, want that it is not there", h, found, err)
		}
	}
	for _, prefix := range []string{"00", "7f3", "ffe", "abcd"} {
		want := 0
		for _, h := range all {
			if strings.HasPrefix(h.String(), prefix) {
				want++
			}
		}
		if got, err := s.WithPrefix(prefix, len(all)); len(got) != want || err != nil {
			t.Errorf("prefix %s: got %d and %v, want %d", prefix, len(got), err, want)
		}
	}
}

// TestHostilePacks has packs that would make a careless reader allocate, wait or crash.
func TestHostilePacks(t *testing.T) {
	t.Parallel()
	blob := plumbing.BlobObject
	for name, test := range map[string]struct {
		build func(b *builder)
		want  string
	}{
		"declares_more_than_the_limit": {func(b *builder) {
			b.add(some, blob, 1<<40, nil, b.deflate(zeros(1)))
		}, "larger than the limit"},
		"declares_all_bits": {func(b *builder) {
			b.add(some, blob, 1<<63, nil, b.deflate(zeros(1)))
		}, "larger than the limit"},
		"content_is_longer": {func(b *builder) {
			b.add(some, blob, 100, nil, b.deflate(zeros(64<<20)))
		}, "longer than the object declares"},
		"content_is_shorter": {func(b *builder) {
			b.add(some, blob, 100, nil, b.deflate(zeros(99)))
		}, "unexpected EOF"},
		"not_compressed":  {func(b *builder) { b.add(some, blob, 100, nil, []byte("text")) }, "invalid header"},
		"type_of_nothing": {func(b *builder) { b.add(some, 5, 1, nil, b.deflate(zeros(1))) }, "type 5"},
		"base_declares_more_than_the_limit": {func(b *builder) {
			base := b.add(plumbing.ZeroHash, blob, maxBase+1, nil, b.deflate(zeros(maxBase+1)))
			b.delta(some, base, instructions(maxBase+1, 1, 0x91, 0, 1))
		}, "delta base of 33554433 bytes: larger than the limit"},
		"base_in_the_middle_is_larger_than_the_limit": {func(b *builder) {
			_, at := b.object(blob, []byte("x"))
			at = b.delta(plumbing.ZeroHash, at, instructions(1, 1<<40, 0x91, 0, 1))
			b.delta(some, at, instructions(1<<40, 1, 0x91, 0, 1))
		}, "delta base of 1099511627776 bytes: larger than the limit"},
		"delta_declares_a_huge_result": {func(b *builder) {
			_, at := b.object(blob, []byte("x"))
			b.delta(some, at, instructions(1, 1<<62, 0x91, 0, 1))
		}, "larger than the limit"},
		"delta_of_another_base": {func(b *builder) {
			_, at := b.object(blob, []byte("x"))
			b.delta(some, at, instructions(2, 1, 0x91, 0, 1))
		}, "for a base of 2 bytes"},
		"delta_copies_beyond_the_base": {func(b *builder) {
			_, at := b.object(blob, []byte("x"))
			b.delta(some, at, instructions(1, 2, 0x91, 0, 2))
		}, "copies 2 bytes"},
		"delta_copies_beyond_the_result": {func(b *builder) {
			_, at := b.object(blob, []byte("xx"))
			b.delta(some, at, instructions(2, 1, 0x91, 0, 2))
		}, "copies 2 bytes"},
		"delta_inserts_beyond_the_result": {func(b *builder) {
			_, at := b.object(blob, []byte("x"))
			b.delta(some, at, instructions(1, 1, 2, 'a', 'b'))
		}, "inserts 2 bytes"},
		"delta_has_a_reserved_instruction": {func(b *builder) {
			_, at := b.object(blob, []byte("x"))
			b.delta(some, at, instructions(1, 1, 0))
		}, "reserves"},
		"delta_is_too_short": {func(b *builder) {
			_, at := b.object(blob, []byte("x"))
			b.delta(some, at, instructions(1, 1))
		}, "unexpected EOF"},
		"delta_is_too_long": {func(b *builder) {
			_, at := b.object(blob, []byte("x"))
			b.delta(some, at, append(instructions(1, 1, 0x91, 0, 1), make([]byte, 5000)...))
		}, "that it declares"},
		"base_before_the_pack": {func(b *builder) {
			b.add(some, plumbing.OFSDeltaObject, 1, distance(1<<40), b.deflate(zeros(1)))
		}, "bytes before"},
		"own_base":     {func(b *builder) { b.delta(some, int64(b.pack.Len()), instructions(1, 1)) }, "0 bytes before"},
		"base_is_gone": {func(b *builder) { b.add(some, plumbing.REFDeltaObject, 1, make([]byte, hashSize), nil) }, "not in the pack"},
		"chain_in_a_circle": {func(b *builder) {
			b.add(some, plumbing.REFDeltaObject, 1, some[:], b.deflate(zeros(1)))
		}, "chain of deltas"},
		"chain_that_is_too_long": {func(b *builder) {
			_, at := b.object(blob, []byte("x"))
			for range maxChain {
				at = b.delta(plumbing.ZeroHash, at, instructions(1, 1, 0x91, 0, 1))
			}
			b.delta(some, at, instructions(1, 1, 0x91, 0, 1))
		}, "chain of deltas"},
		"chain_of_large_bases":  {func(b *builder) { b.largeBases(40) }, "with its delta bases"},
		"place_beyond_the_pack": {func(b *builder) { b.index = append(b.index, indexed{some, 1 << 40}) }, "of a pack of"},
		"place_in_the_header":   {func(b *builder) { b.index = append(b.index, indexed{some, 4}) }, "of a pack of"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBuilder(t)
			test.build(b)
			_, err := New(b.files()).Read(t.Context(), blob, some, 1<<20)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestMemoryOfBases reads an object whose bases are as large as is allowed. Only two of them are in memory.
func TestMemoryOfBases(t *testing.T) { //nolint:paralleltest // it counts what the process allocates
	b := newBuilder(t)
	b.largeBases(10)
	s := New(b.files())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if raw, err := s.Read(t.Context(), plumbing.BlobObject, some, 1<<20); err != nil || len(raw) != 1 {
		t.Fatalf("got %d bytes and %v, want one", len(raw), err)
	}
	runtime.ReadMemStats(&after)
	if got, want := after.TotalAlloc-before.TotalAlloc, uint64(2*maxBase+4<<20); got > want {
		t.Errorf("got %d bytes allocated, want at most %d", got, want)
	}
}

// largeBases appends the object some, of one byte, behind a chain of n deltas of objects as large as a base may be.
func (b *builder) largeBases(n int) {
	at := b.add(plumbing.ZeroHash, plumbing.BlobObject, maxBase, nil, b.deflate(zeros(maxBase)))
	same := instructions(maxBase, maxBase, bytes.Repeat([]byte{0xf0, 0xff, 0xff, 0x7f}, 4)...) // copies 8 MiB less one byte four times
	same = append(same, 0x90, 4)
	for range n {
		at = b.delta(plumbing.ZeroHash, at, same)
	}
	b.delta(some, at, instructions(maxBase, 1, 0x91, 0, 1))
}

func TestHostileIndexes(t *testing.T) {
	t.Parallel()
	b := newBuilder(t)
	h, _ := b.object(plumbing.BlobObject, []byte("x"))
	good := b.indexFile()
	changed := func(at int, to ...byte) []byte {
		index := bytes.Clone(good)
		copy(index[at:], to)
		return index
	}
	for name, test := range map[string]struct {
		index []byte
		want  string
	}{
		"empty":                {nil, "unexpected EOF"},
		"version_1":            {good[fanoutStart:], "version 2"},
		"version_3":            {changed(7, 3), "version 2"},
		"counts_fall":          {changed(fanoutStart, 0, 0, 0, 9), "the count of hashes falls"},
		"more_objects_than_it": {changed(hashesStart-4, 0xff, 0xff, 0xff, 0xff), "want at least"},
		"64_bit_place_is_gone": {changed(hashesStart+hashSize+4, 0xff, 0xff, 0xff, 0xff), "unexpected EOF"},
	} {
		files := memfs.New()
		for name, content := range map[string][]byte{"pack-1.pack": b.pack.Bytes(), "pack-1.idx": test.index} {
			if err := util.WriteFile(files, dir+"/"+name, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := New(files).Read(t.Context(), plumbing.BlobObject, h, 1<<20)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

// FuzzRead reads from any pack, by an index that names each of its places.
func FuzzRead(f *testing.F) {
	b := newBuilder(f)
	_, at := b.object(plumbing.BlobObject, []byte("a small object"))
	h := plumbing.ComputeHash(plumbing.BlobObject, []byte("a object"))
	b.delta(h, at, instructions(14, 8, 0x90, 2, 0x91, 8, 6))
	f.Add(b.pack.Bytes())
	f.Fuzz(func(t *testing.T, pack []byte) {
		b := newBuilder(t)
		b.pack.Reset()
		b.pack.Write(pack)
		for at := packHeader; at < min(len(pack), 100); at++ {
			b.index = append(b.index, indexed{plumbing.ComputeHash(plumbing.BlobObject, []byte{byte(at)}), int64(at)})
		}
		s := New(b.files())
		for _, e := range b.index {
			const limit = 1 << 16
			raw, err := s.Read(t.Context(), plumbing.BlobObject, e.hash, limit)
			if len(raw) > limit || err != nil && raw != nil {
				t.Errorf("got %d bytes and %v, want at most %d", len(raw), err, limit)
			}
		}
	})
}
