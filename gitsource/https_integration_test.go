//go:build integration

package gitsource_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitops-agent/gitsource"
)

// A forgeCA is a certificate authority for test servers that act as forges.
type forgeCA struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newForgeCA(t *testing.T) forgeCA {
	t.Helper()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "forge authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	ca := forgeCA{t: t}
	ca.cert, ca.key = ca.certify(template)
	ca.file = writeFile(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.cert.Raw})))
	return ca
}

// certify issues a certificate with a new key. An authority without a certificate signs its own.
func (ca forgeCA) certify(template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	ca.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		ca.t.Fatal(err)
	}
	issuer, signer := ca.cert, ca.key
	if issuer == nil {
		issuer, signer = template, key
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), signer)
	if err != nil {
		ca.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		ca.t.Fatal(err)
	}
	return cert, key
}

// serve serves h with a certificate for host that is valid until the given time.
func (ca forgeCA) serve(h http.Handler, host string, until time.Time) *httptest.Server {
	ca.t.Helper()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: host}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: until,
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	cert, key := ca.certify(template)
	srv := httptest.NewUnstartedServer(h)
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // some handshakes fail on purpose
	srv.EnableHTTP2 = true
	srv.StartTLS()
	ca.t.Cleanup(srv.Close)
	return srv
}

const loopback = "127.0.0.1"

// forge serves a repository like a forge: git's own program behind TLS, for requests with the token.
func (ca forgeCA) forge(g git) gitsource.Remote {
	ca.t.Helper()
	backend := gitHTTP(ca.t, g)
	srv := ca.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "s3cret" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}), loopback, time.Now().Add(time.Hour))
	return gitsource.Remote{URL: srv.URL + "/remote.git", CAFile: ca.file, TokenFile: writeFile(ca.t, "token", "s3cret\n")}
}

// TestHTTPSTrust: a forge is accepted only if its certificate is valid, for its host, and from a configured authority.
func TestHTTPSTrust(t *testing.T) {
	g := newGit(t)
	history := g.history("main", 2)
	backend := gitHTTP(t, g)
	ours, other := newForgeCA(t), newForgeCA(t)
	later := time.Now().Add(time.Hour)
	for name, test := range map[string]struct {
		host   string
		until  time.Time
		caFile string
		want   string // "" if the fetch succeeds
	}{
		"right":        {loopback, later, ours.file, ""},
		"wrong_ca":     {loopback, later, other.file, "certificate signed by unknown authority"},
		"no_ca":        {loopback, later, "", "certificate signed by unknown authority"},
		"another_host": {"forge.example.org", later, ours.file, "certificate"},
		"expired":      {loopback, time.Now().Add(-time.Minute), ours.file, "certificate has expired"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := ours.serve(backend, test.host, test.until)
			s, _ := openSource(t, gitsource.Remote{URL: srv.URL + "/remote.git", CAFile: test.caFile})
			if test.want == "" {
				fetch(t, s, history...)
				return
			}
			wantRemoteError(t, s, test.want)
		})
	}
}

// TestHTTPSRedirectKeepsTheToken: a redirect of the refs or of the pack to another host of the same authority is refused before
// a connection to that host.
func TestHTTPSRedirectKeepsTheToken(t *testing.T) {
	g := newGit(t)
	g.history("main", 2)
	backend := gitHTTP(t, g)
	ca := newForgeCA(t)
	later := time.Now().Add(time.Hour)
	asked := make(chan string, 10)
	elsewhere := ca.serve(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.Header.Get("Authorization")
	}), loopback, later)
	for _, redirected := range []string{"/info/refs", "/git-upload-pack"} {
		t.Run(filepath.Base(redirected), func(t *testing.T) {
			srv := ca.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, redirected) {
					http.Redirect(w, r, elsewhere.URL+r.URL.RequestURI(), http.StatusTemporaryRedirect)
					return
				}
				backend.ServeHTTP(w, r)
			}), loopback, later)
			s, _ := openSource(t, gitsource.Remote{
				URL: srv.URL + "/remote.git", CAFile: ca.file, TokenFile: writeFile(t, "token", "s3cret"),
			})
			wantRemoteError(t, s, "redirected")
			if len(asked) != 0 {
				t.Errorf("the other host got a request: %q", <-asked)
			}
		})
	}
}

