package evidence

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"gitops-agent/gitsource"
	"gitops-agent/internal/bounds"
	"gitops-agent/verify"
)

// maxFile is the largest accepted file of evidence, in bytes: that of about 50,000 commits.
const maxFile = 256 << 20

// Set holds bundles by the SHA-256 of the id of their object, which is what a bundle names. It implements verify.Evidence.
type Set map[[sha256.Size]byte][][]byte

var _ verify.Evidence = Set{}

// Bundles returns the bundles about an object, one on each line.
func (s Set) Bundles(_ context.Context, id gitsource.ID) ([]byte, error) {
	return bytes.Join(s[keyOf(id)], []byte("\n")), nil
}

// Add adds a bundle about an object, unless the set has it.
func (s Set) Add(id gitsource.ID, bundle []byte) { s.add(keyOf(id), bundle) }

func (s Set) add(key [sha256.Size]byte, bundle []byte) {
	if !slices.ContainsFunc(s[key], func(known []byte) bool { return bytes.Equal(known, bundle) }) {
		s[key] = append(s[key], bundle)
	}
}

func keyOf(id gitsource.ID) [sha256.Size]byte { return sha256.Sum256([]byte(id)) }

// Read reads a set: one bundle on each line, and empty lines.
func Read(r io.Reader) (Set, error) {
	s := Set{}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), verify.MaxEvidence)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		key, err := subject(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		s.add(key, bytes.Clone(line))
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, fmt.Errorf("a line is longer than %d bytes", verify.MaxEvidence)
	}
	return s, lines.Err()
}

// bundleLimits are those of a bundle, and of the body of an entry in it.
var bundleLimits = bounds.JSON{Bytes: verify.MaxEvidence, Values: 5000, Elements: 1000, Depth: 32}

// subject returns the digest that a bundle is about.
func subject(bundle []byte) (key [sha256.Size]byte, err error) {
	var b struct {
		MessageSignature struct {
			MessageDigest struct {
				Digest []byte `json:"digest"`
			} `json:"messageDigest"`
		} `json:"messageSignature"`
	}
	if err := bundleLimits.Unmarshal(bundle, &b); err != nil {
		return key, fmt.Errorf("not a Sigstore bundle: %w", err)
	}
	if digest := b.MessageSignature.MessageDigest.Digest; len(digest) != len(key) {
		return key, errors.New("not a Sigstore bundle with the SHA-256 of an object's id")
	}
	return [sha256.Size]byte(b.MessageSignature.MessageDigest.Digest), nil
}

// ReadFile reads the set in a file.
func ReadFile(path string) (Set, error) {
	file, err := os.Open(path) //nolint:gosec // the user chooses the file
	if err != nil {
		return nil, fmt.Errorf("read evidence: %w", err)
	}
	defer func() { _ = file.Close() }()
	switch info, err := file.Stat(); {
	case err != nil:
		return nil, fmt.Errorf("read evidence: %w", err)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("read evidence: %s is larger than %d MiB", path, maxFile>>20)
	}
	s, err := Read(io.LimitReader(file, maxFile))
	if err != nil {
		return nil, fmt.Errorf("read evidence %s: %w", path, err)
	}
	return s, nil
}

// Append adds bundles to the end of a file, and creates it if it does not exist.
func Append(path string, bundles [][]byte) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // evidence is public, as the log is
	if err != nil {
		return fmt.Errorf("write evidence: %w", err)
	}
	var text bytes.Buffer
	for _, b := range bundles {
		text.Write(b)
		text.WriteByte('\n')
	}
	_, err = file.Write(text.Bytes())
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write evidence: %w", err)
	}
	return nil
}
