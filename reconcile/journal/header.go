package journal

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"
)

// chain is the position of a journal: its lineage and the end of its commits.
type chain struct {
	id   [16]byte          // random, for the life of the journal
	born int64             // start of the lineage, nanoseconds since 1970
	next uint64            // number of the next record
	link [sha256.Size]byte // of the last commit
}

// newChain starts a lineage whose first record has the number next.
func newChain(now time.Time, next uint64) chain {
	c := chain{born: now.UnixNano(), next: next}
	_, _ = rand.Read(c.id[:]) // never fails: crypto/rand ends the program instead
	c.link = newLink(c.id)
	return c
}

// newLink is the link before the first commit of a lineage.
func newLink(id [16]byte) [sha256.Size]byte { return sha256.Sum256(id[:]) }

func (c chain) lineage() string  { return hex.EncodeToString(c.id[:]) }
func (c chain) since() time.Time { return time.Unix(0, c.born).UTC() }

// A header is at the start of every file. Integers are little-endian:
//
//	0   8  magic, "gitopsj\n"
//	8   4  version of the file format: 2 if frames may have a payload above maxPayload, otherwise 1
//	12  4  role of the file: 1 a segment, 2 a base
//	16  16 lineage
//	32  8  start of the lineage, nanoseconds since 1970
//	40  8  number of the record that follows: of a segment's first record, or of a base's last one plus one
//	48  32 link of the last commit before that record
//	80  8  base: number of records in it
//	88  32 base: link of its own last frame
//	120 4  CRC-32C of bytes 0 to 119
type header struct {
	large bool // version 2
	role  uint32
	chain chain
	kept  uint64
	end   [sha256.Size]byte
}

// limit is the largest payload of a frame in the file.
func (h header) limit() int {
	if h.large {
		return maxLargePayload
	}
	return maxPayload
}

// castagnoli is the polynomial of every checksum in a journal file.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	fileVersion             = 1
	largeFileVersion        = 2
	headerSize              = 124
	roleSegment      uint32 = 1
	roleBase         uint32 = 2
)

var headerMagic = [8]byte{'g', 'i', 't', 'o', 'p', 's', 'j', '\n'}

var errHeader = errors.New("not a journal file")

func (h header) bytes() []byte {
	b := append(make([]byte, 0, headerSize), headerMagic[:]...)
	version := uint32(fileVersion)
	if h.large {
		version = largeFileVersion
	}
	b = binary.LittleEndian.AppendUint32(b, version)
	b = binary.LittleEndian.AppendUint32(b, h.role)
	b = append(b, h.chain.id[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(h.chain.born)) //nolint:gosec // two's complement, read back the same way
	b = binary.LittleEndian.AppendUint64(b, h.chain.next)
	b = append(b, h.chain.link[:]...)
	b = binary.LittleEndian.AppendUint64(b, h.kept)
	b = append(b, h.end[:]...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func readHeader(r io.Reader) (header, error) {
	var b [headerSize]byte
	if n, err := io.ReadFull(r, b[:]); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return header{}, fmt.Errorf("%w: got %d bytes, want a header of %d", errHeader, n, headerSize)
	} else if err != nil {
		return header{}, err
	}
	if [8]byte(b[:8]) != headerMagic {
		return header{}, fmt.Errorf("%w: got magic %q", errHeader, b[:8])
	}
	if got, want := crc32.Checksum(b[:120], castagnoli), binary.LittleEndian.Uint32(b[120:]); got != want {
		return header{}, fmt.Errorf("%w: got header CRC-32C %08x, want %08x", errHeader, got, want)
	}
	version := binary.LittleEndian.Uint32(b[8:])
	switch {
	case version > largeFileVersion:
		return header{}, ErrNewerFormat
	case version < fileVersion:
		return header{}, fmt.Errorf("%w: got version %d", errHeader, version)
	}
	h := header{
		large: version == largeFileVersion,
		role:  binary.LittleEndian.Uint32(b[12:]),
		chain: chain{
			id:   [16]byte(b[16:]),
			born: int64(binary.LittleEndian.Uint64(b[32:])), //nolint:gosec // two's complement, as written
			next: binary.LittleEndian.Uint64(b[40:]),
			link: [sha256.Size]byte(b[48:]),
		},
		kept: binary.LittleEndian.Uint64(b[80:]),
		end:  [sha256.Size]byte(b[88:]),
	}
	if h.role != roleSegment && h.role != roleBase {
		return header{}, fmt.Errorf("%w: got role %d", errHeader, h.role)
	}
	return h, nil
}
