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

// A session is one conversation with upload-pack on a remote, in protocol version 0: the refs, then at most one pack.
// Transports are driven from here rather than through go-git's, so that every read obeys the context and the
// allowance, no host is followed elsewhere, and neither ssh_config nor a process-wide table of protocols has a say.
type session interface {
	refs(ctx context.Context) (io.Reader, error)
	pack(ctx context.Context, request []byte) (io.Reader, error)
	end() (said string) // closes everything and returns what the remote wrote for people, if anything
}

// dial begins a session that may read as many bytes as left holds.
func (r remote) dial(ctx context.Context, left *int64) (session, error) {
	switch r.scheme {
	case "file":
		return dialFile(ctx, r, left)
	case "ssh":
		return dialSSH(ctx, r, left)
	default:
		return dialHTTP(r, left)
	}
}

// An advert is what a remote offers.
type advert struct {
	refs  map[string]plumbing.Hash
	speak *capability.List
}

// readAdvert reads the refs. A SHA-256 repository is recognised by what its first line announces.
func readAdvert(ctx context.Context, s session) (advert, error) {
	stream, err := s.refs(ctx)
	if err != nil {
		return advert{}, err
	}
	var start bytes.Buffer
	adv := packp.NewAdvRefs()
	err = adv.Decode(io.TeeReader(stream, &prefixWriter{&start, 8 << 10}))
	switch {
	case bytes.Contains(start.Bytes(), []byte("object-format=sha256")):
		return advert{}, errors.New("the remote is a SHA-256 repository: only SHA-1 is supported")
	case errors.Is(err, packp.ErrEmptyAdvRefs):
		return advert{}, errors.New("the remote repository is empty")
	case errors.Is(err, packp.ErrEmptyInput):
		return advert{}, errors.New("the remote sent nothing")
	case err != nil:
		return advert{}, fmt.Errorf("read refs: %w", err)
	}
	return advert{adv.References, adv.Capabilities}, nil
}

// branch returns the commit that a branch is at.
func (a advert) branch(name string) (plumbing.Hash, error) {
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
	return plumbing.ZeroHash, fmt.Errorf("the remote has no branch %q (it has %q)", name, others)
}

// tag returns what a tag points at.
func (a advert) tag(name string) (plumbing.Hash, error) {
	if h, ok := a.refs["refs/tags/"+name]; ok && !h.IsZero() {
		return h, nil
	}
	return plumbing.ZeroHash, fmt.Errorf("the remote has no tag %q: %w", name, ErrNotFound)
}

// requestPack asks for want and all it needs beyond haves, and returns the pack as it arrives.
func requestPack(ctx context.Context, s session, a advert, want plumbing.Hash, haves []plumbing.Hash) (io.Reader, error) {
	req := packp.NewUploadPackRequest()
	req.Wants, req.Haves = []plumbing.Hash{want}, haves
	for _, c := range []capability.Capability{capability.Sideband64k, capability.OFSDelta, capability.NoProgress} {
		if a.speak.Supports(c) {
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

func encodeRequest(w io.Writer, req *packp.UploadPackRequest) error {
	if err := req.UploadRequest.Encode(w); err != nil {
		return err
	}
	if err := req.UploadHaves.Encode(w, false); err != nil {
		return err
	}
	return pktline.NewEncoder(w).EncodeString("done\n")
}

// A prefixWriter keeps the first bytes that are written to it.
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
