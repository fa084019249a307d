//go:build integration

package memory

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"os"
)

// A server answers as git upload-pack. Size is 1 with lowered limits, and 16 with those of a release.
type server struct {
	in   *bufio.Reader
	out  *bufio.Writer
	size int
}

const (
	typeCommit = 1
	typeTree   = 2
	typeBlob   = 3
	typeOfs    = 6
	typeRef    = 7
)

var commit = []byte("tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nm\n")

// shapes are the replies, by name. Each is a pack that begins with the commit and the empty tree, or a list of refs.
var shapes = map[string]func(s *server){
	"honest": func(s *server) { s.pack(0, func(*packer) {}) },
	"blob_of_zeros": func(s *server) {
		s.pack(1, func(p *packer) { p.entry(typeBlob, uint64(s.size)<<26, nil, zeros(int64(s.size)<<26)) })
	},
	"commit_of_zeros": func(s *server) {
		s.pack(1, func(p *packer) { p.entry(typeCommit, uint64(s.size)<<23, nil, zeros(int64(s.size)<<23)) })
	},
	"tree_of_many_entries": func(s *server) {
		n := s.size * 100_000
		s.pack(1, func(p *packer) {
			p.entry(typeTree, uint64(n*34), nil, made(n, func(i int) []byte { return append(fmt.Appendf(nil, "40000 %07d\x00", i), emptyTree()...) }))
		})
	},
	"tree_of_random_links": func(s *server) {
		n := s.size * 40_000
		r := rand.New(rand.NewPCG(1, 2))
		s.pack(1, func(p *packer) {
			p.entry(typeTree, uint64(n*35), nil, made(n, func(i int) []byte {
				e := fmt.Appendf(nil, "100644 %07d\x00", i)
				for range 20 {
					e = append(e, byte(r.Uint32()))
				}
				return e
			}))
		})
	},
	"many_objects": func(s *server) {
		n := 120_000 // a little below the limit
		if *full {
			n = 5_000_000
		}
		s.pack(n, func(p *packer) {
			for i := range n {
				p.plain(typeBlob, fmt.Appendf(nil, "%d", i))
			}
		})
	},
	"too_many_objects": func(s *server) { s.pack(1<<31, func(*packer) {}) },
	"wide_deltas": func(s *server) { // many large results of one base
		s.pack(1001, func(p *packer) {
			base := p.plain(typeBlob, make([]byte, 1<<20))
			for range 1000 {
				p.delta(base, 1<<20, 64<<20, bytes.Repeat([]byte{0xc0, 0x10}, 64))
			}
		})
	},
	"large_chain": func(s *server) { // each result is the base of the next
		s.pack(1001, func(p *packer) {
			base := p.plain(typeBlob, make([]byte, 1<<20))
			base = p.delta(base, 1<<20, 16<<20, bytes.Repeat([]byte{0xc0, 0x10}, 16))
			for range 999 {
				base = p.delta(base, 16<<20, 16<<20, bytes.Repeat([]byte{0xc0, 0x10}, 16))
			}
		})
	},
	"branching_chain": func(s *server) { // each result has a second delta, which needs it again after the whole chain
		s.pack(401, func(p *packer) {
			base := p.plain(typeBlob, make([]byte, 1<<20))
			var chain []int64
			for range 200 {
				base = p.delta(base, 1<<20, 1<<20, []byte{0xc0, 0x10})
				chain = append(chain, base)
			}
			for _, at := range chain {
				p.delta(at, 1<<20, 1<<20, []byte{0xc0, 0x10})
			}
		})
	},
	"deep_chain": func(s *server) {
		s.pack(20_001, func(p *packer) {
			base := p.plain(typeBlob, []byte("x"))
			for range 20_000 {
				base = p.delta(base, 1, 1, []byte{0x90, 1})
			}
		})
	},
	"small_copies": func(s *server) { // instructions of one byte each, of a base in a file
		n := s.size << 16
		s.pack(3, func(p *packer) {
			base := p.plain(typeBlob, make([]byte, 1<<20))
			base = p.delta(base, 1<<20, 16<<20, bytes.Repeat([]byte{0xc0, 0x10}, 16))
			p.delta(base, 16<<20, uint64(n), bytes.Repeat([]byte{0x90, 1}, n))
		})
	},
	"deltas_by_hash": func(s *server) {
		n := s.size * 40_000
		s.pack(n, func(p *packer) {
			for i := range n {
				var base [20]byte
				binary.BigEndian.PutUint32(base[:], uint32(i))
				p.entry(typeRef, 4, base[:], bytes.NewReader([]byte{1, 1, 0x90, 1}))
			}
		})
	},
	"another_commit": func(s *server) { // each time, with a tree and a blob of its own
		commit = fmt.Appendf(commit, "%d\n", os.Getpid())
		s.pack(2, func(p *packer) {
			p.entry(typeBlob, uint64(s.size)<<22, nil, zeros(int64(s.size)<<22))
			p.plain(typeBlob, fmt.Appendf(nil, "%d", os.Getpid()))
		})
	},
	"progress_of_no_bytes": func(s *server) {
		s.begin()
		s.repeat(func(int) string { return "\x02" }, 1<<30)
	},
	"long_refs": func(s *server) { s.line("version 2\n"); s.flush(); s.request(); s.longRefs() },
	"shallow":   func(s *server) { s.untilPack(); s.repeat(func(int) string { return "shallow " + tip() + "\n" }, 1<<30) },
	"packfile_uris": func(s *server) {
		s.untilPack()
		s.line("packfile-uris\n")
		s.repeat(func(int) string { return tip() + " https://example.org/a.pack\n" }, 1<<30)
	},
	"many_refs":       func(s *server) { s.refsV0(s.size * 100_000); s.end() },
	"endless_refs":    func(s *server) { s.refsV0(1 << 30) },
	"endless_refs_v2": func(s *server) { s.line("version 2\n"); s.flush(); s.request(); s.refs(1 << 30) },
	"endless_capability": func(s *server) {
		s.line("version 2\n")
		s.repeat(func(i int) string { return fmt.Sprintf("c%d\n", i) }, 1<<30)
	},
	"endless_answers": func(s *server) {
		s.refsV0(0)
		s.end()
		s.request()
		s.repeat(func(int) string { return "NAK\n" }, 1<<30)
	},
	"endless_progress": func(s *server) {
		s.begin()
		s.repeat(func(int) string { return "\x02" + string(make([]byte, 60_000)) }, 1<<14)
	},
	"error_of_a_megabyte": func(s *server) { s.repeat(func(int) string { return "ERR " + string(make([]byte, 60_000)) }, 16) },
}

