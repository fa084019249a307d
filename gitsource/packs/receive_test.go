package packs

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1" // #nosec G505 -- git's checksum
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// enough are limits that no honest pack of these tests reaches.
var enough = Limits{Objects: 100_000, Work: 8 << 30}

// receive receives a pack that is complete in itself.
func receive(t *testing.T, raw []byte, limits Limits) (*Received, error) {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "tmp_pack_")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	p, err := Receive(t.Context(), file, bytes.NewReader(raw), limits, func(plumbing.Hash) bool { return false })
	if err != nil {
		return nil, err
	}
	if stored, err := os.ReadFile(file.Name()); err != nil || !bytes.Equal(stored, raw) {
		t.Errorf("stored %d bytes, error %v, want the %d bytes of the pack", len(stored), err, len(raw))
	}
	return p, nil
}

// whole returns the pack with its count and its checksum.
func (b *builder) whole() []byte {
	raw := bytes.Clone(b.pack.Bytes())
	binary.BigEndian.PutUint32(raw[8:], uint32(len(b.index)))
	sum := sha1.Sum(raw) // #nosec G401 -- git's checksum
	return append(raw, sum[:]...)
}

// runGit runs git in a directory without any configuration of the machine.
func runGit(t *testing.T, dir, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1"}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, stderr.String())
	}
	return string(out)
}

// TestReceiveWritesTheIndexOfGit compares the index of packs that git wrote with the one that git makes of them.
func TestReceiveWritesTheIndexOfGit(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	large := make([]byte, inMemory+1<<20)
	for i := range large {
		large[i] = byte(random.Uint32())
	}
	var stream strings.Builder
	for i := range 300 {
		fmt.Fprintf(&stream, "commit refs/heads/main\ncommitter A <a@b> %d +0000\ndata 2\nm\n", 1700000000+i)
		text := fmt.Sprintf("name: web-%d\n%smemory: %d\n", i%20, strings.Repeat("# a comment line\n", 50), i)
		fmt.Fprintf(&stream, "M 100644 inline guests/%d/web-%d.yaml\ndata %d\n%s\n", i%3, i%20, len(text), text)
		if i%100 == 0 {
			large[i], large[len(large)-i-1] = byte(i), 0
			fmt.Fprintf(&stream, "M 100644 inline large.bin\ndata %d\n%s\n", len(large), large)
		}
	}
	stream.WriteString("tag v1\nfrom refs/heads/main\ntagger A <a@b> 1700000000 +0000\ndata 2\nt\n\n")
	dir := t.TempDir()
	runGit(t, dir, "", "init", "-q", "--bare", "-b", "main", ".")
	runGit(t, dir, stream.String(), "fast-import", "--quiet")
	for name, args := range map[string][]string{
		"by_offset": {"--delta-base-offset"},
		"by_hash":   nil,
		"plain":     {"--window=0", "--no-reuse-delta"},
	} {
		t.Run(name, func(t *testing.T) {
			raw := []byte(runGit(t, dir, "", append([]string{"pack-objects", "--all", "-q", "--stdout", "--no-reuse-delta", "--window=20"}, args...)...))
			p, err := receive(t, raw, enough)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "x.pack")
			if err := os.WriteFile(file, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			runGit(t, dir, "", "index-pack", file)
			want, err := os.ReadFile(strings.TrimSuffix(file, ".pack") + ".idx")
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := p.WriteIndex(&got); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("got an index of %d bytes for %d objects, want the %d bytes of git", got.Len(), p.Count(), len(want))
			}
			if p.Few != nil {
				t.Error("got the objects of a large pack in memory")
			}
		})
	}
}