// TestHTTPSRefusesCredentialsInTheURL: Open returns an error before any connection.
func TestHTTPSRefusesCredentialsInTheURL(t *testing.T) {
	g := newGit(t)
	g.history("main", 1)
	remote := newForgeCA(t).forge(g)
	remote.URL = strings.Replace(remote.URL, "https://", "https://x-access-token:s3cret@", 1)
	_, err := gitsource.Open(gitsource.Options{Dir: t.TempDir(), Branch: "main", Remotes: []gitsource.Remote{remote}})
	if err == nil || !strings.Contains(err.Error(), "credentials in the URL") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v, want credentials refused and not repeated", err)
	}
}

// TestHTTPSTrees fetches commits whose trees have entries that must never be read, and reads the entries beside them.
func TestHTTPSTrees(t *testing.T) {
	g := newGit(t)
	blob := string(g.blob("x"))
	clean := string(g.files(map[string]string{"ok.yaml": "1"}))
	first := g.commit(gitsource.ID(clean), "first")
	remote := newForgeCA(t).forge(g)
	for name, test := range map[string]struct {
		entry [3]string
		want  string
	}{
		"symlink":   {[3]string{"120000", "link.yaml", blob}, "symbolic links"},
		"submodule": {[3]string{"160000", "sub", string(first)}, "submodules"},
		"dot_dot":   {[3]string{"40000", "..", clean}, "reserved"},
		"dot_git":   {[3]string{"40000", ".git", clean}, "reserved"},
		"dot_GIT":   {[3]string{"100644", ".GIT", blob}, "reserved"},
		"not_utf8":  {[3]string{"100644", "caf\xe9.yaml", blob}, "not UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			inner := g.tree(test.entry)
			root := g.tree([3]string{"40000", "guests", string(inner)}, [3]string{"40000", "other", clean})
			tip := g.commit(root, name, first)
			g.push("main", tip)
			s, _ := openSource(t, remote)
			head, err := s.Fetch(t.Context())
			if err != nil || head.Commit != tip {
				t.Fatalf("Fetch: got %v, %v, want %s", head, err, tip)
			}
			repo := s.Repository()
			_, err = repo.Files(t.Context(), root, gitsource.TreeOptions{})
			var refused *gitsource.TreeError
			if !errors.As(err, &refused) || refused.Path != "guests/"+test.entry[1] || !strings.Contains(refused.Reason, test.want) {
				t.Errorf("Files: got %v, want %s at guests/%q", err, test.want, test.entry[1])
			}
			if files, err := repo.Files(t.Context(), root, gitsource.TreeOptions{Paths: []string{"other"}}); err != nil || len(files) != 1 {
				t.Errorf("beside it: got %v, %v, want one file", files, err)
			}
		})
	}
}

// TestHTTPSManyRefs finds one branch among 10,000 refs, some of which have names that are not UTF-8.
func TestHTTPSManyRefs(t *testing.T) {
	g := newGit(t)
	history := g.history("main", 3)
	var refs strings.Builder
	for i := range 10_000 {
		name := fmt.Sprintf("refs/heads/feature/%d", i)
		if i%100 == 0 {
			name += "-caf\xe9"
		}
		fmt.Fprintf(&refs, "create %s %s\n", name, history[i%3])
	}
	g.exec(refs.String(), "--git-dir", g.dir, "update-ref", "--stdin")
	g.run("pack-refs", "--all")
	s, dir := openSource(t, newForgeCA(t).forge(g))
	fetch(t, s, history...)
	fsck(t, dir)
	if got := (git{t, dir}).run("for-each-ref", "--format=%(refname)"); got != "refs/heads/main" {
		t.Errorf("refs of the store: got %q, want only main", got)
	}
}

// TestHTTPSSHA256: the error for a repository with SHA-256 ids names the cause.
func TestHTTPSSHA256(t *testing.T) {
	g := newGit(t, "--object-format=sha256")
	tree := g.exec("", "--git-dir", g.dir, "mktree")
	g.push("main", gitsource.ID(g.run("commit-tree", tree, "-m", "m")))
	s, _ := openSource(t, newForgeCA(t).forge(g))
	wantRemoteError(t, s, "SHA-256")
}

