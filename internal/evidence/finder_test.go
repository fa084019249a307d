package evidence

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/internal/gittest"
	"gitops-agent/internal/sigtest"
	"gitops-agent/verify"
)

// findLab is a finder whose remote has one commit of the online mode.
type findLab struct {
	*testing.T
	git    *gittest.Repo
	source *gitsource.Source
	finder *Finder
	id     gitsource.ID
	bundle []byte
}

func newFindLab(t *testing.T) *findLab {
	t.Helper()
	sig, err := sigtest.New(sigtest.Options{Seed: "find"})
	if err != nil {
		t.Fatal(err)
	}
	l := &findLab{T: t, git: gittest.New(t)}
	id, logged := l.git.PushOnline(sig, sigtest.Identity{Subject: "alice@lab.test", Issuer: "https://issuer.test"}, "online", sigtest.SignOptions{})
	l.id = gitsource.ID(id)
	if l.bundle, err = logged.Bundle(); err != nil {
		t.Fatal(err)
	}
	l.source, err = gitsource.Open(gitsource.Options{
		Dir: filepath.Join(t.TempDir(), "store"), Branch: "main", Notes: NotesRef, Remotes: []gitsource.Remote{{URL: "file://" + l.git.Dir}},
	})
	if err != nil {
		t.Fatal(err)
	}
	l.finder = NewFinder(l.source, nil)
	return l
}

// poll fetches the branch, and asks for evidence until a source has some. It returns the number of sources that were asked.
func (l *findLab) poll(notes func(gitsource.ID) gitsource.ID) (text []byte, asked int) {
	l.Helper()
	head, err := l.source.Fetch(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	for _, source := range l.finder.Sources(notes(head.Notes)) {
		asked++
		if text, err = source.Bundles(l.Context(), l.id); err != nil {
			l.Fatalf("got %v, want missing evidence at most", err)
		}
		if len(text) > 0 {
			break
		}
	}
	return text, asked
}

func asServed(notes gitsource.ID) gitsource.ID { return notes }

func (l *findLab) wantProblem(want string) {
	l.Helper()
	if got := l.finder.Problem(); (got == nil) != (want == "") || got != nil && !strings.Contains(got.Error(), want) {
		l.Errorf("got the problem %v, want %q", got, want)
	}
}

// TestFinderFetchesNotesOnce: notes are fetched when they are needed first, and then only if they have changed.
func TestFinderFetchesNotesOnce(t *testing.T) {
	t.Parallel()
	l := newFindLab(t)
	if text, _ := l.poll(asServed); text != nil {
		t.Errorf("got %s, want nothing", text)
	}
	l.wantProblem("the remote has no notes")
	l.git.Note(NotesRef, string(l.id), l.bundle)
	if text, asked := l.poll(asServed); asked != 2 || strings.TrimSpace(string(text)) != string(l.bundle) {
		t.Errorf("got %s after %d sources, want the bundle from the remote", text, asked)
	}
	l.wantProblem("")
	if _, asked := l.poll(asServed); asked != 1 {
		t.Errorf("got %d sources asked, want only the repository", asked)
	}
	l.git.Git(nil, "update-ref", "-d", NotesRef)
	l.git.Note(NotesRef, string(l.id), nil)
	if text, asked := l.poll(asServed); asked != 1 || len(text) == 0 {
		t.Errorf("got %s after %d sources, want what was fetched before", text, asked)
	}
}

// TestFinderRetriesNotes: notes that could not be fetched are fetched again after a while, or when they have changed.
func TestFinderRetriesNotes(t *testing.T) {
	t.Parallel()
	l := newFindLab(t)
	l.git.Git(nil, "update-ref", NotesRef, string(l.id)+"^{tree}")
	l.poll(asServed)
	l.wantProblem("which is no commit")
	l.poll(asServed)
	l.wantProblem("not fetched again yet")
	l.finder.again.at = time.Now()
	l.poll(asServed)
	l.wantProblem("which is no commit")
	if got := l.finder.again.after; got != 2*firstRetry {
		t.Errorf("got the next attempt after %s, want twice the first time", got)
	}
	l.git.Git(nil, "update-ref", "-d", NotesRef)
	l.git.Note(NotesRef, string(l.id), l.bundle)
	if text, _ := l.poll(asServed); len(text) == 0 {
		t.Error("got nothing, want the notes that are there now")
	}
}

// TestFinderWantsTheNotesOfTheHead: another remote may serve other notes than the one that served the branch.
func TestFinderWantsTheNotesOfTheHead(t *testing.T) {
	t.Parallel()
	l := newFindLab(t)
	l.git.Note(NotesRef, string(l.id), nil)
	other := gitsource.ID(strings.Repeat("a", 40))
	l.poll(func(gitsource.ID) gitsource.ID { return other })
	l.wantProblem("want " + string(other))
}

// TestFinderSurvivesDamage: notes whose objects are missing in the store are missing evidence.
func TestFinderSurvivesDamage(t *testing.T) {
	t.Parallel()
	l := newFindLab(t)
	for _, source := range l.finder.Sources("") {
		var broken verify.Evidence = lenient{l.finder, failing{}}
		for _, s := range []verify.Evidence{source, broken} {
			if text, err := s.Bundles(t.Context(), l.id); text != nil || err != nil {
				t.Errorf("got %s and %v, want nothing", text, err)
			}
		}
	}
	l.wantProblem("no disk")
}
