package proxmox

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"

	"github.com/google/go-cmp/cmp"
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

	if _, err := client.Do(t.Context(), startCall, nil); !errors.Is(err, cluster.ErrNotReady) || requests.Load() != 0 {
		t.Errorf("got error %v after %d requests, want ErrNotReady: a write is not sent to the next endpoint", err, requests.Load())
	}
	if _, err := client.Do(t.Context(), startCall, nil); err != nil || requests.Load() != 1 {
		t.Errorf("got error %v after %d requests, want the next write to be sent to the other endpoint", err, requests.Load())
	}
	client = newClient(t, Options{Endpoints: []string{"http://" + closedPort(t), server.URL}})
	if _, err := client.Version(t.Context()); err != nil {
		t.Errorf("got error %v, want the second endpoint's reply", err)
	}
	if _, err := client.Do(t.Context(), startCall, nil); err != nil {
		t.Errorf("got error %v, want the write to be sent to the endpoint that answered the read", err)
	}
	if got := requests.Load(); got != 3 {
		t.Errorf("got %d requests, want 3", got)
	}
}

// A read is sent to the next endpoint if the first one does not answer it itself, and later reads go to the endpoint that answered. An answer of
// the first endpoint is final, also if it is an error.
func TestReadUsesNextEndpoint(t *testing.T) {
	tests := map[string]struct {
		first string // reply of the first endpoint
		moves bool
	}{
		"daemon_down":     {raw(595, "Connection refused", ""), true},
		"bad_gateway":     {raw(502, "Bad Gateway", "<html>"), true},
		"unavailable":     {raw(503, "Service Unavailable", ""), true},
		"dropped":         {"", true},
		"half_a_header":   {"HTTP/1.1 200 OK\r\nContent-Le", true},
		"proxy_timed_out": {raw(596, "Connection timed out", ""), false},
		"gateway_timeout": {raw(504, "Gateway Time-out", ""), false},
		"denied":          {raw(401, "No ticket", ""), false},
		"failed":          {raw(500, "cluster not ready - no quorum?", ""), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var firsts, seconds atomic.Int64
			first := rawServer(t, func(*http.Request) string {
				firsts.Add(1)
				return test.first
			})
			second := rawServer(t, func(*http.Request) string {
				seconds.Add(1)
				return raw(200, "OK", `{"data":{"version":"9.2.11"}}`)
			})
			client := newClient(t, Options{Endpoints: []string{first.URL, second.URL}})
			for range 2 {
				if _, err := client.Version(t.Context()); (err == nil) != test.moves {
					t.Errorf("got error %v, want an answer of the second endpoint: %v", err, test.moves)
				}
			}
			wantFirst, wantSecond := int64(2), int64(0)
			if test.moves {
				wantFirst, wantSecond = 1, 2
			}
			if firsts.Load() != wantFirst || seconds.Load() != wantSecond {
				t.Errorf("got %d and %d requests, want %d and %d", firsts.Load(), seconds.Load(), wantFirst, wantSecond)
			}
		})
	}
}

// If no endpoint answers, a read returns the error of the first endpoint, and the next read begins with the first endpoint.
func TestReadWithoutAnyEndpoint(t *testing.T) {
	var tried []string
	answering := func(name, reply string) string {
		return rawServer(t, func(*http.Request) string {
			tried = append(tried, name)
			return reply
		}).URL
	}
	client := newClient(t, Options{Endpoints: []string{
		answering("a", raw(595, "No route to host", "")), answering("b", raw(503, "Service Unavailable", "")), "http://" + closedPort(t),
	}})
	for range 2 {
		var api *APIError
		if _, err := client.Version(t.Context()); !errors.Is(err, cluster.ErrNotReady) || !errors.As(err, &api) || api.Status != 595 {
			t.Errorf("got error %v, want ErrNotReady with status 595", err)
		}
	}
	if diff := cmp.Diff([]string{"a", "b", "a", "b"}, tried); diff != "" {
		t.Errorf("endpoints (-want +got)\n%s", diff)
	}
}

