package gitsource_test

import (
	"errors"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/gitsource"
)

// gate is a git server whose replies wait while it is closed. Failing answers 503 at once.
type gate struct {
	next    http.Handler
	wait    atomic.Pointer[chan struct{}]
	failing atomic.Bool
	asked   atomic.Int64
}

func (g *gate) close() chan struct{} {
	open := make(chan struct{})
	g.wait.Store(&open)
	return open
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.asked.Add(1)
	if g.failing.Load() {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	if open := g.wait.Load(); open != nil {
		select {
		case <-*open:
		case <-r.Context().Done():
			return
		}
	}
	g.next.ServeHTTP(w, r)
}

// newGate serves a repository behind a gate.
func newGate(t *testing.T, g git) (*gate, gitsource.Remote) {
	t.Helper()
	server := &gate{next: gitHTTP(t, g)}
	return server, plain(serve(t, server))
}

// copyOf returns a mirror of a repository as it is now.
func copyOf(t *testing.T, g git) git {
	t.Helper()
	mirror := git{t, filepath.Join(t.TempDir(), "remote.git")}
	g.run("clone", "-q", "--bare", g.dir, mirror.dir)
	return mirror
}

func wantStates(t *testing.T, s *gitsource.Source, want ...gitsource.RemoteState) {
	t.Helper()
	for i, status := range s.Remotes() {
		if status.State != want[i] {
			t.Errorf("remote %d: got %s (%v), want %s", i, status.State, status.Err, want[i])
		}
	}
}

// A first remote that never replies costs two seconds once. Later fetches begin with the other one, and the state shows the first one.
func TestHangingRemoteCostsOnce(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	history := g.history("main", 2)
	hanging, first := newGate(t, g)
	open := hanging.close()
	s, _ := openSource(t, first, fileRemote(g))
	fetch(t, s, history...)
	wantStates(t, s, gitsource.RemoteLate, gitsource.RemoteAnswers)
	for range 3 {
		fetch(t, s, history...)
	}
	if got := hanging.asked.Load(); got != 1 {
		t.Errorf("hanging remote: got %d requests, want one in flight for all fetches", got)
	}
	close(open)
	for deadline := time.Now().Add(2 * time.Minute); s.Remotes()[0].State != gitsource.RemoteAnswers && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	wantStates(t, s, gitsource.RemoteAnswers, gitsource.RemoteAnswers)
}

// A mirror that replies first hides a newer head of a slow remote until that remote has replied: the next fetch waits for it.
func TestStaleMirrorHidesNoNewerHead(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	history := g.history("main", 2)
	slow, first := newGate(t, g)
	mirror := copyOf(t, g)
	s, _ := openSource(t, first, fileRemote(mirror))
	fetch(t, s, history...)
	newer := g.commit(g.files(map[string]string{"new.yaml": "x"}), "newer", history[1])
	g.push("main", newer)
	open := slow.close()
	fetch(t, s, history...) // of the mirror, which has nothing newer
	wantStates(t, s, gitsource.RemoteLate, gitsource.RemoteAnswers)
	close(open)
	for deadline := time.Now().Add(2 * time.Minute); s.Remotes()[0].State != gitsource.RemoteAnswers && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	fetch(t, s, append(history, newer)...)
}

// A mirror does not move the branch back to a commit that it did not advance from: the fetch fails, and the head stays. The remote that served the newer head may
// move it back, and so may any remote after a restart; package verify judges that.
func TestMirrorBehind(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	history := g.history("main", 3)
	server, first := newGate(t, g)
	mirror := copyOf(t, g)
	mirror.push("main", history[1])
	s, dir := openSource(t, first, fileRemote(mirror))
	fetch(t, s, history...)
	server.failing.Store(true)
	if head, err := s.Fetch(t.Context()); !errors.Is(err, gitsource.ErrBehind) || !errors.Is(err, gitsource.ErrUnreachable) {
		t.Errorf("got %v, %v, want ErrBehind", head, err)
	}
	wantStates(t, s, gitsource.RemoteFailed, gitsource.RemoteBehind)
	if id, err := s.Repository().Resolve(t.Context(), "main"); err != nil || id != history[2] {
		t.Errorf("branch: got %s, %v, want the newest commit", id, err)
	}
	mirror.push("main", history[2])
	fetch(t, s, history...) // of the mirror, which has caught up

	server.failing.Store(false)
	g.push("main", history[0])
	mirror.push("main", history[0])
	fetch(t, s, history[0]) // the mirror has served the head, so it may move it back
	s = reopenSource(t, dir, fileRemote(mirror))
	fetch(t, s, history[0])
}
