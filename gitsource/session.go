package gitsource

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
)

// A session is one exchange with upload-pack on a remote, in protocol version 0: the refs, then at most one pack. It is
// used instead of go-git's transports, so that every read obeys the context and the byte limit, redirects to other hosts
// are refused, and neither ssh_config nor a process-wide table of protocols is read.
type session interface {
	refs(ctx context.Context) (io.Reader, error)
	pack(ctx context.Context, request []byte) (io.Reader, error)
	end() (message string) // closes everything and returns what the remote wrote to stderr, if anything
}

// dial begins a session that may read *remaining bytes.
func (r remote) dial(ctx context.Context, remaining *int64) (session, error) {
	switch r.scheme {
	case "file":
		return dialFile(ctx, r, remaining)
	case "ssh":
		return dialSSH(ctx, r, remaining)
	default:
		return dialHTTP(r, remaining)
	}
}

// sha256Capability is protocol text: a server announces it in the first line of the refs if its repository uses SHA-256.
// Source: gitprotocol-capabilities, object-format.
const sha256Capability = "object-format=sha256"

// An advertisement contains the refs and the capabilities that a remote announces.
type advertisement struct {
	refs         map[string]plumbing.Hash
	capabilities *capability.List
}

// readAdvertisement reads the refs. It returns an error for a SHA-256 repository.
func readAdvertisement(ctx context.Context, s session) (advertisement, error) {
	stream, err := s.refs(ctx)
	if err != nil {
		return advertisement{}, err
	}
	var start bytes.Buffer
	adv := packp.NewAdvRefs()
	err = adv.Decode(io.TeeReader(stream, &prefixWriter{&start, 8 << 10}))
	switch {
	case bytes.Contains(start.Bytes(), []byte(sha256Capability)):
		return advertisement{}, errors.New("the remote is a SHA-256 repository: only SHA-1 is supported")
	case errors.Is(err, packp.ErrEmptyAdvRefs):
		return advertisement{}, faultError{FaultNotFound, errors.New("the remote repository is empty")}
	case errors.Is(err, packp.ErrEmptyInput):
		return advertisement{}, errors.New("the remote sent nothing")
	case err != nil:
		return advertisement{}, fmt.Errorf("read refs: %w", err)
	}
	return advertisement{adv.References, adv.Capabilities}, nil
}

// branch returns the commit that a branch points at.
func (a advertisement) branch(name string) (plumbing.Hash, error) {
	if h, ok := a.refs["refs/heads/"+name]; ok && !h.IsZero() {
		return h, nil
	}
	var others []string
	for ref := range a.refs {
		if b, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
			others = append(others, b)
		}
	}
	slices.Sort(others)
	if len(others) > 5 {
		others = append(others[:5], "...")
	}
	return plumbing.ZeroHash, faultError{FaultNotFound, fmt.Errorf("the remote has no branch %q (it has %q)", name, others)}
}

// tag returns the object that a tag points at.
func (a advertisement) tag(name string) (plumbing.Hash, error) {
	if h, ok := a.refs["refs/tags/"+name]; ok && !h.IsZero() {
		return h, nil
	}
	return plumbing.ZeroHash, fmt.Errorf("the remote has no tag %q: %w", name, ErrNotFound)
}

// notes returns where a ref with notes points, or "".
func (a advertisement) notes(ref string) ID {
	if h, ok := a.refs[ref]; ok && !h.IsZero() {
		return ID(h.String())
	}
	return ""
}

// requestPack requests all objects that are reachable from want and not from haves. It returns the pack as a stream.
func requestPack(ctx context.Context, s session, a advertisement, want plumbing.Hash, haves []plumbing.Hash) (io.Reader, error) {
	req := packp.NewUploadPackRequest()
	req.Wants, req.Haves = []plumbing.Hash{want}, haves
	for _, c := range []capability.Capability{capability.Sideband64k, capability.OFSDelta, capability.NoProgress} {
		if a.capabilities.Supports(c) {
			if err := req.Capabilities.Set(c); err != nil {
				return nil, fmt.Errorf("request pack: %w", err)
			}
		}
	}
	var body bytes.Buffer
	if err := encodeRequest(&body, req); err != nil {
		return nil, fmt.Errorf("request pack: %w", err)
	}
	stream, err := s.pack(ctx, body.Bytes())
	if err != nil {
		return nil, fmt.Errorf("request pack: %w", err)
	}
	reply := packp.NewUploadPackResponse(req)
	if err := reply.Decode(io.NopCloser(stream)); err != nil {
		return nil, fmt.Errorf("read reply: %w", err)
	}
	if req.Capabilities.Supports(capability.Sideband64k) {
		return sideband.NewDemuxer(sideband.Sideband64k, reply), nil
	}
	return reply, nil
}

// encodeRequest writes the request as upload-pack reads it: the wants, the haves, and "done".
func encodeRequest(w io.Writer, req *packp.UploadPackRequest) error {
	if err := req.UploadRequest.Encode(w); err != nil {
		return err
	}
	if err := req.UploadHaves.Encode(w, false); err != nil {
		return err
	}
	return pktline.NewEncoder(w).EncodeString("done\n")
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