// A write is not sent to another endpoint after any reply of the first one, because the first one may have carried it out.
func TestWriteUsesOneEndpoint(t *testing.T) {
	for name, text := range map[string]string{"daemon_down": raw(595, "Connection refused", ""), "dropped": "", "unavailable": raw(503, "", "")} {
		t.Run(name, func(t *testing.T) {
			var first, second atomic.Int64
			bad := rawServer(t, func(*http.Request) string {
				first.Add(1)
				return text
			})
			good := rawServer(t, func(*http.Request) string {
				second.Add(1)
				return raw(200, "OK", `{"data":"`+testUPID+`"}`)
			})
			client := newClient(t, Options{Endpoints: []string{bad.URL, good.URL}})
			if _, err := client.Do(t.Context(), startCall, nil); !errors.Is(err, cluster.ErrOutcomeUnknown) || first.Load() != 1 || second.Load() != 0 {
				t.Errorf("got error %v after %d and %d requests, want ErrOutcomeUnknown after one to the first", err, first.Load(), second.Load())
			}
		})
	}
}

// An endpoint that accepts requests and never answers delays one read, and not the reads after it.
func TestSilentEndpointIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hosts []string
		client := newClient(t, Options{
			Endpoints: []string{"https://pve1.test", "https://pve2.test"},
			Transport: roundTrip(func(req *http.Request) (reply, error) {
				hosts = append(hosts, req.URL.Hostname())
				if req.URL.Hostname() == "pve1.test" {
					<-req.Context().Done()
					return reply{}, req.Context().Err()
				}
				return ok(`{"version":"9.2.11"}`), nil
			}),
		})
		if _, err := client.Version(t.Context()); !errors.Is(err, cluster.ErrNotReady) || !errors.Is(err, errTimeout) {
			t.Errorf("got error %v, want ErrNotReady because of the time limit", err)
		}
		if _, err := client.Version(t.Context()); err != nil {
			t.Errorf("got error %v, want the answer of the other endpoint", err)
		}
		if diff := cmp.Diff([]string{"pve1.test", "pve2.test"}, hosts); diff != "" {
			t.Errorf("endpoints (-want +got)\n%s", diff)
		}
	})
}

// Two endpoints of one cluster over TLS: one of them stops, between calls and during a write.
func TestFailoverOnSimulator(t *testing.T) {
	sim := pvesim.New(pvesim.Options{Nodes: []string{"pve1", "pve2"}})
	t.Cleanup(sim.Close)
	certificate, err := pvesim.NewCertificate()
	if err != nil {
		t.Fatal(err)
	}
	first, stopFirst := serveEndpoint(t, sim, certificate)
	second, _ := serveEndpoint(t, sim, certificate)
	client := simClient(t, sim, Options{Endpoints: []string{first, second}, CAFile: caFile(t, certificate.PEM)})

	create := createCall
	create.VMID = 101
	if err := sim.Inject(pvesim.Fault{Kind: pvesim.DropAfter, Method: "POST", Path: "^/nodes/pve1/qemu$"}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Do(t.Context(), create, nil); !errors.Is(err, cluster.ErrOutcomeUnknown) {
		t.Errorf("got error %v, want ErrOutcomeUnknown", err)
	}
	stopFirst()
	if taken, err := client.Exists(t.Context(), 101); err != nil || !taken {
		t.Errorf("got taken %v, error %v, want the second endpoint to report that the vmid is taken", taken, err)
	}
	create.VMID = 102
	upid, err := client.Do(t.Context(), create, nil)
	if err != nil {
		t.Fatalf("got error %v, want the write to be sent to the endpoint that answered the read", err)
	}
	if task, err := client.Wait(t.Context(), upid); err != nil || !task.OK() {
		t.Errorf("got task %+v, error %v, want it to end well", task, err)
	}
	for _, vmid := range []int{101, 102} {
		if got := sim.Effects(vmid, pvesim.Created); got != 1 {
			t.Errorf("vmid %d: got %d guests created, want 1", vmid, got)
		}
	}

	sim.StopNode("pve2") // the other node reports it
	if _, err := client.Tasks(t.Context(), cluster.TaskQuery{Node: "pve2"}); !errors.Is(err, cluster.ErrNotReady) {
		t.Errorf("got error %v, want ErrNotReady", err)
	}
}

// serveEndpoint serves a simulator on loopback until it is stopped.
func serveEndpoint(t *testing.T, sim *pvesim.Sim, certificate *pvesim.Certificate) (url string, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- sim.Serve(ctx, listener, certificate.Config) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(stop)
	return "https://" + listener.Addr().String(), stop
}

// simClient returns a client with the simulator's token.
func simClient(t *testing.T, sim *pvesim.Sim, options Options) *Client {
	t.Helper()
	options.TokenFile = filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(options.TokenFile, []byte(sim.Token(simToken)), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}