// TestHTTPSShallow: a repository without the full history is refused.
func TestHTTPSShallow(t *testing.T) {
	g := newGit(t)
	g.history("main", 5)
	shallow := git{t, filepath.Join(t.TempDir(), "remote.git")}
	g.exec("", "clone", "-q", "--bare", "--depth=2", "file://"+g.dir, shallow.dir)
	s, dir := openSource(t, newForgeCA(t).forge(shallow))
	wantRemoteError(t, s, "incomplete history")
	if n := looseObjects(t, dir); n != 0 {
		t.Errorf("got %d objects in the store, want none", n)
	}
}

// TestHTTPSLargeBlobs fetches files that a repository may contain although no manifest is so large. A pack above the limit is refused before it enters the store.
func TestHTTPSLargeBlobs(t *testing.T) {
	const mb = 1_000_000
	noise := make([]byte, 20*mb) // does not compress, so that the pack is as large
	source := mathrand.NewChaCha8([32]byte{1})
	_, _ = source.Read(noise)
	for name, test := range map[string]struct {
		content  string
		maxFetch int64
		want     string // "" if the fetch succeeds
	}{
		"100_MB":    {strings.Repeat("\x00", 100*mb), 0, ""},
		"200_MB":    {strings.Repeat("\x00", 200*mb), 0, ""},
		"huge_pack": {string(noise), 10 * mb, "larger than the limit"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGit(t)
			g.run("config", "core.compression", "1")
			clean := string(g.files(map[string]string{"ok.yaml": "1"}))
			root := g.tree([3]string{"100644", "large.bin", string(g.blob(test.content))}, [3]string{"40000", "other", clean})
			tip := g.commit(root, "large")
			g.push("main", tip)
			s, err := gitsource.Open(gitsource.Options{
				Dir: filepath.Join(t.TempDir(), "store"), Branch: "main", MaxFetchBytes: test.maxFetch,
				Remotes: []gitsource.Remote{newForgeCA(t).forge(g)},
			})
			if err != nil {
				t.Fatal(err)
			}
			if test.want != "" {
				wantRemoteError(t, s, test.want)
				return
			}
			if head, err := s.Fetch(t.Context()); err != nil || head.Commit != tip {
				t.Fatalf("Fetch: got %v, %v, want %s", head, err, tip)
			}
			repo := s.Repository()
			if _, err := repo.Files(t.Context(), root, gitsource.TreeOptions{}); !errors.Is(err, gitsource.ErrTooLarge) {
				t.Errorf("Files: got %v, want ErrTooLarge", err)
			}
			if files, err := repo.Files(t.Context(), root, gitsource.TreeOptions{Suffixes: []string{".yaml"}}); err != nil || len(files) != 1 {
				t.Errorf("beside it: got %d files, %v, want 1", len(files), err)
			}
		})
	}
}

// TestHTTPSFallsBackFromAHangingPack: if a forge sends half a pack and then nothing, the branch comes from the next forge.
func TestHTTPSFallsBackFromAHangingPack(t *testing.T) {
	g := newGit(t)
	history := g.history("main", 120)
	ca := newForgeCA(t)
	backend := gitHTTP(t, g)
	hung := make(chan struct{}, 1)
	hanging := ca.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !asksForPack(r) {
			backend.ServeHTTP(w, r)
			return
		}
		whole := httptest.NewRecorder()
		backend.ServeHTTP(whole, r)
		w.Header().Set("Content-Type", whole.Header().Get("Content-Type"))
		_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
		_ = http.NewResponseController(w).Flush()
		hung <- struct{}{}
		<-r.Context().Done()
	}), loopback, time.Now().Add(time.Hour))
	s, err := gitsource.Open(gitsource.Options{
		Dir: filepath.Join(t.TempDir(), "store"), Branch: "main", Timeout: 3 * time.Second,
		Remotes: []gitsource.Remote{{URL: hanging.URL + "/remote.git", CAFile: ca.file}, ca.forge(g)},
	})
	if err != nil {
		t.Fatal(err)
	}
	fetch(t, s, history...)
	if len(hung) != 1 {
		t.Error("the first forge got no request for a pack")
	}
}
