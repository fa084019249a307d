package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"
)

// A frame is one commit on disk. Integers are little-endian:
//
//	0   4  mark, FF 4A 52 4E
//	4   4  length of the payload
//	8   4  CRC-32C (Castagnoli) of bytes 4 to 7 and of everything from 12 on
//	12  32 link, SHA-256(link of the commit before, everything from 44 on)
//	44  8  number of the first record
//	52  8  time of the commit, nanoseconds since 1970
//	60  4  number of records
//	64  .. payload, JSON
//
// Number, time and count are outside the JSON so that compaction can keep or drop a commit without decoding it.
type frame struct {
	link    [sha256.Size]byte
	seq     uint64
	time    int64
	count   int
	payload []byte
}

const frameHead = 64

// frameMark starts with a byte that UTF-8 text never contains, so the mark cannot occur in a payload.
var frameMark = []byte{0xff, 'J', 'R', 'N'}

var (
	errShort = errors.New("frame ends early")
	errFrame = errors.New("not a frame")
)

// after returns f as the commit that follows link.
func (f frame) after(link [sha256.Size]byte) frame {
	h := sha256.New()
	h.Write(link[:])
	h.Write(f.appendFacts(nil))
	h.Write(f.payload)
	h.Sum(f.link[:0])
	return f
}

// follows reports whether f is the commit after link.
func (f frame) follows(link [sha256.Size]byte) bool { return f.after(link).link == f.link }

func (f frame) size() int64 { return int64(frameHead + len(f.payload)) }

// last returns the number of the last record.
func (f frame) last() uint64 { return f.seq + uint64(f.count) - 1 } //nolint:gosec // not negative

// large reports whether only a file of version 2 may contain f.
func (f frame) large() bool { return len(f.payload) > maxPayload }

func (f frame) appendFacts(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, f.seq)
	b = binary.LittleEndian.AppendUint64(b, uint64(f.time))     //nolint:gosec // two's complement, read back the same way
	return binary.LittleEndian.AppendUint32(b, uint32(f.count)) //nolint:gosec // fewer than bytes of the payload
}

func (f frame) append(b []byte) []byte {
	start := len(b)
	b = append(b, frameMark...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(f.payload))) //nolint:gosec // bounded by maxLargePayload
	b = append(b, 0, 0, 0, 0)
	b = append(b, f.link[:]...)
	b = f.appendFacts(b)
	b = append(b, f.payload...)
	sum := frameSum(b[start:])
	binary.LittleEndian.PutUint32(b[start+8:], sum)
	return b
}

// records decodes the payload.
func (f frame) records() ([]Record, error) {
	bodies, err := decodePayload(f.payload)
	if err != nil {
		return nil, err
	}
	if len(bodies) != f.count {
		return nil, fmt.Errorf("decode records: got %d, want %d", len(bodies), f.count)
	}
	return f.number(bodies), nil
}

// frameOf returns a commit of records of one time without a gap between their numbers, without its link.
func frameOf(records []Record) (frame, error) {
	bodies := make([]Body, len(records))
	for i, r := range records {
		bodies[i] = r.Body
	}
	elements, err := encodeBodies(bodies)
	return frame{seq: records[0].Seq, time: records[0].Time.UnixNano(), count: len(records), payload: payloadOf(elements)}, err
}

// number gives bodies the numbers and the time of the frame.
func (f frame) number(bodies []Body) []Record {
	at := time.Unix(0, f.time).UTC()
	records := make([]Record, len(bodies))
	for i, b := range bodies {
		records[i] = Record{Seq: f.seq + uint64(i), Time: at, Body: b} //nolint:gosec // an index
	}
	return records
}

func frameSum(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[4:8], castagnoli), castagnoli, b[12:])
}

// readFrame reads one frame with a payload of at most limit bytes. It returns io.EOF at a clean end, errShort if r ends inside the
// frame, errFrame if the bytes are not a frame, and errors of r unchanged. The payload belongs to the caller.
func readFrame(r io.Reader, limit int) (frame, error) {
	var head [frameHead]byte
	n, err := io.ReadFull(r, head[:])
	switch {
	case errors.Is(err, io.EOF):
		return frame{}, io.EOF
	case errors.Is(err, io.ErrUnexpectedEOF):
		return frame{}, fmt.Errorf("%w: got %d bytes of the head", errShort, n)
	case err != nil:
		return frame{}, err
	}
	length, err := payloadLength(head[:], limit)
	if err != nil {
		return frame{}, err
	}
	whole := make([]byte, frameHead+length)
	copy(whole, head[:])
	n, err = io.ReadFull(r, whole[frameHead:])
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return frame{}, fmt.Errorf("%w: got %d of %d payload bytes", errShort, n, length)
	}
	if err != nil {
		return frame{}, err
	}
	return parseFrame(whole)
}

// payloadLength returns the length of the payload that a frame's head states.
func payloadLength(head []byte, limit int) (int, error) {
	if !bytes.Equal(head[:4], frameMark) {
		return 0, fmt.Errorf("%w: got mark % x, want % x", errFrame, head[:4], frameMark)
	}
	length := int64(binary.LittleEndian.Uint32(head[4:]))
	if length == 0 || length > int64(limit) {
		return 0, fmt.Errorf("%w: got a payload of %d bytes, want 1 to %d", errFrame, length, limit)
	}
	return int(length), nil
}

// parseFrame checks the bytes of a whole frame. The payload of the result is a part of b.
func parseFrame(b []byte) (frame, error) {
	if got, want := frameSum(b), binary.LittleEndian.Uint32(b[8:]); got != want {
		return frame{}, fmt.Errorf("%w: got CRC-32C %08x, want %08x", errFrame, got, want)
	}
	f := frame{
		link:    [sha256.Size]byte(b[12:]),
		seq:     binary.LittleEndian.Uint64(b[44:]),
		time:    int64(binary.LittleEndian.Uint64(b[52:])), //nolint:gosec // two's complement, as written
		count:   int(binary.LittleEndian.Uint32(b[60:])),
		payload: b[frameHead:],
	}
	if f.count == 0 || f.seq == 0 || f.last() < f.seq {
		return frame{}, fmt.Errorf("%w: got %d records from %d on", errFrame, f.count, f.seq)
	}
	return f, nil
}

// findFrame returns the first valid frame in b and its offset, or -1 if there is none. The payload of the frame is a part of b.
func findFrame(b []byte, limit int) (frame, int) {
	for at := 0; ; at++ {
		i := bytes.Index(b[at:], frameMark)
		if i < 0 || len(b)-at-i < frameHead {
			return frame{}, -1
		}
		at += i
		length, err := payloadLength(b[at:], limit)
		if err != nil || len(b)-at < frameHead+length {
			continue
		}
		if f, err := parseFrame(b[at : at+frameHead+length]); err == nil {
			return f, at
		}
	}
}
