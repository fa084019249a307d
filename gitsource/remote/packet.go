package remote

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"gitops-agent/gitsource/packs"
)

// The packets of git's protocol that have no content.
//
// Source: gitprotocol-common(5), gitprotocol-v2(5).
const (
	flushPacket = "0000"
	delimPacket = "0001"
)

const (
	maxPacket    = 65520 // bytes, with the length in front
	packetHeader = 5     // bytes: the length, and the number of the stream
)

// errFlush means that a packet has no content.
var errFlush = errors.New("a packet without content")

// packets reads packets from a remote.
type packets struct {
	in  *bufio.Reader
	buf []byte
}

func newPackets(r io.Reader) *packets { return &packets{in: bufio.NewReaderSize(r, 32<<10)} }

// follow reads the next reply, which is in the same stream or in another one. A server sends nothing between its replies.
func (p *packets) follow(r io.Reader) { p.in.Reset(r) }

// next returns the content of the next packet, which is valid until the next call, or errFlush. A message about an error is returned as an error.
func (p *packets) next() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(p.in, head[:]); err != nil {
		return nil, err
	}
	n, err := strconv.ParseUint(string(head[:]), 16, 16)
	switch {
	case err != nil, n > maxPacket, n == 3:
		return nil, fmt.Errorf("got a packet that begins with %q", head)
	case n < 3:
		return nil, errFlush
	}
	n -= 4
	if p.buf == nil {
		p.buf = make([]byte, maxPacket)
	}
	content := p.buf[:n]
	if _, err := io.ReadFull(p.in, content); err != nil {
		return nil, unexpectedEOF(err)
	}
	if message, found := bytes.CutPrefix(content, []byte("ERR ")); found {
		return nil, fmt.Errorf("the remote reports: %s", bytes.TrimSpace(message[:min(len(message), maxMessage)]))
	}
	return content, nil
}

// line returns the next packet as a line of text.
func (p *packets) line() (string, error) {
	content, err := p.next()
	return string(bytes.TrimSuffix(content, []byte("\n"))), err
}

// sideband is the first stream of what a remote sends: the pack. It drops the second one, which has progress, and returns the third one as an error.
type sideband struct {
	from     *packets
	left     []byte
	data     int64 // bytes of the pack
	overhead int64 // bytes of headers of packets, and of progress
}

// Read implements io.Reader.
func (s *sideband) Read(p []byte) (int, error) {
	for len(s.left) == 0 {
		content, err := s.from.next()
		switch {
		case errors.Is(err, errFlush):
			return 0, io.EOF
		case err != nil:
			return 0, unexpectedEOF(err)
		case len(content) == 0:
			return 0, errors.New("got a packet without a stream")
		}
		s.overhead += packetHeader
		switch content[0] {
		case 1:
			s.left = content[1:]
			s.data += int64(len(s.left))
		case 2:
			s.overhead += int64(len(content))
		case 3:
			return 0, fmt.Errorf("the remote reports: %s", bytes.TrimSpace(content[1:min(len(content), maxMessage)]))
		default:
			return 0, fmt.Errorf("got a packet of the stream %d", content[0])
		}
		if s.overhead > maxOverhead+s.data/8 { // each packet costs processor time
			return 0, fmt.Errorf("what the remote sends beside the pack is %w of %d MiB", packs.ErrTooLarge, maxOverhead>>20)
		}
	}
	n := copy(p, s.left)
	s.left = s.left[n:]
	return n, nil
}

func appendPacket(to []byte, format string, args ...any) []byte {
	text := fmt.Sprintf(format, args...)
	return fmt.Appendf(to, "%04x%s", len(text)+4, text)
}

func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
