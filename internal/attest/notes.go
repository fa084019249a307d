package attest

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"gitops-agent/gitsource"
)

// NotesRef is the ref of the notes with statements. A note has the envelopes about its commit, one on each line.
const NotesRef = "refs/notes/gitops-attestations"

// maxNote bounds a note: the statements of many clusters about one commit.
const maxNote = 1 << 20 // bytes

// OpenNotes returns the statements in the notes of a repository, as they are now. There are none if the repository has no such notes.
func OpenNotes(ctx context.Context, repo *gitsource.Repository) (Source, error) {
	found, err := repo.Notes(ctx, NotesRef)
	if errors.Is(err, gitsource.ErrNotFound) {
		return notes{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read notes %s: %w", NotesRef, err)
	}
	return notes{found}, nil
}

// notes are the statements in notes of git; nil are none.
type notes struct{ found *gitsource.Notes }

func (n notes) envelopes(ctx context.Context, commit gitsource.ID) ([]envelope, error) {
	if n.found == nil {
		return nil, nil
	}
	text, err := n.found.About(ctx, commit, maxNote)
	switch {
	case errors.Is(err, gitsource.ErrNotFound):
		return nil, nil
	case errors.Is(err, gitsource.ErrTooLarge):
		return []envelope{{where: "the note", text: nil}}, nil // it counts for nothing, and is no failure to read
	case err != nil:
		return nil, fmt.Errorf("read notes %s: %w", NotesRef, err)
	}
	var list []envelope
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			list = append(list, envelope{fmt.Sprintf("line %d of the note", len(list)+1), line})
		}
	}
	return list, nil
}
