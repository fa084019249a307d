package evidence_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/internal/evidence"
	_ "gitops-agent/internal/memtemp"
	"gitops-agent/internal/sigtest"
)

var (
	alice = sigtest.Identity{Subject: "alice@lab.test", Issuer: "https://issuer.test"}
	noon  = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
)

// log is a Rekor log with a server that a test can change.
type log struct {
	*testing.T
	sig      *sigtest.Sigstore
	client   *evidence.Client
	requests []string
	serve    http.Handler
}

func newLog(t *testing.T) *log {
	t.Helper()
	sig, err := sigtest.New(sigtest.Options{Seed: "evidence"})
	if err != nil {
		t.Fatal(err)
	}
	l := &log{T: t, sig: sig, serve: sigtest.RekorServer(func() (*sigtest.Sigstore, error) { return sig, nil })}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.requests = append(l.requests, r.Method+" "+r.URL.Path)
		l.serve.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	l.client = &evidence.Client{URL: server.URL}
	return l
}

func (l *log) ok(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// commit makes a commit of the online mode.
func (l *log) commit(message string) *sigtest.Online {
	l.Helper()
	_, logged, err := l.sig.CommitOnline(sigtest.CommitSpec{Message: message}, alice, sigtest.SignOptions{At: noon})
	l.ok(err)
	return logged
}

// find looks up a commit, and returns the parts of the bundle that identify the entry.
func (l *log) find(o *sigtest.Online) (bundle []byte, signature []byte) {
	l.Helper()
	bundle, err := l.client.Find(l.Context(), gitsource.ID(o.ID), o.Certificate)
	l.ok(err)
	if bundle == nil {
		return nil, nil
	}
	var parts struct {
		MessageSignature struct{ Signature []byte }
	}
	l.ok(json.Unmarshal(bundle, &parts))
	return bundle, parts.MessageSignature.Signature
}

func TestFindByHash(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	l.commit("other")
	want := l.commit("this")
	bundle, signature := l.find(want)
	if !bytes.Equal(signature, want.Signature) || bytes.Contains(bundle, []byte("\n")) {
		t.Errorf("got %s, want the signature of the commit on one line", bundle)
	}
	right, err := want.Bundle()
	l.ok(err)
	if !json.Valid(bundle) || len(bundle) != len(right) {
		t.Errorf("got a bundle of %d bytes, want %d", len(bundle), len(right))
	}
	if got := len(l.requests); got != 2 {
		t.Errorf("got %d requests, want one search and one entry: %v", got, l.requests)
	}
}

// TestFindOfSeveral: of the candidates, the entry with this certificate, over this id, that was logged first.
func TestFindOfSeveral(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	want := l.commit("this")
	other := l.commit("other")
	add := func(o sigtest.Online, at time.Time) { l.ok(l.sig.AddOnline(&o, at)) }
	add(sigtest.Online{ID: want.ID, Certificate: other.Certificate, Signature: other.Signature}, noon.Add(-time.Hour))
	add(sigtest.Online{ID: want.ID, Certificate: want.Certificate, Signature: other.Signature}, noon.Add(-time.Hour))
	add(sigtest.Online{ID: other.ID, Certificate: want.Certificate, Signature: want.Signature}, noon.Add(-time.Hour))
	bundle, signature := l.find(want)
	if !bytes.Equal(signature, want.Signature) || !bytes.Contains(bundle, []byte(`"integratedTime":"1772366400"`)) {
		t.Errorf("got %s, want the entry of noon with the commit's signature", bundle)
	}
	if bundle, _ := l.find(&sigtest.Online{ID: strings.Repeat("a", 40), Certificate: want.Certificate}); bundle != nil {
		t.Errorf("got %s of a commit that was never logged, want nothing", bundle)
	}
}

// TestFindByKey: an index that does not know the hash is asked for the key, as gitsign does.
func TestFindByKey(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	want := l.commit("this")
	next := l.serve
	l.serve = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := new(bytes.Buffer)
		_, _ = body.ReadFrom(r.Body)
		if strings.Contains(body.String(), `"hash"`) {
			_, _ = w.Write([]byte("[]"))
			return
		}
		r.Body = http.NoBody
		r2, _ := http.NewRequestWithContext(r.Context(), r.Method, r.URL.String(), body)
		next.ServeHTTP(w, r2)
	})
	if _, signature := l.find(want); !bytes.Equal(signature, want.Signature) {
		t.Errorf("got %x, want the signature of the commit", signature)
	}
}

