package evidence

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/verify"
)

const (
	// notesTimeout bounds one fetch of notes.
	notesTimeout = 30 * time.Second
	// firstRetry and lastRetry are the times after which what failed is tried again; each one is twice as long as the one before.
	firstRetry = 30 * time.Second
	lastRetry  = 10 * time.Minute
)

// Finder finds evidence for an agent: in the notes that its repository has, in those of the remote, which it fetches if they have changed, and in a log if
// it may ask one. It asks each of them only if those before prove nothing. What it cannot read counts as missing, because evidence is never more than
// missing: no notes and no log can make a poll fail. It is safe for concurrent use.
type Finder struct {
	source *gitsource.Source
	log    *lookup // nil asks no log

	mu       sync.Mutex
	tried    gitsource.ID // notes of a remote that were fetched, or could not be
	fetched  bool         // they were
	again    retry        // when to try again, if they could not be
	problems []error      // of the newest poll
}

// NewFinder returns a finder for the repository of a source whose Options.Notes is NotesRef. A client, unless it is nil, asks a log.
func NewFinder(source *gitsource.Source, client *Client) *Finder {
	f := &Finder{source: source}
	if client != nil {
		f.log = newLookup(source.Repository(), client)
	}
	return f
}

// Sources begins the search of one poll, in which the remote has these notes, "" for none. It returns what package verify asks, in this order.
func (f *Finder) Sources(notes gitsource.ID) []verify.Evidence {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.problems = nil
	known := lenient{f, NewNotes(f.source.Repository())}
	sources := []verify.Evidence{known, lenient{f, &remoteNotes{finder: f, at: notes}}}
	if f.log != nil {
		sources = append(sources, lenient{f, f.log.begin()})
	}
	return sources
}

// Problem returns why the search of the newest poll was not complete, or found nothing; nil if nothing was looked for.
func (f *Finder) Problem() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.problems...)
}

// maxProblems bounds the problems of one poll.
const maxProblems = 4

// note adds a problem, unless it is known.
func (f *Finder) note(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, known := range f.problems {
		if known.Error() == err.Error() {
			return
		}
	}
	if len(f.problems) < maxProblems {
		f.problems = append(f.problems, err)
	}
}

// lenient turns the failures of a source into missing evidence.
type lenient struct {
	finder *Finder
	source verify.Evidence
}

func (l lenient) Bundles(ctx context.Context, id gitsource.ID) ([]byte, error) {
	text, err := l.source.Bundles(ctx, id)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		l.finder.note(err)
		return nil, nil
	}
	return text, nil
}

// remoteNotes fetches the notes of a remote when they are asked for first, and serves them.
type remoteNotes struct {
	finder *Finder
	at     gitsource.ID

	once  sync.Once
	notes *Notes // nil if nothing new was fetched
	err   error
}

func (r *remoteNotes) Bundles(ctx context.Context, id gitsource.ID) ([]byte, error) {
	r.once.Do(func() { r.notes, r.err = r.finder.fetchNotes(ctx, r.at) })
	if r.notes == nil {
		return nil, r.err
	}
	return r.notes.Bundles(ctx, id)
}

// fetchNotes fetches the notes of the remote. It returns nil if they were fetched before.
func (f *Finder) fetchNotes(ctx context.Context, at gitsource.ID) (*Notes, error) {
	f.mu.Lock()
	if f.tried != at {
		f.tried, f.fetched, f.again = at, false, retry{}
	}
	due, fetched := f.again.due(), f.fetched
	f.mu.Unlock()
	switch {
	case at == "":
		return nil, fmt.Errorf("the remote has no notes %s", NotesRef)
	case fetched:
		return nil, nil //nolint:nilnil // nothing new
	case !due:
		return nil, fmt.Errorf("the notes %s were not fetched again yet after a failure", NotesRef)
	}
	ctx, cancel := context.WithTimeout(ctx, notesTimeout)
	defer cancel()
	err := f.source.FetchNotes(ctx, NotesRef)
	if err == nil {
		err = f.checkAt(ctx, at)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.again.failed()
		return nil, fmt.Errorf("fetch notes %s: %w", NotesRef, err)
	}
	f.fetched = true
	return NewNotes(f.source.Repository()), nil
}

// checkAt returns an error unless the repository has the notes that the remote had when it served the branch. Another remote may have served the notes.
func (f *Finder) checkAt(ctx context.Context, at gitsource.ID) error {
	notes, err := f.source.Repository().Notes(ctx, NotesRef)
	switch {
	case err != nil:
		return err
	case notes.Commit != at:
		return fmt.Errorf("got %s, want %s", notes.Commit, at)
	}
	return nil
}

// retry is when something that failed may be tried again. The zero value is now.
type retry struct {
	at    time.Time
	after time.Duration
}

func (r *retry) due() bool { return !time.Now().Before(r.at) }

func (r *retry) failed() {
	r.after = min(max(2*r.after, firstRetry), lastRetry)
	r.at = time.Now().Add(r.after)
}
