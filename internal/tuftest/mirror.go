// Package tuftest is a TUF repository for tests: it signs real metadata and serves it on the loopback address.
//
// The only type is Mirror: New starts one, Publish puts a trusted root into it, and the other methods harm it.
package tuftest

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
	"time"

	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/theupdateframework/go-tuf/v2/metadata"
)

// TB is what a Mirror needs of a test: a *testing.T, or a script.
type TB interface {
	Fatal(args ...any)
	Cleanup(stop func())
}

// RootTarget is the name of the trusted root in a repository.
const RootTarget = "trusted_root.json"

// Mirror is a TUF repository with its keys, served on the loopback address.
type Mirror struct {
	TB
	URL     string
	root    *metadata.Metadata[metadata.RootType]
	keys    map[string]ed25519.PrivateKey
	Version int64 // of the newest metadata

	mu    sync.Mutex
	files map[string][]byte // by path
	asked int
	serve func(w http.ResponseWriter, r *http.Request) // instead of files, if not nil
}

var tufRoles = []string{"root", "targets", "snapshot", "timestamp"}

// New starts a repository with its first root and no other metadata. It ends with the test.
func New(t TB) *Mirror {
	m := &Mirror{TB: t, keys: map[string]ed25519.PrivateKey{}, files: map[string][]byte{}, root: metadata.Root(Soon())}
	for _, role := range tufRoles {
		m.addKey(role)
	}
	m.publishRoot()
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	m.URL = server.URL
	return m
}

// addKey adds a key to a role.
func (m *Mirror) addKey(role string) {
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

// Rotate replaces the key of a role, and publishes a root with the new key.
func (m *Mirror) Rotate(role string) {
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

func (m *Mirror) publishRoot() {
	m.Put(fmt.Sprintf("/%d.root.json", m.root.Signed.Version), sealed(m, m.root, "root"))
}

// sealed returns metadata signed by the key of a role.
func sealed[T metadata.Roles](m *Mirror, of *metadata.Metadata[T], role string) []byte {
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

// Publish publishes content as the trusted root of the next version. The timestamp is valid until the expiry.
func (m *Mirror) Publish(content []byte, expires time.Time) {
	m.Version++
	target, err := metadata.TargetFile().FromBytes(RootTarget, content, "sha256")
	if err != nil {
		m.Fatal(err)
	}
	lasting := expires.AddDate(1, 0, 0)
	targets, snapshot, timestamp := metadata.Targets(lasting), metadata.Snapshot(lasting), metadata.Timestamp(expires)
	targets.Signed.Version, snapshot.Signed.Version, timestamp.Signed.Version = m.Version, m.Version, m.Version
	targets.Signed.Targets[RootTarget] = target
	snapshot.Signed.Meta["targets.json"] = metadata.MetaFile(m.Version)
	timestamp.Signed.Meta["snapshot.json"] = metadata.MetaFile(m.Version)
	m.Put(fmt.Sprintf("/targets/%s.%s", Digest(content), RootTarget), content)
	m.Put(fmt.Sprintf("/%d.targets.json", m.Version), sealed(m, targets, "targets"))
	m.Put(fmt.Sprintf("/%d.snapshot.json", m.Version), sealed(m, snapshot, "snapshot"))
	m.Put("/timestamp.json", sealed(m, timestamp, "timestamp"))
}

// Put replaces a file.
func (m *Mirror) Put(path string, content []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[path] = content
}

// Withdraw removes a file.
func (m *Mirror) Withdraw(path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, path)
}

// Get returns a file, nil if there is none.
func (m *Mirror) Get(path string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.files[path]
}

// Instead replaces the handler of the mirror; nil restores the files.
func (m *Mirror) Instead(serve func(w http.ResponseWriter, r *http.Request)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.serve = serve
}

// Refreshes returns the number of requests for the timestamp.
func (m *Mirror) Refreshes() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}

// ServeHTTP serves the files.
func (m *Mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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

// Soon is an expiry that no test reaches.
func Soon() time.Time { return time.Now().UTC().Truncate(time.Second).Add(24 * time.Hour) }

// Digest returns the SHA-256 of a content in hex.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
