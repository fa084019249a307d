package gitsource

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// maxNotesFetch bounds how many bytes one fetch of notes reads from one remote.
const maxNotesFetch = 64 << 20

// notesPrefix begins the refs under which git stores notes.
const notesPrefix = "refs/notes/"

// FetchNotes fetches a ref with notes, such as refs/notes/commits, and its history. It does not move the branch, and reads at most 64 MiB. If no remote has
// the ref, each RemoteError matches ErrNotFound.
func (s *Source) FetchNotes(ctx context.Context, ref string) error {
	if !strings.HasPrefix(ref, notesPrefix) || plumbing.ReferenceName(ref).Validate() != nil {
		return fmt.Errorf("fetch notes %q: want a ref below %s", ref, notesPrefix)
	}
	_, err := s.fetch(ctx, wantedRef{ref: ref, limit: maxNotesFetch, find: func(a advertisement) (plumbing.Hash, error) {
		if h, found := a.refs[ref]; found && !h.IsZero() {
			return h, nil
		}
		return plumbing.ZeroHash, fmt.Errorf("the remote has no ref %q: %w", ref, ErrNotFound)
	}})
	return err
}

// Note returns the note about an object, of at most limit bytes, from a ref with notes. It returns ErrNotFound if there is no such ref or note. It is not
// trusted, like everything in a repository.
func (r *Repository) Note(ctx context.Context, ref string, about ID, limit int64) ([]byte, error) {
	if _, err := ParseID(string(about)); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(ref, notesPrefix) {
		return nil, fmt.Errorf("read notes %q: want a ref below %s", ref, notesPrefix)
	}
	commit, err := r.resolveRef(ref)
	if err != nil {
		return nil, err
	}
	c, err := r.Commit(ctx, commit)
	if err != nil {
		return nil, err
	}
	trees := headerIDs(c.Raw, "tree")
	if len(trees) == 0 {
		return nil, fmt.Errorf("read notes %s: commit without a tree: %w", ref, ErrNotFound)
	}
	return r.note(ctx, trees[0], string(about), limit)
}

// note finds a note in a tree of notes. git splits the id of the object into folders of two digits as their number grows.
func (r *Repository) note(ctx context.Context, tree ID, rest string, limit int64) ([]byte, error) {
	raw, err := r.read(ctx, plumbing.TreeObject, tree, maxTree)
	if err != nil {
		return nil, err
	}
	entries, err := parseTree(raw)
	if err != nil {
		return nil, fmt.Errorf("read tree %s of notes: %w", tree, err)
	}
	for _, e := range entries {
		switch {
		case e.name == rest && e.mode == modeFile:
			return r.read(ctx, plumbing.BlobObject, e.id, limit)
		case e.isDir() && len(rest) > 2 && e.name == rest[:2]:
			return r.note(ctx, e.id, rest[2:], limit)
		}
	}
	return nil, fmt.Errorf("note: %w", ErrNotFound)
}
