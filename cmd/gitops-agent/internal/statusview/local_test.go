package statusview

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"
	"gitops-agent/internal/status/access"
	"gitops-agent/reconcile/journal"
)

// serve answers every request with an empty status until the test ends, and counts the connections.
func serve(t *testing.T, listener net.Listener) *atomic.Int64 {
	t.Helper()
	var connections atomic.Int64
	server := &http.Server{
		Handler:     http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"schemaVersion": 1}`) }),
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context { connections.Add(1); return ctx },
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close(); <-ended })
	return &connections
}

// localConfig returns the config of an agent whose port another program took, and that program's connections.
func localConfig(t *testing.T) (agent.Config, *atomic.Int64) {
	t.Helper()
	other, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dir, address := t.TempDir(), other.Addr().String()
	config := agent.Config{StateDir: dir, Listen: &address, Status: agent.StatusConfig{TokenFile: filepath.Join(dir, "token")}}
	if err := os.WriteFile(config.Status.TokenFile, []byte("t0ken"), 0o600); err != nil {
		t.Fatal(err)
	}
	return config, serve(t, other)
}

func readLocal(t *testing.T, config agent.Config) error {
	t.Helper()
	client, err := NewClient(Target{}, func() (agent.Config, error) { return config, nil })
	if err != nil {
		return err
	}
	t.Cleanup(client.Close)
	_, _, err = client.Read(t.Context())
	return err
}

// TestAgentIsDown: the program that took the port of an agent that is down gets no connection, and so no token, and its answer is not shown.
func TestAgentIsDown(t *testing.T) {
	t.Parallel()
	config, connections := localConfig(t)
	err := readLocal(t, config)
	if hint, _ := term.Hint(err); !errors.Is(err, access.ErrNoAgent) || !strings.Contains(err.Error(), filepath.Join(config.StateDir, access.SocketName)+": no agent listens") || !strings.Contains(hint, "start the agent") {
		t.Errorf("got %v with hint %q, want that no agent listens", err, hint)
	}
	listener, err := access.ListenSocket(t.Context(), config.StateDir)
	if err != nil {
		t.Fatal(err)
	}
	serve(t, listener)
	if err := readLocal(t, config); err != nil {
		t.Errorf("with an agent: got %v, want its status", err)
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("got %d connections to the port, want none", n)
	}
}

// TestHintWhileTheStateDirectoryIsInUse: an agent that starts, and one that could not make its socket, hold the lock.
func TestHintWhileTheStateDirectoryIsInUse(t *testing.T) {
	t.Parallel()
	config, _ := localConfig(t)
	j, err := journal.Open(journal.Options{Dir: config.JournalDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	err = readLocal(t, config)
	if hint, _ := term.Hint(err); !errors.Is(err, access.ErrNoAgent) || !strings.Contains(hint, "a program uses the state directory") {
		t.Errorf("got %v with hint %q, want that the directory is in use", err, hint)
	}
}

// TestNoProxy: the settings of the environment for other hosts have no effect on the agent of this host.
func TestNoProxy(t *testing.T) {
	config, connections := localConfig(t)
	t.Setenv("HTTP_PROXY", "http://"+*config.Listen)
	t.Setenv("ALL_PROXY", "http://"+*config.Listen)
	if err := readLocal(t, config); !errors.Is(err, access.ErrNoAgent) || connections.Load() != 0 {
		t.Errorf("got %v and %d connections to the proxy, want that no agent listens, and none", err, connections.Load())
	}
}
