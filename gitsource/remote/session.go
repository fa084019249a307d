package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gitops-agent/gitsource/fault"
	"gitops-agent/gitsource/packs"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
)

// A Session is one exchange with upload-pack on a remote, in protocol version 0: the refs, then at most one pack. It is
// used instead of go-git's transports, so that every read obeys the context and the byte limit, redirects to other hosts
// are refused, and neither ssh_config nor a process-wide table of protocols is read.
type Session interface {
	refs(ctx context.Context) (io.Reader, error)
	pack(ctx context.Context, request []byte) (io.Reader, error)
	End() (message string) // closes everything and returns what the remote wrote to stderr, if anything
}

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

// sha256Capability is protocol text: a server announces it in the first line of the refs if its repository uses SHA-256.
// Source: gitprotocol-capabilities, object-format.
const sha256Capability = "object-format=sha256"

// An Advertisement contains the refs and the capabilities that a remote announces.
type Advertisement struct {
	Refs         map[string]plumbing.Hash
	capabilities *capability.List
}

// ReadAdvertisement reads the refs. It returns a *FormatError for a SHA-256 repository.
func ReadAdvertisement(ctx context.Context, s Session) (Advertisement, error) {
	stream, err := s.refs(ctx)
	if err != nil {
		return Advertisement{}, err
	}
	var start bytes.Buffer
	adv := packp.NewAdvRefs()
	err = adv.Decode(io.TeeReader(stream, &prefixWriter{&start, 8 << 10}))
	switch {
	case bytes.Contains(start.Bytes(), []byte(sha256Capability)):
		return Advertisement{}, &FormatError{"the remote is a SHA-256 repository: only SHA-1 is supported", SHA256Remedy}
	case errors.Is(err, packp.ErrEmptyAdvRefs):
		return Advertisement{}, fault.New(fault.NotFound, errors.New("the remote repository is empty"))
	case errors.Is(err, packp.ErrEmptyInput):
		return Advertisement{}, errors.New("the remote sent nothing")
	case err != nil:
		return Advertisement{}, fmt.Errorf("read refs: %w", err)
	}
	return Advertisement{adv.References, adv.Capabilities}, nil
}

// Branch returns the commit that a branch points at.
func (a Advertisement) Branch(name string) (plumbing.Hash, error) {
	if h, ok := a.Refs["refs/heads/"+name]; ok && !h.IsZero() {
		return h, nil
	}
	var others []string
	for ref := range a.Refs {
		if b, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
			others = append(others, b)
		}
	}
	slices.Sort(others)
	const most = 5
	has := "it has no branch at all"
	switch n := len(others); {
	case n > most:
		has = fmt.Sprintf("it has %s and %d more", strings.Join(others[:most], ", "), n-most)
	case n > 0:
		has = "it has " + strings.Join(others, ", ")
	}
	if _, isTag := a.Refs["refs/tags/"+name]; isTag {
		has += "; a tag has this name"
	}
	return plumbing.ZeroHash, fault.New(fault.NotFound, fmt.Errorf("the remote has no branch %q: %s", name, has))
}

// Tag returns the object that a tag points at.
func (a Advertisement) Tag(name string) (plumbing.Hash, error) {
	if h, ok := a.Refs["refs/tags/"+name]; ok && !h.IsZero() {
		return h, nil
	}
	return plumbing.ZeroHash, fmt.Errorf("the remote has no tag %q: %w", name, packs.ErrNotFound)
}

// Notes returns where a ref with notes points, or "".
func (a Advertisement) Notes(ref string) string {
	if h, ok := a.Refs[ref]; ok && !h.IsZero() {
		return h.String()
	}
	return ""
}

// RequestPack requests all objects that are reachable from want and not from haves. It returns the pack as a stream.
func RequestPack(ctx context.Context, s Session, a Advertisement, want plumbing.Hash, haves []plumbing.Hash) (io.Reader, error) {
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
