package agent_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/internal/agent"
	"gitops-agent/internal/attest"
)

// An agent states that its cluster matches a revision, once, also if it is started again.
func TestAttestation(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	first := h.push("a container")
	public, private, err := ed25519.GenerateKey(rand.Reader)
	h.ok(err)
	der, err := x509.MarshalPKCS8PrivateKey(private)
	h.ok(err)
	publicDER, err := x509.MarshalPKIXPublicKey(public)
	h.ok(err)
	key := filepath.Join(t.TempDir(), "attest.key")
	h.write(key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
	h.config.Attest = agent.AttestConfig{KeyFile: key}
	h.ok(h.config.Check())
	directory := attest.Directory{Path: filepath.Join(h.config.StateDir, "attestations")}
	file := filepath.Join(directory.Path, h.config.Cluster.Name, first+".json")
	runUntil := func(done func() bool) {
		a, err := h.open()
		h.ok(err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- a.Run(ctx) }()
		for deadline := time.Now().Add(2 * time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("not done within two minutes")
			}
			if r := a.Report(); r.Converged && r.Source.Accepted.Commit != first {
				t.Fatalf("got %s in force, want %s", r.Source.Accepted.Commit, first)
			}
		}
		stop()
		h.ok(<-ended)
		h.ok(a.Close())
	}
	exists := func() bool {
		_, err := os.Stat(file)
		return err == nil
	}
	runUntil(exists)
	keys, err := attest.ParseKeys(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: publicDER}))
	h.ok(err)
	source, err := directory.Open()
	h.ok(err)
	found, err := attest.Reader{Source: source, Keys: keys}.About(t.Context(), gitsource.ID(first))
	h.ok(err)
	if len(found) != 1 || found[0].Problem != "" || found[0].Cluster != h.config.Cluster.Name || found[0].Guests == 0 {
		t.Errorf("got %+v, want a statement of %s about its guests", found, h.config.Cluster.Name)
	}
	before, err := os.ReadFile(file)
	h.ok(err)
	a, err := h.open()
	h.ok(err)
	_, err = a.Once(t.Context())
	h.ok(err)
	h.ok(a.Close())
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("the statement was replaced, or is gone: %v", err)
	}
}

func TestAttestationIsMisconfigured(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config attestCase
		want   string
	}{
		"no key":         {attestCase{directory: "."}, "attest.key_file is required"},
		"key is missing": {attestCase{key: "missing"}, "attest.key_file"},
		"key is text":    {attestCase{key: "text", content: "hello"}, "openssl genpkey"},
		"key is empty":   {attestCase{key: "empty", content: "\n"}, "is empty"},
		"no directory":   {attestCase{key: "text", content: "hello", directory: "missing"}, "attest.directory"},
	} {
		h := newHome(t)
		dir := t.TempDir()
		h.config.Attest = agent.AttestConfig{}
		if test.config.key != "" {
			h.config.Attest.KeyFile = filepath.Join(dir, test.config.key)
		}
		if test.config.content != "" {
			h.write(h.config.Attest.KeyFile, test.config.content)
		}
		if test.config.directory != "" {
			h.config.Attest.Directory = filepath.Join(dir, test.config.directory)
		}
		if err := h.config.Check(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

// attestCase is a configuration of attestations: names of files in a new directory.
type attestCase struct{ key, content, directory string }