// TestFindFails: a log that does not answer is an error, and never the answer that it has nothing.
func TestFindFails(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status   int
		body     string
		requests int
		want     string
	}{
		"overloaded": {http.StatusTooManyRequests, "", 3, "status 429"},
		"forbidden":  {http.StatusForbidden, "", 1, "status 403"},
		"not_json":   {http.StatusOK, "<html>", 1, "read the reply"},
		"too_long":   {http.StatusOK, strings.Repeat(" ", 300<<10), 1, "too long"},
		"redirect":   {http.StatusFound, "", 1, "status 302"},
		"no_entry":   {http.StatusOK, `["` + strings.Repeat("a", 64) + `"]`, 2, "read entry"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t)
			o := l.commit("this")
			l.serve = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					http.NotFound(w, r)
					return
				}
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
			})
			bundle, err := l.client.Find(t.Context(), gitsource.ID(o.ID), o.Certificate)
			if err == nil || !strings.Contains(err.Error(), tt.want) || bundle != nil || len(l.requests) != tt.requests {
				t.Errorf("got %s, %v after %d requests, want an error that contains %q after %d", bundle, err, len(l.requests), tt.want, tt.requests)
			}
		})
	}
}

// TestFindIgnoresStrangeNames: the index cannot choose which paths are requested.
func TestFindIgnoresStrangeNames(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	o := l.commit("this")
	l.serve = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`["../../admin", "A", ""]`)) })
	if bundle, _ := l.find(o); bundle != nil || len(l.requests) != 2 {
		t.Errorf("got %s after %v, want nothing after two searches", bundle, l.requests)
	}
}

func TestClientCheck(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"https://rekor.test": true, "http://127.0.0.1:3000": true, "rekor.test": false, "https://user:x@rekor.test": false, "file:///etc/passwd": false, "": false,
	} {
		if err := (&evidence.Client{URL: address}).Check(); (err == nil) != want {
			t.Errorf("%q: got %v, want accepted %t", address, err, want)
		}
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	first, second := l.commit("first"), l.commit("second")
	one, err := first.Bundle()
	l.ok(err)
	two, err := second.Bundle()
	l.ok(err)
	path := filepath.Join(t.TempDir(), "evidence.jsonl")
	l.ok(evidence.Append(path, [][]byte{one}))
	l.ok(evidence.Append(path, [][]byte{two, one}))
	set, err := evidence.ReadFile(path)
	l.ok(err)
	for _, want := range []struct {
		o    *sigtest.Online
		text []byte
	}{{first, one}, {second, two}} {
		if got, err := set.Bundles(t.Context(), gitsource.ID(want.o.ID)); err != nil || !bytes.Equal(got, want.text) {
			t.Errorf("got %s, %v, want the bundle of the commit once", got, err)
		}
	}
	if got, err := set.Bundles(t.Context(), gitsource.ID(strings.Repeat("b", 40))); err != nil || len(got) > 0 {
		t.Errorf("got %s, %v of another commit, want nothing", got, err)
	}
	for name, text := range map[string]string{
		"not_json": "x", "no_digest": "{}", "short": `{"messageSignature":{"messageDigest":{"digest":"AAAA"}}}`, "long_line": strings.Repeat(" ", 70<<10),
	} {
		bad := filepath.Join(t.TempDir(), name)
		l.ok(os.WriteFile(bad, []byte(string(one)+"\n"+text+"\n"), 0o600))
		if _, err := evidence.ReadFile(bad); err == nil {
			t.Errorf("%s: got no error, want one", name)
		}
	}
}