// outcomes are what the agent prints about each shape: the commit, which is not signed, or why the reply is refused.
var outcomes = map[string]string{
	"another_commit": "1 refused", "progress_of_no_bytes": "beside the pack is larger than the limit", "long_refs": "larger than the limit", "shallow": "larger than the limit", "packfile_uris": "want the pack",
	"honest": "1 refused", "blob_of_zeros": "1 refused", "commit_of_zeros": "1 refused", "tree_of_many_entries": "1 refused", "many_objects": "1 refused",
	"tree_of_random_links": "incomplete history", "too_many_objects": "larger than the limit", "wide_deltas": "larger than the limit", "large_chain": "larger than the limit",
	"branching_chain": "larger than the limit", "deep_chain": "chain of deltas", "small_copies": "larger than the limit", "deltas_by_hash": "larger than the limit",
	"many_refs": "larger than the limit", "endless_refs": "larger than the limit", "endless_refs_v2": "larger than the limit", "endless_capability": "larger than the limit",
	"endless_answers": "repeats its answers", "endless_progress": "beside the pack is larger than the limit", "error_of_a_megabyte": "the remote reports",
}

func emptyTree() []byte {
	sum := sha1.Sum([]byte("tree 0\x00"))
	return sum[:]
}

func zeros(n int64) io.Reader { return io.LimitReader(zero{}, n) }

type zero struct{}

func (zero) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// made reads n parts, one after the other.
func made(n int, part func(i int) []byte) io.Reader { return &parts{n: n, part: part} }

type parts struct {
	i, n int
	part func(int) []byte
	left []byte
}

func (m *parts) Read(p []byte) (int, error) {
	if len(m.left) == 0 {
		if m.i == m.n {
			return 0, io.EOF
		}
		m.left = m.part(m.i)
		m.i++
	}
	n := copy(p, m.left)
	m.left = m.left[n:]
	return n, nil
}

func (s *server) line(text string) {
	if _, err := fmt.Fprintf(s.out, "%04x%s", len(text)+4, text); err != nil {
		panic(err) // the agent has ended the exchange, and the process ends
	}
}

