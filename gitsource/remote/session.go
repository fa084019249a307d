package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"gitops-agent/gitsource/packs"
)

// A Session is one exchange with upload-pack on a remote: the refs, then at most one pack. It is used instead of go-git's transports, so that every read obeys
// the context and the byte limit, redirects to other hosts are refused, and neither ssh_config nor a process-wide table of protocols is read.
type Session interface {
	refs(ctx context.Context) (io.Reader, error)
	// send sends a request, and returns what follows. The last request asks for the pack.
	send(ctx context.Context, request []byte, last bool) (io.Reader, error)
	End() (message string) // closes everything and returns what the remote wrote to stderr, if anything
}

// protocol is what asks a server for version 2, in a header or in the environment.
//
// Source: gitprotocol-v2(5), gitprotocol-http(5).
const protocol = "version=2"

// Dial begins a session that may read *remaining bytes.
func (r Remote) Dial(ctx context.Context, remaining *int64) (Session, error) {
	switch r.scheme {
	case "file":
		return dialFile(ctx, r, remaining)
	case "ssh":
		return dialSSH(ctx, r, remaining)
	default:
		return dialHTTP(r, remaining)
	}
}

// RequestPack requests all objects that are reachable from want and not from haves. It returns the pack as a stream.
func RequestPack(ctx context.Context, s Session, a Advertisement, want plumbing.Hash, haves []plumbing.Hash) (io.Reader, error) {
	request := requestV0(a, want, haves)
	if a.v2 {
		request = requestV2(want, haves)
	}
	stream, err := s.send(ctx, request, true)
	if err != nil {
		return nil, fmt.Errorf("request pack: %w", err)
	}
	a.in.follow(stream)
	if a.v2 {
		if err := a.skipToPack(); err != nil {
			return nil, fmt.Errorf("read reply: %w", unexpectedEOF(err))
		}
		return &sideband{from: a.in}, nil
	}
	pack, err := a.packV0(len(haves) + maxAnswers)
	if err != nil {
		return nil, fmt.Errorf("read reply: %w", unexpectedEOF(err))
	}
	return pack, nil
}

// skipToPack reads up to the section with the pack. A shallow repository sends a section before it.
func (a Advertisement) skipToPack() error {
	for range maxRefs {
		line, err := a.in.line()
		switch {
		case errors.Is(err, errFlush): // a section ends
		case err != nil:
			return err
		case line == "packfile":
			return nil
		case line != "shallow-info" && !strings.HasPrefix(line, "shallow ") && !strings.HasPrefix(line, "unshallow "):
			return fmt.Errorf("got %.100q, want the pack", line)
		}
	}
	return fmt.Errorf("shallow commits: %w of %d", packs.ErrTooLarge, maxRefs)
}

// requestV2 is a request in protocol version 2.
func requestV2(want plumbing.Hash, haves []plumbing.Hash) []byte {
	request := appendPacket(nil, "command=fetch\n")
	request = append(request, delimPacket...)
	request = appendPacket(request, "ofs-delta\n")
	request = appendPacket(request, "no-progress\n")
	request = appendPacket(request, "want %s\n", want)
	return append(endRequest(request, haves), flushPacket...)
}

// requestV0 is a request in protocol version 0.
func requestV0(a Advertisement, want plumbing.Hash, haves []plumbing.Hash) []byte {
	var capabilities strings.Builder
	if a.sideband {
		capabilities.WriteString(" side-band-64k no-progress")
	}
	if a.ofsDelta {
		capabilities.WriteString(" ofs-delta")
	}
	request := append(appendPacket(nil, "want %s%s\n", want, capabilities.String()), flushPacket...)
	return endRequest(request, haves)
}

// endRequest adds what the client has, and that it has nothing more to say.
func endRequest(request []byte, haves []plumbing.Hash) []byte {
	for _, h := range haves {
		request = appendPacket(request, "have %s\n", h)
	}
	return appendPacket(request, "done\n")
}

// maxAnswers bounds the answers to the haves in protocol version 0, above one for each. Some servers repeat an answer.
const maxAnswers = 10

// packV0 reads the answers to the haves, and returns the pack behind them.
func (a Advertisement) packV0(most int) (io.Reader, error) {
	for n := 0; ; n++ {
		start, err := a.in.in.Peek(8)
		if err != nil && (!errors.Is(err, io.EOF) || len(start) == 0) {
			return nil, err
		}
		text := start[min(len(start), 4):]
		isAnswer := bytes.HasPrefix(text, []byte("NAK")) || bytes.HasPrefix(text, []byte("ACK ")) || bytes.HasPrefix(text, []byte("ERR "))
		switch {
		case !isAnswer && n > 0 && a.sideband:
			return &sideband{from: a.in}, nil
		case !isAnswer && n > 0:
			return a.in.in, nil
		case !isAnswer:
			return nil, fmt.Errorf("got %q before an answer", start)
		case n == most:
			return nil, errors.New("the remote repeats its answers")
		}
		if _, err := a.in.next(); err != nil {
			return nil, err
		}
		if _, err := a.in.in.Peek(1); errors.Is(err, io.EOF) {
			return a.in.in, nil // without a pack
		}
	}
}

// A prefixWriter stores the first max bytes that are written to it and drops the rest.
type prefixWriter struct {
	kept *bytes.Buffer
	max  int
}

func (w *prefixWriter) Write(p []byte) (int, error) {
	if room := w.max - w.kept.Len(); room > 0 {
		w.kept.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
