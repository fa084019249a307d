package gitsource

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"

	"gitops-agent/gitsource/packs"
	"gitops-agent/gitsource/remote"
)

const (
	maxNotesFetch   = 64 << 20 // bytes that one fetch of notes reads from one remote
	maxNotesObjects = 200_000  // in one fetch of notes
)

// notesPrefix begins the refs under which git stores notes.
const notesPrefix = "refs/notes/"

// FetchNotes fetches a ref with notes, such as refs/notes/commits, and its history. It does not move the branch, and reads at most 64 MiB and 200,000 objects. If
// no remote has the ref, each RemoteError matches ErrNotFound.
func (s *Source) FetchNotes(ctx context.Context, ref string) error {
	if !strings.HasPrefix(ref, notesPrefix) || plumbing.ReferenceName(ref).Validate() != nil {
		return fmt.Errorf("fetch notes %q: want a ref below %s", ref, notesPrefix)
	}
	_, err := s.fetch(ctx, wantedRef{ref: ref, limit: maxNotesFetch, limits: packs.Limits{Objects: maxNotesObjects, Work: maxNotesWork}, find: func(a remote.Advertisement) (plumbing.Hash, error) {
		if h, found := a.Refs[ref]; found && !h.IsZero() {
			return h, nil
		}
		return plumbing.ZeroHash, fmt.Errorf("the remote has no ref %q: %w", ref, ErrNotFound)
	}})
	return err
}

// Notes are the notes of one ref as they were when Repository.Notes was called. They are not trusted, like everything in a repository. Notes are safe for
// concurrent use, and read each folder once.
type Notes struct {
	Commit ID // where the ref points

	repo *Repository
	root ID // tree

	mu      sync.Mutex
	folders map[ID]map[string]entry
	entries int // in folders
}

// maxNoteEntries bounds how many entries of folders Notes remember.
const maxNoteEntries = 100_000

// Notes returns the notes of a ref, such as refs/notes/commits. It returns ErrNotFound if there is no such ref.
func (r *Repository) Notes(ctx context.Context, ref string) (*Notes, error) {
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
	return &Notes{Commit: commit, repo: r, root: trees[0], folders: map[ID]map[string]entry{}}, nil
}

// About returns the note about an object, of at most limit bytes. It returns ErrNotFound if there is none. git splits the id of the object into folders of
// two digits as the number of notes grows.
func (n *Notes) About(ctx context.Context, about ID, limit int64) ([]byte, error) {
	if _, err := ParseID(string(about)); err != nil {
		return nil, err
	}
	tree := n.root
	for rest := string(about); ; rest = rest[2:] {
		folder, err := n.folder(ctx, tree)
		if err != nil {
			return nil, err
		}
		if e := folder[rest]; e.mode == modeFile {
			return n.repo.read(ctx, plumbing.BlobObject, e.id, limit)
		}
		if len(rest) <= 2 || !folder[rest[:2]].isDir() {
			return nil, fmt.Errorf("note about %s: %w", about, ErrNotFound)
		}
		tree = folder[rest[:2]].id
	}
}

// folder returns the entries of a tree by name.
func (n *Notes) folder(ctx context.Context, tree ID) (map[string]entry, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if known, found := n.folders[tree]; found {
		return known, nil
	}
	raw, err := n.repo.read(ctx, plumbing.TreeObject, tree, maxTree)
	if err != nil {
		return nil, err
	}
	entries, err := parseTree(raw)
	if err != nil {
		return nil, fmt.Errorf("read tree %s of notes: %w", tree, err)
	}
	folder := make(map[string]entry, len(entries))
	for _, e := range entries {
		folder[e.name] = e
	}
	if n.entries += len(entries); n.entries > maxNoteEntries {
		n.folders, n.entries = map[ID]map[string]entry{}, len(entries)
	}
	n.folders[tree] = folder
	return folder, nil
}
