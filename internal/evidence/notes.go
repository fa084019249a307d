package evidence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"sync"

	"gitops-agent/gitsource"
	"gitops-agent/verify"
)

// NotesRef is the ref of the notes with evidence. A note has the bundles about its commit, one on each line.
const NotesRef = "refs/notes/gitops-evidence"

// Notes are the notes of a repository. They implement verify.Evidence and are safe for concurrent use. The first use reads which notes there are; later
// changes of them have no effect.
type Notes struct {
	open func() (*gitsource.Notes, error)
}

var _ verify.Evidence = (*Notes)(nil)

// NewNotes returns the notes of a repository.
func NewNotes(repo *gitsource.Repository) *Notes {
	return &Notes{open: sync.OnceValues(func() (*gitsource.Notes, error) {
		return repo.Notes(context.Background(), NotesRef) // a read that began is not interrupted
	})}
}

// Bundles returns the note about an object. A note that is too large counts as bad evidence, not as a failure to read.
func (n *Notes) Bundles(ctx context.Context, id gitsource.ID) ([]byte, error) {
	notes, err := n.open()
	var text []byte
	if err == nil {
		text, err = notes.About(ctx, id, verify.MaxEvidence)
	}
	switch {
	case err == nil:
		return text, nil
	case errors.Is(err, gitsource.ErrNotFound):
		return nil, nil
	case errors.Is(err, gitsource.ErrTooLarge):
		return bytes.Repeat([]byte(" "), verify.MaxEvidence+1), nil
	}
	return nil, fmt.Errorf("read notes %s: %w", NotesRef, err)
}

// WriteNotes writes bundles as notes of the repository at dir. It runs git.
func WriteNotes(ctx context.Context, dir string, bundles map[gitsource.ID][]byte) error {
	tags, err := tagsAmong(ctx, dir, slices.Sorted(maps.Keys(bundles)))
	if err != nil {
		return err
	}
	if len(bundles) > len(tags) {
		if err := importNotes(ctx, dir, bundles, tags); err != nil {
			return err
		}
	}
	for _, id := range tags { // git fast-import would write the note of the commit that a tag names
		if _, err := git(ctx, dir, bundles[id], "notes", "--ref", NotesRef, "add", "--force", "--file=-", string(id)); err != nil {
			return err
		}
	}
	return nil
}

// tagsAmong returns those of some objects that are annotated tags.
func tagsAmong(ctx context.Context, dir string, ids []gitsource.ID) ([]gitsource.ID, error) {
	var input bytes.Buffer
	for _, id := range ids {
		fmt.Fprintln(&input, id)
	}
	types, err := git(ctx, dir, input.Bytes(), "cat-file", "--batch-check=%(objectname) %(objecttype)")
	if err != nil {
		return nil, err
	}
	var tags []gitsource.ID
	for line := range bytes.Lines(types) {
		if id, isTag := bytes.CutSuffix(bytes.TrimSpace(line), []byte(" tag")); isTag {
			tags = append(tags, gitsource.ID(id))
		}
	}
	return tags, nil
}

// importNotes writes the bundles about commits in one commit of the notes.
func importNotes(ctx context.Context, dir string, bundles map[gitsource.ID][]byte, tags []gitsource.ID) error {
	committer, err := git(ctx, dir, nil, "var", "GIT_COMMITTER_IDENT")
	if err != nil {
		return err
	}
	var stream bytes.Buffer
	const message = "evidence of the transparency log\n"
	fmt.Fprintf(&stream, "commit %s\ncommitter %sdata %d\n%s", NotesRef, committer, len(message), message)
	if before, err := git(ctx, dir, nil, "rev-parse", "--verify", "--quiet", NotesRef+"^{commit}"); err == nil {
		fmt.Fprintf(&stream, "from %s", before)
	}
	for id, bundle := range bundles {
		if !slices.Contains(tags, id) {
			fmt.Fprintf(&stream, "N inline %s\ndata %d\n%s\n", id, len(bundle), bundle)
		}
	}
	_, err = git(ctx, dir, stream.Bytes(), "fast-import", "--quiet", "--date-format=raw")
	return err
}

func git(ctx context.Context, dir string, input []byte, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...) //nolint:gosec // fixed arguments and ids
	cmd.Stdin = bytes.NewReader(input)
	var problem bytes.Buffer
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %.500s", args[0], err, bytes.TrimSpace(problem.Bytes()))
	}
	return out, nil
}
