package agent

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/theupdateframework/go-tuf/v2/metadata"
)

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// mirror is a TUF repository with its keys, served on the loopback address.
type mirror struct {
	*testing.T
	url     string
	root    *metadata.Metadata[metadata.RootType]
	keys    map[string]ed25519.PrivateKey
	version int64

	mu    sync.Mutex
	files map[string][]byte // by path
	asked int
	serve func(w http.ResponseWriter, r *http.Request) // instead of files, if not nil
}

var tufRoles = []string{"root", "targets", "snapshot", "timestamp"}

func newMirror(t *testing.T) *mirror {
	t.Helper()
	m := &mirror{T: t, keys: map[string]ed25519.PrivateKey{}, files: map[string][]byte{}, root: metadata.Root(soon())}
	for _, role := range tufRoles {
		m.addKey(role)
	}
	m.publishRoot()
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	m.url = server.URL
	return m
}

// addKey adds a key to a role.
func (m *mirror) addKey(role string) {
	m.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		m.Fatal(err)
	}
	key, err := metadata.KeyFromPublicKey(public)
	if err != nil {
		m.Fatal(err)
	}
	if err := m.root.Signed.AddKey(key, role); err != nil {
		m.Fatal(err)
	}
	m.keys[role] = private
}

// rotate replaces the key of a role, and publishes a root with the new key.
func (m *mirror) rotate(role string) {
	m.Helper()
	for _, id := range m.root.Signed.Roles[role].KeyIDs {
		if err := m.root.Signed.RevokeKey(id, role); err != nil {
			m.Fatal(err)
		}
	}
	m.addKey(role)
	m.root.Signed.Version++
	m.root.ClearSignatures()
	m.publishRoot()
}

func (m *mirror) publishRoot() {
	m.Helper()
	m.put(fmt.Sprintf("/%d.root.json", m.root.Signed.Version), sealed(m, m.root, "root"))
}

// sealed returns metadata signed by the key of a role.
func sealed[T metadata.Roles](m *mirror, of *metadata.Metadata[T], role string) []byte {
	m.Helper()
	signer, err := signature.LoadSigner(m.keys[role], crypto.Hash(0))
	if err != nil {
		m.Fatal(err)
	}
	if _, err := of.Sign(signer); err != nil {
		m.Fatal(err)
	}
	data, err := of.ToBytes(false)
	if err != nil {
		m.Fatal(err)
	}
	return data
}

// publish publishes content as the trusted root of the next version. The timestamp is valid until the expiry.
func (m *mirror) publish(content []byte, expires time.Time) {
	m.Helper()
	m.version++
	target, err := metadata.TargetFile().FromBytes(rootTarget, content, "sha256")
	if err != nil {
		m.Fatal(err)
	}
	lasting := expires.AddDate(1, 0, 0)
	targets, snapshot, timestamp := metadata.Targets(lasting), metadata.Snapshot(lasting), metadata.Timestamp(expires)
	targets.Signed.Version, snapshot.Signed.Version, timestamp.Signed.Version = m.version, m.version, m.version
	targets.Signed.Targets[rootTarget] = target
	snapshot.Signed.Meta["targets.json"] = metadata.MetaFile(m.version)
	timestamp.Signed.Meta["snapshot.json"] = metadata.MetaFile(m.version)
	m.put(fmt.Sprintf("/targets/%s.%s", digestOf(content), rootTarget), content)
	m.put(fmt.Sprintf("/%d.targets.json", m.version), sealed(m, targets, "targets"))
	m.put(fmt.Sprintf("/%d.snapshot.json", m.version), sealed(m, snapshot, "snapshot"))
	m.put("/timestamp.json", sealed(m, timestamp, "timestamp"))
}

func (m *mirror) put(path string, content []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[path] = content
}

func (m *mirror) withdraw(path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, path)
}

func (m *mirror) get(path string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.files[path]
}

// instead replaces the handler of the mirror; nil restores the files.
func (m *mirror) instead(serve func(w http.ResponseWriter, r *http.Request)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.serve = serve
}

// refreshes returns the number of requests for the timestamp.
func (m *mirror) refreshes() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}

func (m *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	content, found := m.files[r.URL.Path]
	serve := m.serve
	if strings.HasSuffix(r.URL.Path, "timestamp.json") {
		m.asked++
	}
	m.mu.Unlock()
	switch {
	case serve != nil:
		serve(w, r)
	case !found:
		http.NotFound(w, r)
	default:
		_, _ = w.Write(content)
	}
}

// follow configures the host to refresh from the mirror, with the mirror's first root.
func (h *host) follow(m *mirror) {
	h.Helper()
	h.write("tuf-root.json", m.get("/1.root.json"))
	h.tuf = TUFConfig{URL: m.url, RootFile: h.path("tuf-root.json")}
}
