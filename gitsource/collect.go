package gitsource

import (
	"bufio"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/hash"

	"gitops-agent/gitsource/packs"
)

const (
	collectLimit   = 300          // loose objects from which on they are collected into a pack: an agent adds about three for each push
	collectedPacks = 8            // collected packs from which on they are merged
	maxCollected   = 128 << 20    // bytes of one object; an earlier release stored larger objects as files than fetches do now
	collectedMark  = ".collected" // suffix of an empty file beside a pack that collect made
)

// collect packs the loose objects if there are many, so that the number of files stays bounded. What is in a new pack stays where it was until the next
// collection: a process that opened the store before continues to find every object. A pack that was fetched is never rewritten, because a
// collected pack has no deltas. Collect returns the number of objects in the new pack, 0 if there are few loose objects.
func (s *store) collect(ctx context.Context) (int, error) {
	loose, err := s.loose()
	if err != nil || len(loose) < collectLimit {
		return 0, err
	}
	packs, err := s.collected()
	if err != nil {
		return 0, err
	}
	if loose, err = s.removeCopies(loose, packs); err != nil {
		return 0, err
	}
	if packs, err = s.removeMerged(packs); err != nil || len(loose) < collectLimit/2 {
		return 0, err
	}
	if len(packs) >= collectedPacks {
		for _, p := range packs {
			loose = append(loose, p.hashes...)
		}
	}
	slices.SortFunc(loose, func(a, b plumbing.Hash) int { return slices.Compare(a[:], b[:]) })
	loose = slices.Compact(loose)
	return len(loose), s.packObjects(ctx, loose)
}

// loose returns the objects that have a file each.
func (s *store) loose() (found []plumbing.Hash, err error) {
	err = s.storage.ForEachObjectHash(func(h plumbing.Hash) error {
		found = append(found, h)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list loose objects: %w", err)
	}
	return found, nil
}

// collectedPack is a pack that collect made.
type collectedPack struct {
	base   string // path without suffix
	hashes []plumbing.Hash
	index  *idxfile.MemoryIndex
}

// collected returns the packs that collect made.
func (s *store) collected() ([]collectedPack, error) {
	marks, err := filepath.Glob(filepath.Join(s.packDir(), "pack-*"+collectedMark))
	if err != nil {
		return nil, err
	}
	var packs []collectedPack
	for _, mark := range marks {
		p := collectedPack{base: strings.TrimSuffix(mark, collectedMark), index: idxfile.NewMemoryIndex()}
		file, err := os.Open(p.base + ".idx")
		if errors.Is(err, os.ErrNotExist) {
			continue // a crash came before the index
		}
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(p.base + ".pack"); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		err = errors.Join(idxfile.NewDecoder(bufio.NewReader(file)).Decode(p.index), file.Close())
		if err != nil {
			return nil, fmt.Errorf("read index of %s: %w", p.base, err)
		}
		entries, err := p.index.Entries()
		if err != nil {
			return nil, fmt.Errorf("read index of %s: %w", p.base, err)
		}
		for entry, err := entries.Next(); err == nil; entry, err = entries.Next() {
			p.hashes = append(p.hashes, entry.Hash)
		}
		packs = append(packs, p)
	}
	return packs, nil
}

func (p collectedPack) has(h plumbing.Hash) bool {
	found, err := p.index.Contains(h)
	return found && err == nil
}

// removeCopies removes the loose objects that a collected pack contains, and returns the others.
func (s *store) removeCopies(loose []plumbing.Hash, packs []collectedPack) (left []plumbing.Hash, err error) {
	for _, h := range loose {
		if !slices.ContainsFunc(packs, func(p collectedPack) bool { return p.has(h) }) {
			left = append(left, h)
		} else if err := s.storage.DeleteLooseObject(h); err != nil {
			return nil, fmt.Errorf("remove loose object %s: %w", h, err)
		}
	}
	return left, nil
}

// removeMerged removes the packs all of whose objects are in one other pack, and returns the others.
func (s *store) removeMerged(packs []collectedPack) ([]collectedPack, error) {
	for i := 0; i < len(packs); {
		merged := slices.ContainsFunc(packs, func(other collectedPack) bool {
			return other.base != packs[i].base && !slices.ContainsFunc(packs[i].hashes, func(h plumbing.Hash) bool { return !other.has(h) })
		})
		if !merged {
			i++
			continue
		}
		for _, suffix := range []string{".idx", ".pack", collectedMark} { // a pack without an index is not read
			if err := os.Remove(packs[i].base + suffix); err != nil {
				return nil, err
			}
		}
		packs = slices.Delete(packs, i, i+1)
	}
	return packs, nil
}

// packObjects writes objects of the store as a pack, reads the pack as if a remote had sent it, which checks every object, and adds it.
func (s *store) packObjects(ctx context.Context, objects []plumbing.Hash) error {
	file, err := os.CreateTemp(s.packDir(), "tmp_collect_")
	if err != nil {
		return err
	}
	defer func() { _, _ = file.Close(), os.Remove(file.Name()) }()
	if err := s.writePack(ctx, file, objects); err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	p, err := receivePack(ctx, s.packDir(), file, packs.Limits{Objects: maxObjects, Work: math.MaxInt64}, s.has)
	if err != nil {
		return err
	}
	defer p.discard()
	if p.Count() != len(objects) {
		return fmt.Errorf("pack: got %d objects, want %d", p.Count(), len(objects))
	}
	mark := filepath.Join(s.packDir(), "pack-"+p.Checksum.String()+collectedMark)
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		return err
	}
	return s.installPack(p)
}

// writePack writes objects in git's pack format, version 2, without deltas. It holds one object in memory.
//
// Source: gitformat-pack(5).
func (s *store) writePack(ctx context.Context, to io.Writer, objects []plumbing.Hash) error {
	out, sum := bufio.NewWriter(to), hash.New(hash.CryptoType)
	w := io.MultiWriter(out, sum)
	header := binary.BigEndian.AppendUint32([]byte("PACK"), 2)
	header = binary.BigEndian.AppendUint32(header, uint32(len(objects))) //nolint:gosec // a count of files
	if _, err := w.Write(header); err != nil {
		return err
	}
	for _, h := range objects {
		if err := ctx.Err(); err != nil {
			return err
		}
		o, err := s.objects.any(ctx, h, maxCollected)
		if err != nil {
			return fmt.Errorf("read object %s: %w", h, err)
		}
		if err := writeEntry(w, o.Type, o.Content); err != nil {
			return err
		}
	}
	if _, err := out.Write(sum.Sum(nil)); err != nil {
		return err
	}
	return out.Flush()
}

// writeEntry writes one object: its type and size in groups of seven bits after the first four, and its content.
func writeEntry(w io.Writer, kind plumbing.ObjectType, raw []byte) error {
	first, rest := byte(kind)<<4|byte(len(raw)&0x0f), uint64(len(raw))>>4
	head := []byte{first}
	if rest != 0 {
		head = binary.AppendUvarint([]byte{first | 0x80}, rest)
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	z := zlib.NewWriter(w)
	_, err := z.Write(raw)
	return errors.Join(err, z.Close())
}