// TestReceiveAllocatesRecords receives objects and deltas, of which few are kept in memory. What is allocated for each is hardly more than its record: otherwise the
// garbage collector would let the memory grow to twice that of the records.
func TestReceiveAllocatesRecords(t *testing.T) {
	const parts, few, many = 10, 20_000, 30_000
	allocated := func(objects int) uint64 {
		b := newBuilder(t)
		for i := range objects / 2 {
			_, base := b.object(plumbing.BlobObject, fmt.Appendf(nil, "%08d", i))
			var content, delta []byte
			for n := range parts {
				part := fmt.Appendf(nil, "%0127d", i*parts+n)
				content, delta = append(content, part...), append(append(delta, byte(len(part))), part...)
			}
			b.delta(plumbing.ComputeHash(plumbing.BlobObject, content), base, instructions(8, uint64(len(content)), delta...))
		}
		raw := b.whole()
		file, err := os.CreateTemp(t.TempDir(), "tmp_pack_")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p, err := Receive(t.Context(), file, bytes.NewReader(raw), enough, func(plumbing.Hash) bool { return false })
		runtime.ReadMemStats(&after)
		if err != nil || p.Count() != objects {
			t.Fatalf("got %v, want %d objects", err, objects)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	if each := (allocated(many) - allocated(few)) / (many - few); each > 64 {
		t.Errorf("got %d bytes for each further object, want at most 64", each)
	} else {
		t.Logf("%d bytes for each object", each)
	}
}

// TestReceiveDropsContent resolves a chain of large objects, each with a second delta that is resolved after the whole chain. The chain does not fit into the memory
// for delta bases.
func TestReceiveDropsContent(t *testing.T) {
	t.Parallel()
	const size, length = 1 << 20, 2 * maxHeld >> 20
	b := newBuilder(t)
	content := make([]byte, size)
	fillRandom(content)
	_, base := b.object(plumbing.BlobObject, content)
	want := map[plumbing.Hash]bool{}
	change := func(at int64, place int, value byte) int64 { // sets one byte
		content[place] = value
		h := plumbing.ComputeHash(plumbing.BlobObject, content)
		want[h] = true
		delta := instructions(size, size)
		for from := 0; from < size; {
			if from == place {
				delta, from = append(delta, 1, value), from+1
				continue
			}
			n := min(size-from, 0xffff)
			if from < place {
				n = min(n, place-from)
			}
			delta = append(delta, 0x80|0x0f|0x30, byte(from), byte(from>>8), byte(from>>16), byte(from>>24), byte(n), byte(n>>8))
			from += n
		}
		return b.delta(h, at, delta)
	}
	at := base
	var chain []int64
	for i := range length {
		at = change(at, 1000+i, 0xa5)
		chain = append(chain, at)
	}
	fillRandom(content)
	for i, node := range chain {
		content[1000+i] = 0xa5
		before := content[500_000]
		change(node, 500_000, byte(i))
		content[500_000] = before
	}
	p, err := receive(t, b.whole(), enough)
	if err != nil {
		t.Fatal(err)
	}
	for h := range want {
		if got := p.Type(h); got != plumbing.BlobObject {
			t.Errorf("%s: got type %s, want a blob", h, got)
		}
	}
}

// TestReceiveLarge resolves deltas whose bases and results are too large for the memory, and a delta that is large itself.
func TestReceiveLarge(t *testing.T) {
	t.Parallel()
	b := newBuilder(t)
	base := make([]byte, inMemory+100)
	_, at := b.object(plumbing.BlobObject, base)
	inserted := make([]byte, 2*maxKeptPart)
	fillRandom(inserted)
	var insert []byte
	for rest := inserted; len(rest) > 0; {
		n := min(len(rest), 127)
		insert, rest = append(append(insert, byte(n)), rest[:n]...), rest[n:]
	}
	want := map[plumbing.Hash]bool{}
	add := func(base int64, from, to int, content []byte, delta []byte) int64 {
		h := plumbing.ComputeHash(plumbing.BlobObject, content)
		want[h] = true
		return b.delta(h, base, instructions(uint64(from), uint64(to), delta...))
	}
	copied := []byte{0x80 | 0x7f, 0, 0, 0, 0, 0, 0, 0x40, 0x80 | 0x7f, 0, 0, 0x40, 0, 0, 0, 0x40} // 4 MiB from the start, 4 MiB after that
	one := append(bytes.Clone(inserted), base[:8<<20]...)
	large := add(at, len(base), len(one), one, append(bytes.Clone(insert), copied...)) // a base of others
	two := append([]byte("x"), one[:8<<20]...)
	add(large, len(one), len(two), two, append([]byte{1, 'x'}, copied...))
	small := append([]byte("y"), one[1000:1100]...)
	add(large, len(one), len(small), small, []byte{1, 'y', 0x80 | 0x13, 0xe8, 0x03, 100})
	p, err := receive(t, b.whole(), enough)
	if err != nil {
		t.Fatal(err)
	}
	for h := range want {
		if got := p.Type(h); got != plumbing.BlobObject {
			t.Errorf("%s: got type %s, want a blob", h, got)
		}
	}
}

func fillRandom(b []byte) { fillRandomWith(rand.NewChaCha8([32]byte{1}), b) }

func fillRandomWith(r *rand.ChaCha8, b []byte) { _, _ = r.Read(b) } // it never fails

// TestReceiveCompressible receives an object that is more than the least work of a pack, and compresses well.
func TestReceiveCompressible(t *testing.T) {
	t.Parallel()
	b := newBuilder(t)
	const size = minWork + 1<<20
	b.add(some, plumbing.BlobObject, size, nil, b.deflate(zeros(size)))
	if p, err := receive(t, b.whole(), enough); err != nil || p.Few != nil {
		t.Errorf("got error %v, want the object, and not in memory", err)
	}
}

// TestReceiveFew keeps the objects of a small pack.
func TestReceiveFew(t *testing.T) {
	t.Parallel()
	b := newBuilder(t)
	_, base := b.object(plumbing.BlobObject, []byte("some content"))
	h := plumbing.ComputeHash(plumbing.BlobObject, []byte("some other content"))
	b.delta(h, base, instructions(12, 18, append([]byte{0x90, 5, 6}, append([]byte("other "), 0x91, 5, 7)...)...))
	p, err := receive(t, b.whole(), enough)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range p.Few {
		got = append(got, o.Type.String()+" "+string(o.Content))
	}
	if want := "blob some content|blob some other content"; strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestReceiveRefuses sends packs that cost too much or are incomplete.
func TestReceiveRefuses(t *testing.T) {
	t.Parallel()
	missing := plumbing.NewHash("0123456789012345678901234567890123456789")
	for name, test := range map[string]struct {
		limits Limits
		build  func(b *builder)
		want   string
		is     error
	}{
		"objects": {Limits{Objects: 1, Work: 1 << 30}, func(b *builder) {
			b.object(plumbing.BlobObject, []byte("1"))
			b.object(plumbing.BlobObject, []byte("2"))
		}, "2 objects", ErrTooLarge},
		"work": {Limits{Objects: 9, Work: 1 << 20}, func(b *builder) { b.object(plumbing.BlobObject, make([]byte, 1<<20)) }, "of 1 MiB", ErrTooLarge},
		"work_of_deltas": {Limits{Objects: 99, Work: 1 << 20}, func(b *builder) {
			_, base := b.object(plumbing.BlobObject, make([]byte, 100<<10))
			for range 20 {
				b.delta(missing, base, instructions(100<<10, 100<<10, 0x80|0x40, 0x01, 0x80|0x30, 0, 0x90))
			}
		}, "of 1 MiB", ErrTooLarge},
		"work_of_a_small_pack": {enough, func(b *builder) {
			_, base := b.object(plumbing.BlobObject, make([]byte, 1<<20))
			for range 200 {
				b.delta(missing, base, instructions(1<<20, 20<<20, bytes.Repeat([]byte{0x80 | 0x40, 0x10}, 20)...))
			}
		}, "larger than the limit of", ErrTooLarge},
		"size_of_a_result": {enough, func(b *builder) {
			_, base := b.object(plumbing.BlobObject, []byte("x"))
			b.delta(missing, base, instructions(1, 1<<62))
		}, "larger than the limit of", ErrTooLarge},
		"chain": {enough, func(b *builder) {
			_, at := b.object(plumbing.BlobObject, []byte("x"))
			for range maxChain + 2 {
				at = b.delta(missing, at, instructions(1, 1, 0x90, 1))
			}
		}, "chain of deltas", ErrTooLarge},
		"no_base": {enough, func(b *builder) {
			b.add(missing, plumbing.REFDeltaObject, 4, missing[:], b.deflate(bytes.NewReader([]byte{1, 1, 0x90, 1})))
		}, "the base of the delta is not in the pack", nil},
		"delta_goes_on": {enough, func(b *builder) {
			_, base := b.object(plumbing.BlobObject, []byte("x"))
			b.delta(missing, base, instructions(1, 1, 0x90, 1, 1, 'x'))
		}, "longer than its result", nil},
		"packed_larger_than_it_is": {enough, func(b *builder) {
			var packed bytes.Buffer
			z := zlib.NewWriter(&packed)
			for range 200 {
				_ = z.Flush() // an empty block
			}
			_, _ = z.Write([]byte("x"))
			_ = z.Close()
			b.add(plumbing.ComputeHash(plumbing.BlobObject, []byte("x")), plumbing.BlobObject, 1, nil, packed.Bytes())
		}, "the packed content is larger than the limit for its size", ErrTooLarge},
		"commit_without_an_end": {enough, func(b *builder) {
			b.object(plumbing.CommitObject, []byte("author x\nparent "+missing.String()))
		}, "names " + missing.String(), nil},
		"object_zero": {enough, func(b *builder) {
			b.object(plumbing.TreeObject, append([]byte("100644 a\x00"), make([]byte, hashSize)...))
		}, "names " + plumbing.ZeroHash.String(), nil},
		"commit": {enough, func(b *builder) {
			b.object(plumbing.CommitObject, []byte("tree "+missing.String()+"\n\n"))
		}, "names " + missing.String(), nil},
		"tag":  {enough, func(b *builder) { b.object(plumbing.TagObject, []byte("object "+missing.String()+"\n\n")) }, "names " + missing.String(), nil},
		"tree": {enough, func(b *builder) { b.object(plumbing.TreeObject, append([]byte("100644 a\x00"), missing[:]...)) }, "names " + missing.String(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBuilder(t)
			test.build(b)
			_, err := receive(t, b.whole(), test.limits)
			if err == nil || !strings.Contains(err.Error(), test.want) || test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("got error %v, want %q", err, test.want)
			}
		})
	}
}

// TestReceiveCopies resolves the deltas of an object that is in the pack several times once, and not for each copy.
func TestReceiveCopies(t *testing.T) {
	t.Parallel()
	b := newBuilder(t)
	base, _ := b.object(plumbing.BlobObject, []byte("x"))
	result := plumbing.ComputeHash(plumbing.BlobObject, []byte("y"))
	const copies = 20_000 // with as many deltas; without the mark, each copy looks at each delta
	for range copies {
		b.object(plumbing.BlobObject, []byte("x"))
		b.add(result, plumbing.REFDeltaObject, 4, base[:], b.deflate(bytes.NewReader([]byte{1, 1, 1, 'y'})))
	}
	p, err := receive(t, b.whole(), enough)
	if err != nil {
		t.Fatal(err)
	}
	if p.Count() != 2*copies+1 || p.Type(result) != plumbing.BlobObject {
		t.Errorf("got %d objects and %v for the result, want %d and a blob", p.Count(), p.Type(result), 2*copies+1)
	}
}

// TestReceiveLinks finds the links of objects that arrive in parts, and none in what only looks like one.
func TestReceiveLinks(t *testing.T) {
	t.Parallel()
	one, two := plumbing.NewHash(strings.Repeat("1a", 20)), plumbing.NewHash(strings.Repeat("2b", 20))
	for name, test := range map[string]struct {
		typ  plumbing.ObjectType
		text string
		want []plumbing.Hash
	}{
		"commit":    {plumbing.CommitObject, "tree " + one.String() + "\nparent " + two.String() + "\n\ntree " + strings.Repeat("3c", 20) + "\n", []plumbing.Hash{one, two}},
		"no_end":    {plumbing.CommitObject, "tree " + one.String() + "\nparent " + two.String(), []plumbing.Hash{one, two}},
		"capitals":  {plumbing.CommitObject, "tree " + strings.ToUpper(one.String()) + "\n", nil},
		"signature": {plumbing.CommitObject, "gpgsig x\n tree " + one.String() + "\n", nil},
		"long_line": {plumbing.CommitObject, strings.Repeat("x", 5000) + "\nparent " + two.String() + "\n", []plumbing.Hash{two}},
		"tag":       {plumbing.TagObject, "object " + one.String() + "\ntree " + two.String() + "\n", []plumbing.Hash{one}},
		"tree":      {plumbing.TreeObject, "100644 a\x00" + string(one[:]) + "160000 sub\x00" + string(one[:]) + "040000 b\x00" + string(two[:]) + "100644 c\x00cut", []plumbing.Hash{one, two}},
		"blob":      {plumbing.BlobObject, "tree " + one.String() + "\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, part := range []int{1, 3, 7, 1 << 20} {
				l := newLinkList(1, t.TempDir())
				s := l.scan(test.typ, 0)
				for text := []byte(test.text); len(text) > 0; {
					n := min(part, len(text))
					if err := s.write(text[:n]); err != nil {
						t.Fatal(err)
					}
					text = text[n:]
				}
				if err := s.end(); err != nil {
					t.Fatal(err)
				}
				var got []plumbing.Hash
				for at := 0; at < len(l.buf); at += linkSize {
					got = append(got, plumbing.Hash(l.buf[at:at+hashSize]))
				}
				if fmt.Sprint(got) != fmt.Sprint(test.want) {
					t.Errorf("in parts of %d: got %v, want %v", part, got, test.want)
				}
			}
		})
	}
}

