package evidence

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/internal/gittest"
	"gitops-agent/internal/sigtest"
)

// askedLog is a log that counts requests, and a repository with commits of the online mode.
type askedLog struct {
	*testing.T
	sig      *sigtest.Sigstore
	git      *gittest.Repo
	repo     *gitsource.Repository
	requests atomic.Int64
	status   atomic.Int64 // of every reply; 0 answers
	lookup   *lookup
}

func newAskedLog(t *testing.T) *askedLog {
	t.Helper()
	sig, err := sigtest.New(sigtest.Options{Seed: "asked"})
	if err != nil {
		t.Fatal(err)
	}
	l := &askedLog{T: t, sig: sig, git: gittest.New(t)}
	serve := sigtest.RekorServer(func() (*sigtest.Sigstore, error) { return sig, nil })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.requests.Add(1)
		if status := int(l.status.Load()); status != 0 {
			w.WriteHeader(status)
			return
		}
		serve.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	l.push("first")
	if l.repo, err = gitsource.OpenRepository(l.git.Dir); err != nil {
		t.Fatal(err)
	}
	l.lookup = newLookup(l.repo, &Client{URL: server.URL})
	l.lookup.begin()
	return l
}

func (l *askedLog) push(message string) gitsource.ID {
	l.Helper()
	alice := sigtest.Identity{Subject: "alice@lab.test", Issuer: "https://issuer.test"}
	id, _ := l.git.PushOnline(l.sig, alice, message, sigtest.SignOptions{})
	return gitsource.ID(id)
}

// unlogged makes a commit that the log does not know.
func (l *askedLog) unlogged(message string) gitsource.ID {
	l.Helper()
	other, err := sigtest.New(sigtest.Options{Seed: "other"})
	if err != nil {
		l.Fatal(err)
	}
	mine := l.sig
	l.sig = other
	defer func() { l.sig = mine }()
	return l.push(message)
}

// want asks about a commit, and expects the outcome after so many requests.
func (l *askedLog) want(id gitsource.ID, found bool, problem string, requests int64) {
	l.Helper()
	before := l.requests.Load()
	text, err := l.lookup.Bundles(l.Context(), id)
	if (len(text) > 0) != found || (err != nil) != (problem != "") || err != nil && !strings.Contains(err.Error(), problem) {
		l.Errorf("got %d bytes and %v, want found %t and %q", len(text), err, found, problem)
	}
	if got := l.requests.Load() - before; got != requests {
		l.Errorf("got %d requests, want %d", got, requests)
	}
}

// TestLookupAsksOnce: the log is asked once about a commit, for as long as its answer is remembered.
func TestLookupAsksOnce(t *testing.T) {
	t.Parallel()
	l := newAskedLog(t)
	logged, missing := l.push("logged"), l.unlogged("missing")
	l.want(logged, true, "", 2)
	l.want(missing, false, errNotLogged.Error(), 2) // by hash and by key
	l.lookup.begin()
	l.want(logged, true, "", 0)
	l.want(missing, false, errNotLogged.Error(), 0)
	l.lookup.known[missing].again.at = time.Now()
	l.want(missing, false, errNotLogged.Error(), 2)
	if after := l.lookup.known[missing].again.after; after != 2*firstRetry {
		t.Errorf("got the next lookup after %s, want twice the first time", after)
	}
	l.lookup.known[logged].again.at = time.Now() // what the log said did not prove the commit
	l.want(logged, true, "", 2)
}

// TestLookupIsBounded: a poll asks about a bounded number of commits, for a bounded time, and the next poll goes on.
func TestLookupIsBounded(t *testing.T) {
	t.Parallel()
	l := newAskedLog(t)
	first, second := l.push("one"), l.push("two")
	l.lookup.left = 1
	l.want(first, true, "", 2)
	l.want(second, false, errLater.Error(), 0)
	l.want(first, true, "", 0)
	l.lookup.begin()
	l.want(second, true, "", 2)
	third := l.push("three")
	l.lookup.deadline = time.Now()
	l.want(third, false, errLater.Error(), 0)
	if l.lookup.begin(); l.lookup.left != maxLookups || !l.lookup.deadline.IsZero() {
		t.Errorf("got %d and %s, want a new poll", l.lookup.left, l.lookup.deadline)
	}
}

// TestLookupLeavesSilentLogAlone: a log that fails is not asked again at once, also not about another commit.
func TestLookupLeavesSilentLogAlone(t *testing.T) {
	t.Parallel()
	l := newAskedLog(t)
	first, second := l.push("one"), l.push("two")
	l.status.Store(http.StatusForbidden)
	l.want(first, false, "status 403", 1)
	l.status.Store(0)
	l.want(second, false, errSilent.Error(), 0)
	l.lookup.begin()
	l.want(first, false, errSilent.Error(), 0)
	l.lookup.outage.at = time.Now()
	l.want(first, true, "", 2)
	l.want(second, true, "", 2)
}

// TestLookupAsksNothingInVain: nothing is disclosed about commits that need no evidence.
func TestLookupAsksNothingInVain(t *testing.T) {
	t.Parallel()
	l := newAskedLog(t)
	offline := gitsource.ID(l.git.Push(l.sig, sigtest.Identity{Subject: "alice@lab.test", Issuer: "https://issuer.test"}, "offline"))
	l.want(offline, false, "", 0)
	if text, err := l.lookup.Bundles(t.Context(), gitsource.ID(strings.Repeat("a", 40))); len(text) > 0 || l.requests.Load() != 0 {
		t.Errorf("got %s, %v after %d requests, want nothing", text, err, l.requests.Load())
	}
}

func TestRetryDoublesUpToTheLast(t *testing.T) {
	t.Parallel()
	var r retry
	if !r.due() {
		t.Error("got a new retry that is not due, want it due")
	}
	for range 20 {
		r.failed()
	}
	if r.after != lastRetry || r.due() {
		t.Errorf("got %s and due %t, want %s", r.after, r.due(), lastRetry)
	}
}

// TestFinderReportsEachProblemOnce: the problems of a poll are short, whatever many commits ran into.
func TestFinderReportsEachProblemOnce(t *testing.T) {
	t.Parallel()
	f := &Finder{}
	for _, text := range []string{"a", "b", "a", "c", "d", "e"} {
		f.note(errors.New(text))
	}
	if got := strings.ReplaceAll(f.Problem().Error(), "\n", " "); got != "a b c d" {
		t.Errorf("got %q, want the first four, each once", got)
	}
}
