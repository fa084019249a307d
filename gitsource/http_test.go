package gitsource_test

import (
	"bytes"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/internal/racecheck"
)

// gitHTTP serves the repository like a forge, through git's own CGI program.
func gitHTTP(t testing.TB, g git) http.Handler {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	return &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"),
		Env:  append(gitEnv(), "GIT_PROJECT_ROOT="+filepath.Dir(g.dir), "GIT_HTTP_EXPORT_ALL=1"),
	}
}

// serve serves h on loopback without TLS.
func serve(t testing.TB, h http.Handler) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

// plain returns the remote of a repository on a server without TLS.
func plain(srv *httptest.Server) gitsource.Remote {
	return gitsource.Remote{URL: srv.URL + "/remote.git", AllowInsecure: true}
}

// serveTLS serves h with TLS and returns the file of its certificate authority.
func serveTLS(t testing.TB, h http.Handler) (srv *httptest.Server, caFile string) {
	t.Helper()
	srv = httptest.NewTLSServer(h)
	t.Cleanup(srv.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	return srv, writeFile(t, "ca.pem", string(ca))
}

func writeFile(t testing.TB, name, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestFetchHTTP(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	history := g.history("main", 120)
	s, dir := openSource(t, plain(serve(t, gitHTTP(t, g))))
	fetch(t, s, history...)
	fetch(t, s, history...)
	next := g.commit(g.files(map[string]string{"a.yaml": "x"}), "next", history[119])
	g.push("main", next)
	fetch(t, s, next)
	fsck(t, dir)
}

// TestFetchHTTPS fetches with a token, which is read at each fetch.
func TestFetchHTTPS(t *testing.T) {
	g := newGit(t)
	history := g.history("main", 2)
	backend := gitHTTP(t, g)
	srv, ca := serveTLS(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "x-access-token" || password != "s3cret" {
			w.Header().Set("WWW-Authenticate", "Basic")
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	token := writeFile(t, "token", "0ther\n")
	remote := gitsource.Remote{URL: srv.URL + "/remote.git", CAFile: ca}
	s, _ := openSource(t, remote)
	wantRemoteError(t, s, "no token file")
	remote.TokenFile = token
	s, _ = openSource(t, remote)
	wantRemoteError(t, s, "HTTP status 401 Unauthorized: the server does not accept the token")
	if err := os.WriteFile(token, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fetch(t, s, history...)
	remote.CAFile = ""
	s, _ = openSource(t, remote)
	wantRemoteError(t, s, "certificate")
}

// wantRemoteError fetches and expects a RemoteError that contains text and no secret.
func wantRemoteError(t *testing.T, s *gitsource.Source, text string) {
	t.Helper()
	_, err := s.Fetch(t.Context())
	var remote *gitsource.RemoteError
	if !errors.As(err, &remote) || !errors.Is(err, gitsource.ErrUnreachable) {
		t.Fatalf("got %v, want a RemoteError", err)
	}
	if !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want %q", err, text)
	}
	if strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "0ther") {
		t.Errorf("the error contains the token: %v", err)
	}
}

func TestFetchHTTPSecretFiles(t *testing.T) {
	srv, ca := serveTLS(t, http.NotFoundHandler())
	for name, test := range map[string]struct {
		token, ca, want string
	}{
		"token_absent":    {"/nonexistent/token", ca, "read token"},
		"token_empty":     {writeFile(t, "token", "\n"), ca, "one line"},
		"token_two_lines": {writeFile(t, "token", "a\nb\n"), ca, "one line"},
		"ca_absent":       {"", "/nonexistent/ca", "read certificate authorities"},
		"ca_garbage":      {"", writeFile(t, "ca", "garbage"), "contains no PEM certificate"},
		"ca_huge":         {"", writeFile(t, "ca", strings.Repeat("x", 2<<20)), "larger than the limit"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := openSource(t, gitsource.Remote{URL: srv.URL + "/r.git", TokenFile: test.token, CAFile: test.ca})
			wantRemoteError(t, s, test.want)
		})
	}
}

func TestFetchHTTPRedirects(t *testing.T) {
	g := newGit(t)
	history := g.history("main", 2)
	backend := gitHTTP(t, g)
	var leaked []string
	elsewhere := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		leaked = append(leaked, r.URL.String())
	}))
	mux := http.NewServeMux()
	mux.Handle("/remote.git/", backend)
	redirect := func(from, to string) {
		mux.HandleFunc(from, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, to+"?"+r.URL.RawQuery, http.StatusMovedPermanently)
		})
	}
	redirect("/old.git/info/refs", "/remote.git/info/refs")
	redirect("/away.git/info/refs", elsewhere.URL+"/remote.git/info/refs")
	redirect("/login.git/info/refs", "/login")
	redirect("/loop.git/info/refs", "/loop.git/info/refs")
	redirect("/half.git/git-upload-pack", elsewhere.URL+"/remote.git/git-upload-pack")
	mux.HandleFunc("/half.git/info/refs", func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path = "/remote.git/info/refs"
		backend.ServeHTTP(w, r)
	})
	mux.HandleFunc("/page.git/", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) })
	srv := serve(t, mux)
	remote := func(path string) gitsource.Remote {
		return gitsource.Remote{URL: srv.URL + path, AllowInsecure: true, TokenFile: writeFile(t, "token", "s3cret")}
	}
	s, _ := openSource(t, remote("/old.git"))
	fetch(t, s, history...)
	for path, want := range map[string]string{
		"/away.git": "redirected to another host", "/login.git": "not a git repository", "/loop.git": "more than 5",
		"/half.git": "the request for the pack was redirected", "/page.git": "the reply is not from a git repository", "/none.git": "404",
	} {
		s, _ := openSource(t, remote(path))
		wantRemoteError(t, s, want)
	}
	if len(leaked) != 0 {
		t.Errorf("another host got a request: %q", leaked)
	}
}

