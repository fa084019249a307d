package fleetview

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/statusview"
	"gitops-agent/internal/fleet"
	"gitops-agent/internal/status/access"
	"gitops-agent/reconcile/report"
)

// agentOf serves the status of a cluster.
func agentOf(t *testing.T, cluster string, converged bool) Target {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/status.json" {
			http.NotFound(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(report.NewDocument(report.Report{
			Cluster: cluster, Time: time.Now(), Converged: converged, Writes: report.Writes{Allowed: true},
			Source: report.Source{Branch: "main", Head: "0123456789abcdef", Accepted: &report.Revision{Commit: "0123456789abcdef", Converged: time.Now()}},
			Guests: []report.Guest{{GuestName: report.GuestName{Name: "web-1", VMID: 201}, Sync: report.Synced}},
		}))
	}))
	t.Cleanup(server.Close)
	return Target{Name: server.Listener.Addr().String(), Labels: map[string]string{clusterLabel: cluster, "site": "de"}, Agent: statusview.Target{URL: server.URL}}
}

// deadAgent returns a target that closes every connection.
func deadAgent(t *testing.T) Target {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(server.Close)
	return Target{Name: server.Listener.Addr().String(), Labels: map[string]string{clusterLabel: "rome"}, Agent: statusview.Target{URL: server.URL}}
}

func TestPollHasARowForEveryTarget(t *testing.T) {
	t.Parallel()
	noToken := agentOf(t, "oslo", true)
	noToken.Agent.TokenFile = "/does/not/exist"
	targets := []Target{agentOf(t, "berlin", true), deadAgent(t), agentOf(t, "paris", false), noToken}
	var counted []int
	rows := Poll(t.Context(), targets, func(n, of int) {
		if of != len(targets) {
			t.Errorf("got %d targets, want %d", of, len(targets))
		}
		counted = append(counted, n)
	})
	want := []struct {
		cluster string
		state   fleet.State
		problem string
	}{
		{"oslo", fleet.Unreachable, "/does/not/exist"}, {"rome", fleet.Unreachable, "EOF"}, {"paris", fleet.OutOfSync, ""}, {"berlin", fleet.Converged, ""},
	}
	for i, w := range want {
		if r := rows[i]; r.Cluster != w.cluster || r.State != w.state || !strings.Contains(r.Problem, w.problem) || r.Target == "" || r.URL == "" {
			t.Errorf("got %+v in row %d, want %+v", r, i, w)
		}
	}
	if len(counted) != len(targets) || counted[len(counted)-1] != len(targets) {
		t.Errorf("got progress %v, want 1 to %d", counted, len(targets))
	}
}

func TestWriteTable(t *testing.T) {
	t.Parallel()
	rows := Poll(t.Context(), []Target{agentOf(t, "berlin", true), deadAgent(t)}, nil)
	var out strings.Builder
	WriteTable(&out, rows, time.Now())
	for _, want := range []string{"CLUSTER", "rome", "unreachable", "berlin   converged    main@01234567", "Problems:", "2 clusters: 1 unreachable, 1 converged\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got\n%swithout %q", out.String(), want)
		}
	}
}

func TestServer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	guard, err := access.New(access.Options{Listen: listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	berlin, rome := agentOf(t, "berlin <b>", true), deadAgent(t)
	var broken atomic.Bool
	s := &Server{Interval: 10 * time.Millisecond, Version: "1.2.3", Logger: slog.New(slog.DiscardHandler), Targets: func() ([]Target, error) {
		if broken.Load() {
			return nil, errors.New("agents.yaml: line 3: what is this")
		}
		return []Target{berlin, rome}, nil
	}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listener, guard) }()
	get := func(path string) (int, string) {
		resp, err := http.Get("http://" + listener.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: no Content-Security-Policy", path)
		}
		return resp.StatusCode, string(body)
	}
	// The agents are read in another goroutine, which the test waits for.
	await := func(path string, want ...string) {
		t.Helper()
		for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
			status, body := get(path)
			missing := ""
			for _, text := range want {
				if !strings.Contains(body, text) {
					missing = text
				}
			}
			if status == http.StatusOK && missing == "" {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: got %d and\n%s\nwithout %q", path, status, body, missing)
			}
		}
	}
	await("/healthz", "ok\n")
	await("/", "berlin &lt;b&gt;", `<span class="badge bad">unreachable</span>`, "main@01234567", "site=de", "EOF")
	await("/fleet.json", `"schemaVersion": 1`, `"unreachable": 1`, `"held": 0`, `"cluster": "rome"`)
	broken.Store(true)
	await("/", "what is this", "berlin") // the targets of before stay in use
	if status, _ := get("/status.json"); status != http.StatusNotFound {
		t.Errorf("got %d for another path, want 404", status)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("got %v when the context ended, want nil", err)
	}
}

func TestServerIsNotHealthyBeforeItHasReadTheAgents(t *testing.T) {
	t.Parallel()
	s := &Server{Interval: time.Second}
	reply := httptest.NewRecorder()
	s.serveHealth(reply, nil)
	if reply.Code != http.StatusServiceUnavailable {
		t.Errorf("got %d before the first reading, want 503", reply.Code)
	}
}
