package proxmox

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"gitops-agent/reconcile"
)

func TestFailover(t *testing.T) {
	var requests atomic.Int64
	server := rawServer(t, func(req *http.Request) string {
		requests.Add(1)
		if req.Method == http.MethodGet {
			return raw(200, "OK", `{"data":{"version":"9.2.11"}}`)
		}
		return raw(200, "OK", `{"data":"`+testUPID+`"}`)
	})
	client := newClient(t, Options{Endpoints: []string{"http://" + closedPort(t), server.URL}})

	if _, err := client.Do(t.Context(), startCall); !errors.Is(err, reconcile.ErrNotReady) || requests.Load() != 0 {
		t.Errorf("got error %v after %d requests, want ErrNotReady: a write does not move on", err, requests.Load())
	}
	if _, err := client.Version(t.Context()); err != nil {
		t.Errorf("got error %v, want the second endpoint's reply", err)
	}
	if _, err := client.Do(t.Context(), startCall); err != nil {
		t.Errorf("got error %v, want the write to follow the reads", err)
	}
	if got := requests.Load(); got != 2 {
		t.Errorf("got %d requests, want 2", got)
	}
}

// Only a connection that could not be made moves a read on: a member that answers badly has answered.
func TestFailoverNeedsDialError(t *testing.T) {
	var second atomic.Int64
	other := rawServer(t, func(*http.Request) string {
		second.Add(1)
		return raw(200, "OK", `{"data":{"version":"9.2.11"}}`)
	})
	for name, text := range map[string]string{"gateway": raw(595, "Connection refused", ""), "dropped": ""} {
		first := rawServer(t, func(*http.Request) string { return text })
		client := newClient(t, Options{Endpoints: []string{first.URL, other.URL}})
		if _, err := client.Version(t.Context()); !errors.Is(err, reconcile.ErrNotReady) || second.Load() != 0 {
			t.Errorf("%s: got error %v and %d requests at the second endpoint, want ErrNotReady and none", name, err, second.Load())
		}
	}
}
