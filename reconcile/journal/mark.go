package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrRolledBack means that the service shows less of the journal than this host has seen acknowledged: it was restored from an old copy, or replaced. Writing
// would repeat what the lost records say was done.
var ErrRolledBack = errors.New("the store of the journal was rolled back")

// markName is the file that keeps the mark. docs/ha.md names it.
const markName = "acknowledged"

// mark is the highest acknowledged record of a journal in a service, with the link of its commit, on the disk of this host. The file has two slots of
// 64 bytes, which are written in turn, so that a torn write leaves the other one:
//
//	0  16 lineage
//	16 8  number of the last record
//	24 32 link of its commit
//	56 4  CRC-32C of bytes 0 to 55
//	60 4  zeros
//
// A nil mark remembers nothing.
type mark struct {
	file file
	at   chain // zero without a mark
	slot int   // that is written next
}

const markSlot = 64

// openMark reads the mark in a directory, and makes its file if there is none.
func openMark(d disk) (*mark, error) {
	src, err := d.open(markName)
	if errors.Is(err, fs.ErrNotExist) {
		f, err := writeFile(d, markName, func(w io.WriterAt) error { return nil })
		return &mark{file: f}, err
	}
	if err != nil {
		return nil, err
	}
	defer src.Close()
	m, err := newMark(src)
	if err != nil {
		return nil, err
	}
	m.file, err = d.resume(markName)
	return m, err
}

// readMark reads the mark in a directory without a change. A directory without one has a nil mark.
func readMark(dir string) (*mark, error) {
	src, err := os.Open(filepath.Join(dir, markName)) //nolint:gosec // a file of the state directory
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // a nil mark remembers nothing
	}
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return newMark(src)
}

// newMark returns the mark in a file, which it cannot write.
func newMark(src io.ReaderAt) (*mark, error) {
	m := &mark{}
	b := make([]byte, 2*markSlot)
	if _, err := src.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", markName, err)
	}
	for slot := range 2 {
		if at, ok := parseMark(b[slot*markSlot:][:markSlot]); ok && at.next > m.at.next {
			m.at, m.slot = at, 1-slot
		}
	}
	return m, nil
}

func parseMark(b []byte) (chain, bool) {
	if crc32.Checksum(b[:56], castagnoli) != binary.LittleEndian.Uint32(b[56:]) {
		return chain{}, false
	}
	at := chain{id: [16]byte(b), next: binary.LittleEndian.Uint64(b[16:]) + 1, link: [sha256.Size]byte(b[24:])}
	return at, at.next > 1
}

// set makes the mark durable.
func (m *mark) set(at chain) error {
	if m == nil || at.next <= 1 || m.at.id == at.id && m.at.next == at.next {
		return nil
	}
	b := append(make([]byte, 0, markSlot), at.id[:]...)
	b = binary.LittleEndian.AppendUint64(b, at.next-1)
	b = append(b, at.link[:]...)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	b = append(b, make([]byte, markSlot-len(b))...)
	if _, err := m.file.WriteAt(b, int64(m.slot)*markSlot); err != nil {
		return fmt.Errorf("write %s: %w", markName, err)
	}
	if err := m.file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", markName, err)
	}
	m.at, m.slot = at, 1-m.slot
	return nil
}

func (m *mark) close() error {
	if m == nil {
		return nil
	}
	return m.file.Close()
}

// witness compares what a store shows with the mark.
type witness struct {
	want chain
	seen bool // a commit that ends with the record of the mark
	same bool // with the link of the mark
}

func (m *mark) witness() *witness {
	if m == nil {
		return &witness{}
	}
	return &witness{want: m.at}
}

// see takes a commit after the base. The commits in a base have other links.
func (w *witness) see(f frame) {
	if w.want.next > 1 && f.last()+1 == w.want.next {
		w.seen, w.same = true, f.link == w.want.link
	}
}

// doubt returns why a store that ends at a position was rolled back, or nil.
func (w *witness) doubt(end chain) error {
	remedy := "; restore a newer copy of the service, or follow docs/ha.md"
	switch {
	case w.want.next <= 1:
		return nil
	case end.id != w.want.id:
		return fmt.Errorf("%w: it has the journal %s, this host knows %s%s", ErrRolledBack, end.lineage(), w.want.lineage(), remedy)
	case end.next < w.want.next:
		return fmt.Errorf("%w: it ends with record %d, this host has seen record %d%s", ErrRolledBack, max(end.next, 1)-1, w.want.next-1, remedy)
	case end.next == w.want.next && end.link != w.want.link, w.seen && !w.same:
		return fmt.Errorf("%w: its record %d is another one than this host has seen%s", ErrRolledBack, w.want.next-1, remedy)
	}
	return nil
}
