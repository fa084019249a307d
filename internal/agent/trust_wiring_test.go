package agent_test

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/theupdateframework/go-tuf/v2/metadata"

	"gitops-agent/internal/agent"
)

// TestAgentRefreshesBesideItsWork: a running agent refreshes in the background, and a single run refreshes after its work. An empty mirror
// affects neither.
func TestAgentRefreshesBesideItsWork(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 100)
	mirror := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		http.NotFound(w, r)
	}))
	t.Cleanup(mirror.Close)
	h := newHome(t)
	rootFile := filepath.Join(t.TempDir(), "root.json")
	h.write(rootFile, tufRoot(t))
	h.config.Trust.TUF = agent.TUFConfig{URL: mirror.URL, RootFile: rootFile}
	h.push("a container")

	single, err := h.open()
	h.ok(err)
	report, err := single.Once(t.Context())
	if err != nil || !report.Converged {
		t.Errorf("once: got %v and converged %v, want the work done", err, report.Converged)
	}
	h.ok(single.Close())
	<-asked

	for len(asked) > 0 {
		<-asked
	}
	running, err := h.open()
	h.ok(err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- running.Run(ctx) }()
	<-asked
	stop()
	h.ok(<-ended)
	h.ok(running.Close())
	h.checkState()
}

// tufRoot returns the root.json of a TUF repository without other files.
func tufRoot(t *testing.T) string {
	t.Helper()
	root := metadata.Root(time.Now().Add(time.Hour))
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := metadata.KeyFromPublicKey(private.Public())
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"root", "targets", "snapshot", "timestamp"} {
		if err := root.Signed.AddKey(key, role); err != nil {
			t.Fatal(err)
		}
	}
	signer, err := signature.LoadSigner(private, crypto.Hash(0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := root.Sign(signer); err != nil {
		t.Fatal(err)
	}
	data, err := root.ToBytes(false)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
