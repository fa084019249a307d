package gitsource_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/gitsource/fault"
)

// TestFaultOf makes each kind of failure happen, with the remote as the only one.
func TestFaultOf(t *testing.T) {
	t.Parallel()
	status := func(code int) func(t *testing.T) gitsource.Remote {
		return func(t *testing.T) gitsource.Remote {
			return plain(serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })))
		}
	}
	for name, test := range map[string]struct {
		remote func(t *testing.T) gitsource.Remote
		want   fault.Fault
	}{
		"token":       {status(http.StatusUnauthorized), fault.Unauthorized},
		"forbidden":   {status(http.StatusForbidden), fault.Unauthorized},
		"not_found":   {status(http.StatusNotFound), fault.NotFound},
		"unavailable": {status(http.StatusServiceUnavailable), fault.Status},
		"page":        {status(http.StatusOK), fault.Invalid},
		"no_branch":   {func(t *testing.T) gitsource.Remote { return fileRemote(newGit(t)) }, fault.NotFound},
		"shallow": {func(t *testing.T) gitsource.Remote {
			g := newGit(t)
			g.history("main", 3)
			shallow := git{t, filepath.Join(t.TempDir(), "shallow.git")}
			g.exec("", "clone", "-q", "--bare", "--depth=2", "file://"+g.dir, shallow.dir)
			return fileRemote(shallow)
		}, fault.Incomplete},
		"no_connection": {func(t *testing.T) gitsource.Remote {
			closed := httptest.NewServer(http.NotFoundHandler())
			closed.Close()
			return plain(closed)
		}, fault.Unreachable},
		"certificate": {func(t *testing.T) gitsource.Remote {
			server, _ := serveTLS(t, http.NotFoundHandler())
			return gitsource.Remote{URL: server.URL + "/remote.git"}
		}, fault.TLS},
		"no_tls": {func(t *testing.T) gitsource.Remote {
			server := serve(t, http.NotFoundHandler())
			return gitsource.Remote{URL: "https" + server.URL[len("http"):] + "/remote.git"}
		}, fault.TLS},
		"no_token_file": {func(t *testing.T) gitsource.Remote {
			remote := status(http.StatusOK)(t)
			remote.TokenFile = filepath.Join(t.TempDir(), "none")
			return remote
		}, fault.Local},
		"no_reply": {func(t *testing.T) gitsource.Remote {
			return plain(serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })))
		}, fault.Late},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := gitsource.Open(gitsource.Options{
				Dir: filepath.Join(t.TempDir(), "store"), Branch: "main", Remotes: []gitsource.Remote{test.remote(t)}, Timeout: time.Second,
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Fetch(t.Context())
			if got := gitsource.FaultOf(err); err == nil || got != test.want {
				t.Errorf("got %q (%v), want %q", got, err, test.want)
			}
			if got := s.Remotes()[0].Fault; got != test.want {
				t.Errorf("got the state of the remote %q, want %q", got, test.want)
			}
			if !s.FetchBegan().IsZero() {
				t.Error("got a fetch under way, want none")
			}
		})
	}
}
