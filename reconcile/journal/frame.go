package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A frame is one commit on disk, integers little-endian:
//
//	0   4  mark, FF 4A 52 4E
//	4   4  length of the payload
//	8   4  CRC-32C (Castagnoli) of bytes 4 to 8 and of everything from 12 on
//	12  32 link, SHA-256(link of the commit before, payload)
//	44  .. payload, JSON
type frame struct {
	link    [sha256.Size]byte
	payload []byte
}

const (
	frameHead  = 44
	maxPayload = 2 * maxCall // a batch ends at maxCall; the rest is room for its last call
)

// frameMark begins with a byte that no UTF-8 text holds, so that it cannot occur inside a payload.
var frameMark = []byte{0xff, 'J', 'R', 'N'}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var (
	errShort = errors.New("frame ends early")
	errFrame = errors.New("not a frame")
)

// next returns the frame that carries payload after link.
func nextFrame(link [sha256.Size]byte, payload []byte) frame {
	h := sha256.New()
	h.Write(link[:])
	h.Write(payload)
	f := frame{payload: payload}
	h.Sum(f.link[:0])
	return f
}

// follows says whether f is what comes after link.
func (f frame) follows(link [sha256.Size]byte) bool { return nextFrame(link, f.payload).link == f.link }

func (f frame) size() int64 { return int64(frameHead + len(f.payload)) }

func (f frame) append(b []byte) []byte {
	start := len(b)
	b = append(b, frameMark...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(f.payload))) //nolint:gosec // bounded by maxPayload
	b = append(b, 0, 0, 0, 0)
	b = append(b, f.link[:]...)
	b = append(b, f.payload...)
	sum := frameSum(b[start:])
	binary.LittleEndian.PutUint32(b[start+8:], sum)
	return b
}

func frameSum(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[4:8], castagnoli), castagnoli, b[12:])
}

// readFrame reads one frame. It returns io.EOF at a clean end, errShort when r ends inside the frame, errFrame when the
// bytes are no frame, and errors of r as they are. The payload is the caller's.
func readFrame(r io.Reader) (frame, error) {
	var head [frameHead]byte
	n, err := io.ReadFull(r, head[:])
	switch {
	case errors.Is(err, io.EOF):
		return frame{}, io.EOF
	case errors.Is(err, io.ErrUnexpectedEOF):
		return frame{}, fmt.Errorf("%w: got %d bytes of its head", errShort, n)
	case err != nil:
		return frame{}, err
	}
	if !bytes.Equal(head[:4], frameMark) {
		return frame{}, fmt.Errorf("%w: got mark % x, want % x", errFrame, head[:4], frameMark)
	}
	length := binary.LittleEndian.Uint32(head[4:])
	if length == 0 || length > maxPayload {
		return frame{}, fmt.Errorf("%w: got a payload of %d bytes, want 1 to %d", errFrame, length, maxPayload)
	}
	whole := make([]byte, frameHead+int(length))
	copy(whole, head[:])
	n, err = io.ReadFull(r, whole[frameHead:])
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return frame{}, fmt.Errorf("%w: got %d of %d payload bytes", errShort, n, length)
	}
	if err != nil {
		return frame{}, err
	}
	if got, want := frameSum(whole), binary.LittleEndian.Uint32(head[8:]); got != want {
		return frame{}, fmt.Errorf("%w: got CRC-32C %08x, want %08x", errFrame, got, want)
	}
	return frame{link: [sha256.Size]byte(head[12:]), payload: whole[frameHead:]}, nil
}

// findFrame returns the first valid frame in b and its offset, or -1 when there is none.
func findFrame(b []byte) (frame, int) {
	for at := 0; ; at++ {
		i := bytes.Index(b[at:], frameMark)
		if i < 0 {
			return frame{}, -1
		}
		at += i
		if f, err := readFrame(bytes.NewReader(b[at:])); err == nil {
			return f, at
		}
	}
}
