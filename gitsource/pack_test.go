package gitsource_test

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"gitops-agent/gitsource"
)

// A hostile is a remote that sends replies that git never sends.
type hostile struct {
	tip   gitsource.ID
	refs  int // further refs to list
	reply func(w io.Writer)
}

func (h hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		line := func(s string) { _, _ = fmt.Fprintf(w, "%04x%s", len(s)+4, s) }
		line("# service=git-upload-pack\n")
		_, _ = io.WriteString(w, "0000")
		line(string(h.tip) + " HEAD\x00ofs-delta agent=hostile\n")
		line(string(h.tip) + " refs/heads/main\n")
		for i := range h.refs {
			line(fmt.Sprintf("%s refs/heads/other-%d\n", h.tip, i))
		}
		_, _ = io.WriteString(w, "0000")
		return
	}
	w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
	_, _ = io.WriteString(w, "0008NAK\n")
	h.reply(w)
}

// A packWriter builds a pack object by object.
type packWriter struct {
	bytes.Buffer
	count uint32
}

const (
	packCommit   = 1
	packTree     = 2
	packBlob     = 3
	packOfsDelta = 6
	packRefDelta = 7
)

func objectID(kind string, body []byte) gitsource.ID {
	return gitsource.ID(fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "%s %d\x00%s", kind, len(body), body))))
}

// add appends an object whose header claims size bytes. The bytes of base are between the header and the data.
func (p *packWriter) add(kind int, size uint64, base, data []byte) (offset int) {
	offset = p.Len() + 12
	p.count++
	b := byte(kind<<4) | byte(size&15)
	for size >>= 4; size > 0; size >>= 7 {
		p.WriteByte(b | 0x80)
		b = byte(size & 0x7f)
	}
	p.WriteByte(b)
	p.Write(base)
	z := zlib.NewWriter(p)
	_, _ = z.Write(data)
	_ = z.Close()
	return offset
}

func (p *packWriter) object(kind int, data []byte) int {
	return p.add(kind, uint64(len(data)), nil, data)
}

// pack returns the pack with a header that claims count objects, and a correct checksum.
func (p *packWriter) pack(count uint32) []byte {
	raw := append([]byte("PACK"), 0, 0, 0, 2)
	raw = binary.BigEndian.AppendUint32(raw, count)
	raw = append(raw, p.Bytes()...)
	sum := sha1.Sum(raw)
	return append(raw, sum[:]...)
}

// A oneCommit is a history of one commit with one file, as raw objects.
type oneCommit struct{ blob, tree, commit []byte }

func newOneCommit() oneCommit {
	blob := []byte("memory: 1\n")
	blobID := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(blob), blob))
	tree := append([]byte("100644 web.yaml\x00"), blobID[:]...)
	commit := fmt.Appendf(nil, "tree %s\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nm\n", objectID("tree", tree))
	return oneCommit{blob, tree, commit}
}

func (c oneCommit) tip() gitsource.ID { return objectID("commit", c.commit) }

// whole returns the complete pack.
func (c oneCommit) whole() *packWriter {
	p := new(packWriter)
	p.object(packCommit, c.commit)
	p.object(packTree, c.tree)
	p.object(packBlob, c.blob)
	return p
}

func sends(raw []byte) func(io.Writer) {
	return func(w io.Writer) { _, _ = w.Write(raw) }
}

func TestFetchAcceptsHandMadePack(t *testing.T) {
	c := newOneCommit()
	p := c.whole()
	for name, h := range map[string]hostile{
		"plain":      {tip: c.tip(), reply: sends(p.pack(p.count))},
		"10000_refs": {tip: c.tip(), refs: 10_000, reply: sends(p.pack(p.count))},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := openSource(t, plain(serve(t, h)))
			fetch(t, s, c.tip())
			fsck(t, dir)
		})
	}
}

