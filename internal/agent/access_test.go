package agent_test

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

func TestListeningToTheNetworkNeedsUsersOrAStatement(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	every := "0.0.0.0:0"
	h.config.Listen = &every
	a, err := h.open()
	if err == nil {
		h.ok(a.Close())
	}
	if err == nil || !strings.Contains(err.Error(), "status.token_file") {
		t.Errorf("got %v, want an error with the remedies", err)
	}
	if err := h.config.Check(); err == nil || !strings.Contains(err.Error(), "status.unauthenticated") {
		t.Errorf("config check: got %v, want the same error", err)
	}
	h.config.Status.TokenFile = filepath.Join(t.TempDir(), "status-token")
	h.write(h.config.Status.TokenFile, "")
	if err := h.config.Check(); err == nil || !strings.Contains(err.Error(), "is empty") {
		t.Errorf("config check with an empty token: got %v, want an error", err)
	}
	h.write(h.config.Status.TokenFile, "t0ken\n")
	a, err = h.open()
	h.ok(err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	_, port, err := net.SplitHostPort(a.Address())
	h.ok(err)
	for token, want := range map[string]int{"": http.StatusUnauthorized, "t0ken": http.StatusOK} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+port+"/status.json", http.NoBody)
		h.ok(err)
		r.Header.Set("Authorization", "Bearer "+token)
		response, err := http.DefaultClient.Do(r)
		h.ok(err)
		h.ok(response.Body.Close())
		if response.StatusCode != want {
			t.Errorf("token %q: got %d, want %d", token, response.StatusCode, want)
		}
	}
	stop()
	h.ok(<-ended)
	h.ok(a.Close())
}