// TestFetchSkipsHangingRemote fetches from a remote that accepts the connection and sends nothing.
func TestFetchSkipsHangingRemote(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	history := g.history("main", 2)
	hanging := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	s, err := gitsource.Open(gitsource.Options{
		Dir: filepath.Join(t.TempDir(), "store"), Branch: "main", Timeout: 2 * time.Second,
		Remotes: []gitsource.Remote{plain(hanging), fileRemote(g)},
	})
	if err != nil {
		t.Fatal(err)
	}
	fetch(t, s, history...)
}

// A recorded is the reply to one request for a pack.
type recorded struct {
	header http.Header
	body   []byte
}

// asksForPack reports whether a request asks for a pack, and not for refs.
func asksForPack(r *http.Request) bool {
	if r.Method == http.MethodGet {
		return false
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return err == nil && !bytes.Contains(body, []byte("command=ls-refs"))
}

// record returns the reply of the repository to the next fetch of s. The fetch itself fails.
func record(t *testing.T, g git, dir string) recorded {
	t.Helper()
	var pack recorded
	backend := gitHTTP(t, g)
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !asksForPack(r) {
			backend.ServeHTTP(w, r)
			return
		}
		rec := httptest.NewRecorder()
		backend.ServeHTTP(rec, r)
		pack = recorded{rec.Header(), rec.Body.Bytes()}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	wantRemoteError(t, reopenSource(t, dir, plain(srv)), "503")
	if len(pack.body) == 0 {
		t.Fatal("got no request for a pack")
	}
	return pack
}

// serveReply answers requests for a pack with the body from the test, and breaks the connection if abort is true.
func serveReply(t *testing.T, g git, header http.Header, body func() (reply []byte, abort bool)) *httptest.Server {
	backend := gitHTTP(t, g)
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !asksForPack(r) {
			backend.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", header.Get("Content-Type"))
		reply, abort := body()
		_, _ = w.Write(reply)
		if abort {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}))
}

// offsets returns positions in n bytes: the first ones, the last ones, and some between.
func offsets(n int) []int {
	var at []int
	for i := 0; i < n; i += racecheck.Step() {
		if i < 24 || i > n-24 || i%(n/40+1) == 0 {
			at = append(at, i)
		}
	}
	return at
}

// TestFetchSurvivesCuts ends the reply at many offsets, with a clean end and with a broken connection, for a clone and for
// an update. The store must not change, and the next fetch must succeed.
func TestFetchSurvivesCuts(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	first := g.history("main", 3)
	s, dir := openSource(t, fileRemote(g))
	check := func(history ...gitsource.ID) {
		t.Helper()
		reply := record(t, g, dir)
		cut, abort := 0, false
		srv := serveReply(t, g, reply.header, func() ([]byte, bool) { return reply.body[:cut], abort })
		s = reopenSource(t, dir, plain(srv))
		before := looseObjects(t, dir)
		for _, cut = range offsets(len(reply.body) - 4) { // the last four bytes end the stream, not the pack
			abort = cut%2 == 0
			if head, err := s.Fetch(t.Context()); err == nil {
				t.Fatalf("cut at %d of %d: got %s", cut, len(reply.body), head.Commit)
			}
			if after := looseObjects(t, dir); after != before {
				t.Fatalf("cut at %d: got %d new objects in the store, want none", cut, after-before)
			}
		}
		cut, abort = len(reply.body), false
		fetch(t, s, history...)
		fsck(t, dir)
	}
	check(first...)
	next := g.commit(g.files(map[string]string{"a.yaml": "x", "b.yaml": "y"}), "next", first[2])
	g.push("main", next)
	check(append(first, next)...)
}

// TestFetchNoticesFlippedBits flips bits of the reply. A fetch that still succeeds must have the right objects.
func TestFetchNoticesFlippedBits(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	first := g.history("main", 2)
	s, dir := openSource(t, fileRemote(g))
	fetch(t, s, first...)
	tip := first[1]
	refused := 0
	for round, bit := range []byte{0x01, 0x80} {
		tip = g.commit(g.files(map[string]string{"a.yaml": strings.Repeat("text ", 50+round)}), "next", tip)
		g.push("main", tip)
		reply := record(t, g, dir)
		var flipped []byte
		s = reopenSource(t, dir, plain(serveReply(t, g, reply.header, func() ([]byte, bool) { return flipped, false })))
		for _, i := range offsets(len(reply.body)) {
			flipped = append([]byte(nil), reply.body...)
			flipped[i] ^= bit
			if _, err := s.Fetch(t.Context()); err != nil {
				refused++
			}
			if _, err := s.Repository().Commit(t.Context(), tip); err == nil {
				readable(t, s, tip)
			}
		}
		flipped = reply.body
		fetch(t, s, tip)
		fsck(t, dir)
	}
	if refused == 0 {
		t.Error("no fetch with a flipped bit failed")
	}
}
