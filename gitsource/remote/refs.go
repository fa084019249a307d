package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"gitops-agent/gitsource/fault"
	"gitops-agent/gitsource/packs"
)

const (
	// maxAdvertisement bounds the bytes of a list of refs. In protocol version 2 the list has only refs that were asked for.
	maxAdvertisement = 64 << 20
	maxRefs          = 1_000_000
	maxOthers        = 1000 // branches that are remembered for the message that a branch does not exist
	maxRefName       = 1024 // bytes of the name of a branch that is remembered
	maxCapabilities  = 1000 // lines
)

// sha256Capability is protocol text: a server announces it if its repository uses SHA-256.
// Source: gitprotocol-capabilities, object-format.
const sha256Capability = "object-format=sha256"

// An Advertisement has the refs of a remote that were asked for, if the remote has them. It has other branches only if a branch is missing.
type Advertisement struct {
	Refs map[string]plumbing.Hash

	others   int // branches in Refs that were not asked for
	v2       bool
	sideband bool
	ofsDelta bool
	in       *packets
}

// ReadRefs asks for refs by their full names. It uses protocol version 2, in which a server sends only these, and version 0 with a server that does not know it.
// It returns a *FormatError for a SHA-256 repository, and ErrTooLarge for a list above a limit.
func ReadRefs(ctx context.Context, s Session, names ...string) (Advertisement, error) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "" }) // an empty prefix would ask for all refs
	stream, err := s.refs(ctx)
	if err != nil {
		return Advertisement{}, err
	}
	a := Advertisement{Refs: map[string]plumbing.Hash{}, in: newPackets(&boundedReader{stream, maxAdvertisement})}
	first, err := a.in.line()
	if err == nil && strings.HasPrefix(first, "# service=") {
		if first, err = a.in.line(); errors.Is(err, errFlush) {
			first, err = a.in.line()
		}
	}
	switch {
	case errors.Is(err, io.EOF):
		return Advertisement{}, errors.New("the remote sent nothing")
	case errors.Is(err, errFlush):
		return Advertisement{}, emptyRepository()
	case err != nil:
		return Advertisement{}, fmt.Errorf("read refs: %w", err)
	}
	if first == "version 2" {
		err = a.readV2(ctx, s, names)
	} else {
		if first == "version 1" {
			first, err = a.in.line()
		}
		if err == nil {
			err = a.readV0(first, names)
		}
	}
	if err != nil {
		return Advertisement{}, err
	}
	return a, nil
}

func emptyRepository() error {
	return fault.New(fault.NotFound, errors.New("the remote repository is empty"))
}

func sha256Error() error {
	return &FormatError{"the remote is a SHA-256 repository: only SHA-1 is supported", SHA256Remedy}
}

// readV0 reads the list of all refs. It keeps few of them.
func (a *Advertisement) readV0(line string, names []string) error {
	line, capabilities, _ := strings.Cut(line, "\x00")
	for c := range strings.FieldsSeq(capabilities) {
		switch c {
		case "side-band-64k":
			a.sideband = true
		case "ofs-delta":
			a.ofsDelta = true
		case sha256Capability:
			return sha256Error()
		}
	}
	for n := 0; ; n++ {
		id, name, found := strings.Cut(line, " ")
		switch {
		case n == maxRefs:
			return fmt.Errorf("read refs: %w of %d refs", packs.ErrTooLarge, maxRefs)
		case strings.HasPrefix(line, "shallow "):
		case !found || !plumbing.IsHash(id):
			return fmt.Errorf("read refs: got the line %.100q", line)
		case name == "capabilities^{}":
			return emptyRepository()
		default:
			a.add(id, name, names)
		}
		var err error
		if line, err = a.in.line(); err != nil {
			if errors.Is(err, errFlush) {
				return nil
			}
			return fmt.Errorf("read refs: %w", unexpectedEOF(err))
		}
	}
}

// add notes a ref that was asked for, or one of some branches.
func (a *Advertisement) add(id, name string, names []string) {
	if !slices.Contains(names, name) {
		if len(name) > maxRefName || a.others == maxOthers || !strings.HasPrefix(name, "refs/heads/") && !slices.Contains(names, strings.Replace(name, "refs/tags/", "refs/heads/", 1)) {
			return
		}
		a.others++
	}
	a.Refs[strings.Clone(name)] = plumbing.NewHash(id) // a line may be long
}

// readV2 reads the capabilities and asks for the refs. If there is no such branch, it asks for the others.
func (a *Advertisement) readV2(ctx context.Context, s Session, names []string) error {
	a.v2, a.sideband, a.ofsDelta = true, true, true
	for n := 0; ; n++ {
		line, err := a.in.line()
		switch {
		case errors.Is(err, errFlush):
			return a.askV2(ctx, s, names)
		case err != nil:
			return fmt.Errorf("read capabilities: %w", unexpectedEOF(err))
		case line == sha256Capability:
			return sha256Error()
		case n == maxCapabilities:
			return fmt.Errorf("read capabilities: %w of %d", packs.ErrTooLarge, maxCapabilities)
		}
	}
}

func (a *Advertisement) askV2(ctx context.Context, s Session, names []string) error {
	if _, err := a.listRefs(ctx, s, names, names); err != nil {
		return err
	}
	for _, name := range names {
		if _, found := a.Refs[name]; found || !strings.HasPrefix(name, "refs/heads/") {
			continue
		}
		count, err := a.listRefs(ctx, s, []string{"refs/heads/", "refs/tags/" + strings.TrimPrefix(name, "refs/heads/")}, names)
		if err == nil && count == 0 {
			count, err = a.listRefs(ctx, s, []string{"refs/"}, names)
		}
		if err != nil {
			return err
		}
		if count == 0 {
			return emptyRepository()
		}
	}
	return nil
}

// listRefs asks for the refs that begin with prefixes, and returns how many the remote named.
//
// Source: gitprotocol-v2(5), ls-refs.
func (a *Advertisement) listRefs(ctx context.Context, s Session, prefixes, names []string) (int, error) {
	request := appendPacket(nil, "command=ls-refs\n")
	request = append(request, delimPacket...)
	for _, prefix := range prefixes {
		request = appendPacket(request, "ref-prefix %s\n", prefix)
	}
	stream, err := s.send(ctx, append(request, flushPacket...), false)
	if err != nil {
		return 0, fmt.Errorf("ask for refs: %w", err)
	}
	a.in.follow(&boundedReader{stream, maxAdvertisement})
	for n := 0; ; n++ {
		line, err := a.in.line()
		if errors.Is(err, errFlush) {
			return n, nil
		}
		if err != nil {
			return 0, fmt.Errorf("read refs: %w", unexpectedEOF(err))
		}
		id, name, found := strings.Cut(line, " ")
		name, _, _ = strings.Cut(name, " ") // attributes follow
		switch {
		case n == maxRefs:
			return 0, fmt.Errorf("read refs: %w of %d refs", packs.ErrTooLarge, maxRefs)
		case id == "unborn":
		case !found || !plumbing.IsHash(id):
			return 0, fmt.Errorf("read refs: got the line %.100q", line)
		default:
			a.add(id, name, names)
		}
	}
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
	case n >= maxOthers:
		has = fmt.Sprintf("it has %s and more than %d more", strings.Join(others[:most], ", "), maxOthers-most-1)
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

// A boundedReader returns ErrTooLarge after some bytes.
type boundedReader struct {
	r    io.Reader
	left int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the list of refs is %w of %d MiB", packs.ErrTooLarge, maxAdvertisement>>20)
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
