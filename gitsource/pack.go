package gitsource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-git/go-git/v5/plumbing"

	"gitops-agent/gitsource/fault"
	"gitops-agent/gitsource/packs"
)

const (
	// maxObjects is for the first fetch: a history of a million commits. Each object takes 40 bytes of memory while the pack is received.
	maxObjects    = 5_200_000
	maxNewObjects = 2_000_000 // in a later pack
	// maxWork bounds the bytes that one pack is unpacked to: some 20 seconds of processor time.
	maxWork = 4 << 30
	// workPerObject is added to maxWork for each object of the first fetch, which has the whole history.
	workPerObject = 64 << 10
	maxNotesWork  = 1 << 30 // of one pack with notes
)

// A pack is a received pack in a temporary file of the store. It is not yet part of the store.
type pack struct {
	file *os.File
	*packs.Received
}

// receivePack writes stream to a temporary file in dir and finds the hashes of all objects. It compares the pack's checksum, and returns errIncomplete if an object
// leads to one that is neither in the pack nor known. The caller must discard the pack.
func receivePack(ctx context.Context, dir string, stream io.Reader, limits packs.Limits, known func(plumbing.Hash) bool) (_ *pack, err error) {
	file, err := os.CreateTemp(dir, "tmp_pack_")
	if err != nil {
		return nil, storeError{err}
	}
	p := &pack{file: file}
	free, size, err := freeSpace(dir)
	if err != nil {
		p.discard()
		return nil, storeError{fmt.Errorf("read the free space of %s: %w", dir, err)}
	}
	limits.Disk = spaceFor(free, size)
	if p.Received, err = packs.Receive(ctx, file, stream, limits, known); err == nil {
		return p, nil
	}
	p.discard()
	var local *packs.FileError
	var missing *packs.MissingError
	var disk *packs.DiskError
	switch {
	case errors.As(err, &disk):
		return nil, fault.New(fault.Local, fmt.Errorf("receive pack: %w, and the disk of %s with %d MiB of free space keeps the rest for the journal: free space on it", err, dir, free>>20))
	case errors.As(err, &local):
		return nil, storeError{err}
	case errors.As(err, &missing):
		return nil, fmt.Errorf("%w: %w", errIncomplete, err)
	}
	return nil, fmt.Errorf("receive pack: %w", err)
}

// discard removes the temporary file. Objects that were added to the store stay there.
func (p *pack) discard() {
	_ = p.file.Close()
	_ = os.Remove(p.file.Name()) // already renamed if the store has the pack as a file
}

// A storeError is a failure of the store on this machine, not of a remote.
type storeError struct{ err error }

func (e storeError) Error() string { return e.err.Error() }
func (e storeError) Unwrap() error { return e.err }