// TestLinksInAFile has more links than are kept in memory.
func TestLinksInAFile(t *testing.T) {
	t.Parallel()
	l := newLinkList(1<<20, t.TempDir())
	defer l.close()
	random := rand.NewChaCha8([32]byte{2})
	var first, last plumbing.Hash
	for range 2*linkBuffer/linkSize + 100 {
		fillRandomWith(random, last[:])
		if first.IsZero() {
			first = last
		}
		if err := l.add(last, 0); err != nil {
			t.Fatal(err)
		}
	}
	p := &Received{}
	p.records.add(record{typ: plumbing.TreeObject})
	for _, h := range []plumbing.Hash{first, last} {
		var missing *MissingError
		if err := l.check(t.Context(), p, func(known plumbing.Hash) bool { return known != h }); !errors.As(err, &missing) || missing.Missing != h {
			t.Errorf("got error %v, want that %s is missing", err, h)
		}
	}
	if err := l.check(t.Context(), p, func(plumbing.Hash) bool { return true }); err != nil {
		t.Error(err)
	}
}

// TestReceiveEndsWithItsContext ends the context while a pack is received.
func TestReceiveEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := newBuilder(t)
	b.object(plumbing.BlobObject, make([]byte, 1<<20))
	raw := b.whole()
	file, err := os.CreateTemp(t.TempDir(), "tmp_pack_")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	stream := io.MultiReader(bytes.NewReader(raw[:100]), readerFunc(func(p []byte) (int, error) {
		cancel()
		return copy(p, raw[100:]), io.EOF
	}))
	if _, err := Receive(ctx, file, stream, enough, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the context has ended", err)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// FuzzReceive gives a pack whose bytes were changed. What is received has the objects that the reader of stored packs finds.
func FuzzReceive(f *testing.F) {
	b := newBuilder(f)
	_, base := b.object(plumbing.BlobObject, []byte("some content"))
	h := plumbing.ComputeHash(plumbing.BlobObject, []byte("some other content"))
	b.delta(h, base, instructions(12, 18, append([]byte{0x90, 5, 6}, append([]byte("other "), 0x91, 5, 7)...)...))
	b.object(plumbing.TagObject, []byte("no link"))
	f.Add(b.whole())
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) < 32 {
			return
		}
		sum := sha1.Sum(raw[:len(raw)-20]) // #nosec G401 -- git's checksum
		raw = append(bytes.Clone(raw[:len(raw)-20]), sum[:]...)
		file, err := os.CreateTemp(t.TempDir(), "tmp_pack_")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		p, err := Receive(t.Context(), file, bytes.NewReader(raw), Limits{Objects: 1000, Work: 16 << 20}, func(plumbing.Hash) bool { return true })
		if err != nil {
			return
		}
		again := newBuilder(t)
		again.pack.Reset()
		again.pack.Write(raw)
		for n := range p.records.n {
			again.index = append(again.index, indexed{p.records.at(n).hash, p.records.at(n).offset()})
		}
		set := New(again.files())
		for n := range p.records.n {
			rec := p.records.at(n)
			content, err := set.Read(t.Context(), rec.typ, rec.hash, 1<<20)
			if err != nil && !errors.Is(err, ErrTooLarge) {
				t.Fatalf("read %s: %v", rec.hash, err)
			}
			if err == nil && plumbing.ComputeHash(rec.typ, content) != rec.hash {
				t.Fatalf("%s has other content", rec.hash)
			}
		}
	})
}

