package gitsource_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gitops-agent/gitsource"
	"gitops-agent/gitsource/fault"
)

// requests is a git server that counts what a client asks for.
type requests struct {
	next http.Handler

	mu                       sync.Mutex
	connections, refs, packs int
	cut                      bool // end the replies with packs early
}

// newRequests serves a repository and counts.
func newRequests(t *testing.T, g git) (*requests, gitsource.Remote) {
	t.Helper()
	r := &requests{next: gitHTTP(t, g)}
	srv := httptest.NewUnstartedServer(r)
	srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if state == http.StateNew {
			r.connections++
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	return r, plain(srv)
}

func (r *requests) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	isPack := bytes.Contains(body, []byte("want "))
	r.mu.Lock()
	cut := r.cut && isPack
	if isPack {
		r.packs++
	} else {
		r.refs++
	}
	r.mu.Unlock()
	rec := httptest.NewRecorder()
	r.next.ServeHTTP(rec, req)
	w.Header().Set("Content-Type", rec.Header().Get("Content-Type"))
	reply := rec.Body.Bytes()
	if cut {
		reply = reply[:len(reply)/2]
	}
	_, _ = w.Write(reply)
	_ = http.NewResponseController(w).Flush() // the end of the reply comes behind it, as from a server that does not know the length
	if cut {
		panic(http.ErrAbortHandler)
	}
}

func (r *requests) setCut(cut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = cut
}

// take returns the counts since the last call.
func (r *requests) take() (connections, refs, packs int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	connections, refs, packs = r.connections, r.refs, r.packs
	r.connections, r.refs, r.packs = 0, 0, 0
	return connections, refs, packs
}

// want expects one connection with two requests for refs, as in protocol version 2, and a number of requests for packs.
func (r *requests) want(t *testing.T, what string, packs int) {
	t.Helper()
	if c, n, p := r.take(); c != 1 || n != 2 || p != packs {
		t.Errorf("%s: got %d connections, %d requests for refs, %d for packs, want 1, 2, %d", what, c, n, p, packs)
	}
}

// TestPollTakesOneConnection counts the connections of polls over HTTP/1.1, in protocol version 2.
func TestPollTakesOneConnection(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	history := g.history("main", 3)
	server, remote := newRequests(t, g)
	s, _ := openSource(t, remote)
	fetch(t, s, history...)
	server.want(t, "first fetch", 1)
	fetch(t, s, history...)
	server.want(t, "idle poll", 0)
}

// TestRefusedPackIsNotRequestedAgain fetches a head whose pack is above a limit.
func TestRefusedPackIsNotRequestedAgain(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	history := g.history("main", 3)
	server, remote := newRequests(t, g)
	dir := filepath.Join(t.TempDir(), "store")
	start := func(limit int64) *gitsource.Source {
		s, err := gitsource.Open(gitsource.Options{Dir: dir, Branch: "main", Remotes: []gitsource.Remote{remote}, MaxFetchBytes: limit})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := start(16 << 10)
	fetch(t, s, history...)
	server.take()

	large := g.commit(g.files(map[string]string{"a": noise(32 << 10)}), "large", history[2])
	g.push("main", large)
	refused := func(what string, packs int) {
		t.Helper()
		head, err := s.Fetch(t.Context())
		if !errors.Is(err, gitsource.ErrTooLarge) || gitsource.FaultOf(err) != fault.Invalid {
			t.Fatalf("%s: got %v, %v, fault %q, want a pack above the limit", what, head, err, gitsource.FaultOf(err))
		}
		server.want(t, what, packs)
		if packs == 0 && !strings.Contains(err.Error(), "not requested again until refs/heads/main moves") {
			t.Errorf("%s: got %v, want that the pack is not requested again", what, err)
		}
	}
	refused("the first time", 1)
	refused("again", 0)
	refused("once more", 0)
	readable(t, s, history...)

	s = start(16 << 10)
	refused("after a restart", 1)
	refused("again after a restart", 0)
	larger := g.commit(g.files(map[string]string{"a": noise(64 << 10)}), "larger", large)
	g.push("main", larger)
	refused("another head", 1)
	refused("another head again", 0)

	small := g.commit(g.files(map[string]string{"a": "x"}), "small", history[2])
	g.push("main", small)
	fetch(t, s, small)
	server.want(t, "a good head", 1)
	g.push("main", larger)
	refused("the refused head again, after a good one", 1)

	s = start(0)
	fetch(t, s, larger)
	server.want(t, "with a higher limit", 1)
}

// TestOutageIsNotRemembered ends the connection within a pack. The next fetch requests the pack again.
func TestOutageIsNotRemembered(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	history := g.history("main", 30)
	server, remote := newRequests(t, g)
	s, _ := openSource(t, remote)
	server.setCut(true)
	for range 2 {
		if _, err := s.Fetch(t.Context()); err == nil || errors.Is(err, gitsource.ErrTooLarge) {
			t.Fatalf("got %v, want an error of the connection", err)
		}
		server.want(t, "cut reply", 1)
	}
	server.setCut(false)
	fetch(t, s, history...)
}

// noise returns text that compression does not make much smaller.
func noise(n int) string {
	text := make([]byte, n)
	state := uint32(1)
	for i := range text {
		state = state*1664525 + 1013904223
		text[i] = byte(state >> 24)
	}
	return string(text)
}