func (s *server) flush() { _, _ = s.out.WriteString("0000"); _ = s.out.Flush() }
func (s *server) end()   { s.flush() }

func (s *server) repeat(text func(i int) string, n int) {
	for i := range n {
		s.line(text(i))
	}
	s.flush()
}

func tip() string {
	return fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "commit %d\x00%s", len(commit), commit)))
}

// refs lists the branch and n other ones.
func (s *server) refs(n int) {
	s.line(tip() + " refs/heads/main\n")
	s.repeat(func(i int) string { return fmt.Sprintf("%s refs/heads/other-%d\n", tip(), i) }, n)
}

func (s *server) refsV0(n int) {
	s.line(tip() + " HEAD\x00side-band-64k ofs-delta\n")
	s.line(tip() + " refs/heads/main\n")
	for i := range n {
		s.line(fmt.Sprintf("%s refs/heads/other-%d\n", tip(), i))
	}
}

// request reads a request: packets up to one without content, in version 0 up to the line done.
func (s *server) request() {
	var head [4]byte
	for {
		if _, err := io.ReadFull(s.in, head[:]); err != nil {
			return
		}
		var n int
		if _, err := fmt.Sscanf(string(head[:]), "%x", &n); err != nil || n == 0 {
			return
		}
		_, _ = io.CopyN(io.Discard, s.in, int64(max(n-4, 0)))
	}
}

// longRefs lists branches with long names, and never the branch that the agent asks for.
func (s *server) longRefs() {
	s.repeat(func(i int) string { return fmt.Sprintf("%s refs/heads/%060000d\n", tip(), i) }, 1<<16)
}

// untilPack answers up to the request for a pack.
func (s *server) untilPack() {
	s.line("version 2\n")
	s.flush()
	s.request()
	s.refs(0)
	s.request()
}

// begin answers up to the beginning of the pack.
func (s *server) begin() {
	s.untilPack()
	s.line("packfile\n")
}

// pack sends a pack with two objects and more ones.
func (s *server) pack(more int, add func(p *packer)) {
	s.begin()
	p := &packer{out: bufio.NewWriterSize(&stream{s}, 60_000), sum: sha1.New()}
	p.z = zlib.NewWriter(io.Discard)
	p.write(binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(more+2)))
	p.plain(typeCommit, commit)
	p.plain(typeTree, nil)
	add(p)
	_, _ = p.out.Write(p.sum.Sum(nil))
	_ = p.out.Flush()
	s.flush()
}

// A stream sends packets of the first stream.
type stream struct{ s *server }

func (w *stream) Write(p []byte) (int, error) {
	w.s.line("\x01" + string(p))
	return len(p), nil
}

// A packer writes a pack.
type packer struct {
	out *bufio.Writer
	sum hash.Hash
	n   int64
	z   *zlib.Writer
}

func (p *packer) Write(b []byte) (int, error) {
	p.write(b)
	return len(b), nil
}

func (p *packer) write(b []byte) {
	_, _ = p.sum.Write(b)
	if _, err := p.out.Write(b); err != nil {
		panic(err)
	}
	p.n += int64(len(b))
}

// entry writes an object of a size, with the bytes of base behind its header.
func (p *packer) entry(typ int, size uint64, base []byte, content io.Reader) int64 {
	at := p.n
	head := []byte{byte(typ<<4) | byte(size&15)}
	if size>>4 > 0 {
		head[0] |= 0x80
		head = binary.AppendUvarint(head, size>>4)
	}
	p.write(append(head, base...))
	p.z.Reset(p)
	if _, err := io.Copy(p.z, content); err != nil {
		panic(err)
	}
	_ = p.z.Close()
	return at
}

func (p *packer) plain(typ int, content []byte) int64 {
	return p.entry(typ, uint64(len(content)), nil, bytes.NewReader(content))
}

func (p *packer) delta(base int64, from, to uint64, instructions []byte) int64 {
	n := p.n - base
	distance := []byte{byte(n & 0x7f)}
	for n >>= 7; n > 0; n >>= 7 {
		n--
		distance = append([]byte{byte(n&0x7f) | 0x80}, distance...)
	}
	delta := append(binary.AppendUvarint(binary.AppendUvarint(nil, from), to), instructions...)
	return p.entry(typeOfs, uint64(len(delta)), distance, bytes.NewReader(delta))
}