// TestReceiveLeavesTheDisk receives packs that need files: for themselves, for a large base, for links, and for the index.
func TestReceiveLeavesTheDisk(t *testing.T) {
	t.Parallel()
	base := make([]byte, inMemory+100)
	tree := append([]byte("40000 x\x00"), bytes.Repeat([]byte{1}, 20)...)
	var links []byte
	for i := range 2 * linkBuffer / linkSize {
		links = binary.BigEndian.AppendUint32(append(links, tree[:24]...), uint32(i))
	}
	noise := make([]byte, 1<<20)
	fillRandom(noise)
	for name, test := range map[string]struct {
		need int64 // bytes of files
		add  func(b *builder)
	}{
		"pack":  {1 << 20, func(b *builder) { b.object(plumbing.BlobObject, noise) }},
		"links": {2 * linkBuffer, func(b *builder) { b.object(plumbing.TreeObject, links) }},
		"base": {inMemory, func(b *builder) {
			_, at := b.object(plumbing.BlobObject, base)
			small := base[:10]
			b.delta(plumbing.ComputeHash(plumbing.BlobObject, small), at, instructions(uint64(len(base)), 10, 0x90, 10))
		}},
		"index": {2000 * indexEntry, func(b *builder) {
			for i := range 2000 {
				b.object(plumbing.BlobObject, fmt.Append(nil, i))
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBuilder(t)
			test.add(b)
			limits := enough
			limits.Disk = test.need - 1
			var disk *DiskError
			if _, err := receive(t, b.whole(), limits); !errors.As(err, &disk) || errors.Is(err, ErrTooLarge) {
				t.Errorf("got %v with a disk of %d bytes, want a DiskError", err, limits.Disk)
			}
			limits.Disk = test.need + int64(len(b.whole())) + 1<<20
			var missing *MissingError
			if _, err := receive(t, b.whole(), limits); err != nil && !errors.As(err, &missing) {
				t.Errorf("got %v with a disk of %d bytes, want the pack", err, limits.Disk)
			}
		})
	}
}