func TestFetchRefusesHostilePacks(t *testing.T) {
	c := newOneCommit()
	whole := c.whole().pack(3)
	wrongSum := append(bytes.Clone(whole[:len(whole)-20]), make([]byte, 20)...)
	without := func(kind int) []byte {
		p := new(packWriter)
		for k, body := range map[int][]byte{packCommit: c.commit, packTree: c.tree, packBlob: c.blob} {
			if k != kind {
				p.object(k, body)
			}
		}
		return p.pack(p.count)
	}
	build := func(add func(p *packWriter)) []byte {
		p := c.whole()
		add(p)
		return p.pack(p.count)
	}
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f} // LEB128
	missing := sha1.Sum([]byte("missing"))
	for name, test := range map[string]struct {
		pack []byte
		want string
	}{
		"nothing":       {nil, "empty"},
		"garbage":       {[]byte("this is no pack at all, sorry"), "signature"},
		"checksum":      {wrongSum, "checksum"},
		"no_commit":     {without(packCommit), "the remote sent no such commit"},
		"no_tree":       {without(packTree), "names " + string(objectID("tree", c.tree))},
		"no_blob":       {without(packBlob), "names " + string(objectID("blob", c.blob))},
		"count_bomb":    {c.whole().pack(1<<32 - 1), "larger than the limit of 5200000"},
		"count_high":    {c.whole().pack(4), "receive pack: object at"},
		"size_bomb":     {build(func(p *packWriter) { p.add(packBlob, 1<<40, nil, []byte("x")) }), "larger than the limit"},
		"size_overflow": {build(func(p *packWriter) { p.add(packBlob, 1<<63+5, nil, []byte("x")) }), "pack"},
		"size_lie":      {build(func(p *packWriter) { p.add(packBlob, 1, nil, []byte("long enough")) }), "longer than the object declares"},
		"delta_bomb": {build(func(p *packWriter) {
			base := p.object(packBlob, []byte("base"))
			delta := append([]byte{4}, huge...)
			p.add(packOfsDelta, uint64(len(delta)), []byte{byte(p.Len() + 12 - base)}, delta)
		}), "larger than the limit"},
		"delta_without_base": {build(func(p *packWriter) {
			p.add(packRefDelta, 4, missing[:], []byte{4, 1, 1, 'x'})
		}), "the base of the delta is not in the pack"},
		"delta_into_header": {build(func(p *packWriter) { p.add(packOfsDelta, 4, []byte{0x7f}, []byte{4, 1, 1, 'x'}) }), "pack"},
		"delta_malformed": {build(func(p *packWriter) {
			base := p.object(packBlob, []byte("base"))
			p.add(packOfsDelta, 3, []byte{byte(p.Len() + 12 - base)}, []byte{4, 9, 0})
		}), "delta"},
		"unknown_type": {build(func(p *packWriter) { p.object(5, []byte("x")) }), "pack"},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := openSource(t, plain(serve(t, hostile{tip: c.tip(), reply: sends(test.pack)})))
			wantRemoteError(t, s, test.want)
			if n := looseObjects(t, dir); n != 0 {
				t.Errorf("got %d objects in the store, want none", n)
			}
			if _, err := s.Repository().Commit(t.Context(), c.tip()); !errors.Is(err, gitsource.ErrNotFound) {
				t.Errorf("Commit: got %v, want ErrNotFound", err)
			}
		})
	}
}

// TestFetchBoundsMemory sends a pack that is much larger unpacked than packed.
func TestFetchBoundsMemory(t *testing.T) {
	c := newOneCommit()
	p := c.whole()
	base := p.object(packBlob, make([]byte, 1<<20))
	for range 200 { // each 100 MiB by copying the base
		var delta []byte
		delta = binary.AppendUvarint(delta, 1<<20)
		delta = binary.AppendUvarint(delta, 200<<20)
		for range 200 {
			delta = append(delta, 0x80|0x40, 0x10) // copy 1 MiB from the start
		}
		offset := uint64(p.Len() + 12 - base)
		ofs := []byte{byte(offset & 0x7f)}
		for offset >>= 7; offset > 0; offset >>= 7 {
			offset--
			ofs = append([]byte{byte(offset&0x7f) | 0x80}, ofs...)
		}
		p.add(packOfsDelta, uint64(len(delta)), ofs, delta)
	}
	s, _ := openSource(t, plain(serve(t, hostile{tip: c.tip(), reply: sends(p.pack(p.count))})))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	wantRemoteError(t, s, "larger than the limit")
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 64<<20 {
		t.Errorf("allocated %d MiB for a pack of %d KiB, want at most 64", got>>20, p.Len()>>10)
	}
}

// TestFetchBoundsEndlessReplies reads from remotes whose replies never end.
func TestFetchBoundsEndlessReplies(t *testing.T) {
	c := newOneCommit()
	noise := make([]byte, 64<<10)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	start := c.whole().pack(4)
	endless := func(w io.Writer) { // a large blob that does not become smaller when it is packed
		_, _ = w.Write(start[:len(start)-20])
		_, _ = w.Write([]byte{packBlob<<4 | 0x80, 0x80, 0x80, 0x80, 0x01})
		z, err := zlib.NewWriterLevel(w, zlib.NoCompression)
		for err == nil {
			_, err = z.Write(noise)
		}
	}
	for name, h := range map[string]hostile{
		"pack": {tip: c.tip(), reply: endless},
		"refs": {tip: c.tip(), refs: 100_000, reply: sends(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := gitsource.Open(gitsource.Options{
				Dir: t.TempDir(), Branch: "main", Remotes: []gitsource.Remote{plain(serve(t, h))}, MaxFetchBytes: 4 << 20,
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Fetch(t.Context()); !errors.Is(err, gitsource.ErrTooLarge) || !errors.Is(err, gitsource.ErrUnreachable) {
				t.Errorf("got %v, want ErrTooLarge", err)
			}
		})
	}
}

// TestFetchCleansRemoteMessages: control characters in a remote's message do not reach logs and terminals.
func TestFetchCleansRemoteMessages(t *testing.T) {
	c := newOneCommit()
	h := hostile{tip: c.tip(), reply: func(w io.Writer) { _, _ = io.WriteString(w, "0015ERR \x1b[2J\nbad\r\n") }}
	s, _ := openSource(t, plain(serve(t, h)))
	_, err := s.Fetch(t.Context())
	if err == nil || strings.ContainsAny(err.Error(), "\x1b\n\r") {
		t.Errorf("got %q, want one clean line", err)
	}
}
