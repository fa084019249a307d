package sigtest

import (
	"bytes"
	"cmp"
	"crypto/sha1" //nolint:gosec // git names objects by SHA-1
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
)

// EmptyTree is the id of the tree without entries.
const EmptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// Person is an author, committer or tagger. The zero Person is Alice <alice@example.org>.
type Person struct {
	Name, Email string
	When        time.Time // default: when the object is signed
}

// Header is a further header of a commit, such as encoding or mergetag. A value of several lines is folded as git folds it.
type Header struct{ Name, Value string }

// CommitSpec describes a commit.
type CommitSpec struct {
	Tree              string   // 40 hex digits. Default: EmptyTree
	Parents           []string // 40 hex digits each
	Author, Committer Person
	Headers           []Header // after the committer
	Message           string   // a final newline is added if there is none
}

// TagSpec describes an annotated tag.
type TagSpec struct {
	Object  string // 40 hex digits
	Type    string // of the object. Default: commit
	Name    string
	Tagger  Person
	Message string // a final newline is added if there is none
}

// Commit creates and signs a commit. It returns the raw object as git cat-file prints it, and its id.
func (s *Sigstore) Commit(spec CommitSpec, id Identity, opts SignOptions) (raw []byte, sha string, err error) {
	opts = opts.withDefaults()
	raw, err = s.SignCommit(spec.Payload(opts.At), id, opts)
	if err != nil {
		return nil, "", err
	}
	return raw, ObjectID("commit", raw), nil
}

// Tag creates and signs an annotated tag. It returns the raw object and its id.
func (s *Sigstore) Tag(spec TagSpec, id Identity, opts SignOptions) (raw []byte, sha string, err error) {
	opts = opts.withDefaults()
	raw, err = s.SignTag(spec.Payload(opts.At), id, opts)
	if err != nil {
		return nil, "", err
	}
	return raw, ObjectID("tag", raw), nil
}

// SignCommit signs a raw commit that is not signed yet.
func (s *Sigstore) SignCommit(payload []byte, id Identity, opts SignOptions) ([]byte, error) {
	signature, err := s.Sign(payload, id, opts)
	if err != nil {
		return nil, err
	}
	return AttachToCommit(payload, signature)
}

// SignTag signs a raw annotated tag that is not signed yet.
func (s *Sigstore) SignTag(payload []byte, id Identity, opts SignOptions) ([]byte, error) {
	signature, err := s.Sign(payload, id, opts)
	if err != nil {
		return nil, err
	}
	return append(payload[:len(payload):len(payload)], signature...), nil
}

// AttachToCommit adds an armored signature of any kind to a raw commit, as the last header, as git does. It returns an error if the commit has
// no empty line after its headers.
func AttachToCommit(payload, signature []byte) ([]byte, error) {
	headers, message, found := bytes.Cut(payload, []byte("\n\n"))
	if !found {
		return nil, errors.New("attach signature: commit has no empty line after its headers")
	}
	var out bytes.Buffer
	out.Write(headers)
	out.WriteByte('\n')
	writeHeader(&out, Header{"gpgsig", strings.TrimSuffix(string(signature), "\n")})
	out.WriteByte('\n')
	out.Write(message)
	return out.Bytes(), nil
}

// ObjectID returns the id of a raw git object of a type: commit, tag, tree or blob.
func ObjectID(kind string, raw []byte) string {
	sum := sha1.Sum(append(fmt.Appendf(nil, "%s %d\x00", kind, len(raw)), raw...)) //nolint:gosec // as above
	return hex.EncodeToString(sum[:])
}

// Payload returns the raw commit without a signature. at is the time of each person whose time is not set.
func (c CommitSpec) Payload(at time.Time) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "tree %s\n", cmp.Or(c.Tree, EmptyTree))
	for _, parent := range c.Parents {
		fmt.Fprintf(&out, "parent %s\n", parent)
	}
	fmt.Fprintf(&out, "author %s\ncommitter %s\n", c.Author.line(at), c.Committer.line(at))
	for _, h := range c.Headers {
		writeHeader(&out, h)
	}
	out.WriteString("\n" + endLine(c.Message))
	return out.Bytes()
}

// Payload returns the raw tag without a signature. at is the time of the tagger if its own time is not set.
func (t TagSpec) Payload(at time.Time) []byte {
	return fmt.Appendf(nil, "object %s\ntype %s\ntag %s\ntagger %s\n\n%s",
		t.Object, cmp.Or(t.Type, "commit"), t.Name, t.Tagger.line(at), endLine(t.Message))
}

// line returns a person as git writes it.
func (p Person) line(at time.Time) string {
	if !p.When.IsZero() {
		at = p.When
	}
	return fmt.Sprintf("%s <%s> %d %s", cmp.Or(p.Name, "Alice"), cmp.Or(p.Email, "alice@example.org"), at.Unix(), at.Format("-0700"))
}

func writeHeader(out *bytes.Buffer, h Header) {
	fmt.Fprintf(out, "%s %s\n", h.Name, strings.ReplaceAll(h.Value, "\n", "\n "))
}

func endLine(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
