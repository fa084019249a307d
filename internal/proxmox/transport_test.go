package proxmox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/bounds"
	"gitops-agent/internal/proxmox/route"
	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"

	"github.com/google/go-cmp/cmp"
	pve "github.com/luthermonson/go-proxmox"
	"golang.org/x/sys/unix"
)

// The library alone accepts these replies as successes, or as guests with an empty configuration.
func TestLibraryCallsFailOnEveryStatus(t *testing.T) {
	for _, status := range []int{202, 302, 400, 401, 403, 404, 429, 500, 501, 502, 503, 504, 595, 596, 599} {
		for _, body := range []string{"", `{"data":{}}`, "<html>"} {
			library := inProcess(t, always(status, "Reason of the server", body)).api
			var upid string
			var config map[string]any
			var container pve.Container
			calls := map[string]error{
				"put":  library.Put(t.Context(), "/nodes/pve1/qemu/100/config", map[string]string{"cores": "2"}, nil),
				"post": library.Post(t.Context(), "/nodes/pve1/qemu", map[string]string{"vmid": "100"}, &upid),
				"get":  library.Get(t.Context(), "/nodes/pve1/qemu/100/config", &config),
				"type": library.Get(t.Context(), "/nodes/pve1/lxc/100/config", &container),
			}
			for call, err := range calls {
				var api *wire.APIError
				if !errors.As(err, &api) || api.Status != status || api.Reason != "Reason of the server" {
					t.Errorf("%s answered %d %q: got error %v, want an *APIError", call, status, body, err)
				}
			}
		}
	}
}

func TestLibraryCallsReadWholeReplies(t *testing.T) {
	library := inProcess(t, always(200, "OK", `{"data":{"cores":4}}`)).api
	var config map[string]any
	if err := library.Get(t.Context(), "/nodes/pve1/qemu/100/config", &config); err != nil || config["cores"] != 4.0 {
		t.Errorf("got %v, error %v, want cores 4", config, err)
	}
}

func TestReaderCannotWrite(t *testing.T) {
	server := always(200, "OK", `{"data":null}`)
	reader, err := NewReader(Options{Endpoints: []string{"https://pve1.test"}, TokenFile: tokenFile(t), Transport: server})
	if err != nil {
		t.Fatal(err)
	}
	client := inProcess(t, server)
	for name, library := range map[string]*pve.Client{"reader": reader.api, "client's reader": client.Reader.api} {
		for method, err := range map[string]error{
			"post":   library.Post(t.Context(), "/nodes/pve1/qemu", map[string]string{"vmid": "100"}, nil),
			"put":    library.Put(t.Context(), "/nodes/pve1/qemu/100/config", nil, nil),
			"delete": library.Delete(t.Context(), "/nodes/pve1/qemu/100", nil),
		} {
			if !errors.Is(err, wire.ErrReadOnly) {
				t.Errorf("%s, %s: got error %v, want %v", name, method, err, wire.ErrReadOnly)
			}
		}
	}
	if len(server.got) != 0 {
		t.Errorf("got requests %v, want none", server.got)
	}
}

// Without a reply the outcome of a write is unknown, and the write is not sent again.
func TestWriteIsSentOnce(t *testing.T) {
	for name, text := range map[string]string{
		"dropped":        "",
		"half_a_header":  "HTTP/1.1 200 OK\r\nContent-Le",
		"truncated_body": "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"data\":",
		"invalid_json":   raw(200, "OK", `{"data":`),
		"no_task":        raw(200, "OK", `{"data":null}`),
		"not_a_upid":     raw(200, "OK", `{"data":"started"}`),
		"bad_gateway":    raw(596, "Connection timed out", ""),
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int64
			server := rawServer(t, func(*http.Request) string {
				requests.Add(1)
				return text
			})
			client := newClient(t, Options{Endpoints: []string{server.URL, server.URL}})
			_, err := client.Do(t.Context(), cluster.Call{Op: cluster.OpCreate, Kind: guest.VirtualMachine, Node: "pve1", VMID: 101, CloneOf: 9000}, nil)
			if !errors.Is(err, cluster.ErrOutcomeUnknown) {
				t.Errorf("got error %v, want ErrOutcomeUnknown", err)
			}
			if got := requests.Load(); got != 1 {
				t.Errorf("got %d requests, want 1", got)
			}
		})
	}
}

func TestReadFailsOnBrokenReply(t *testing.T) {
	for name, text := range map[string]string{
		"dropped":        "",
		"truncated_body": "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"data\":",
		"invalid_json":   raw(200, "OK", `{"data":[{"key":"cores"`),
		"no_data":        raw(200, "OK", `{}`),
		"null":           raw(200, "OK", `{"data":null}`),
		"no_digest":      raw(200, "OK", `{"data":[{"key":"cores","value":1}]}`),
		"empty":          raw(200, "OK", ``),
		"html":           raw(200, "OK", `<html>welcome</html>`),
	} {
		t.Run(name, func(t *testing.T) {
			server := rawServer(t, func(*http.Request) string { return text })
			client := newClient(t, Options{Endpoints: []string{server.URL}})
			got, err := client.Observe(t.Context(), vmRow)
			if err == nil || errors.Is(err, cluster.ErrNotExist) || got.Keys != nil {
				t.Errorf("got %v, error %v, want an error other than ErrNotExist", got, err)
			}
			if inventory, err := client.Inventory(t.Context()); err == nil && name != "no_digest" {
				t.Errorf("got inventory %v, want an error", inventory)
			}
		})
	}
}

// TestValuesOfAReplyAreBounded reads a list with more elements than a cluster has. Decoded, each two bytes would be a struct.
func TestValuesOfAReplyAreBounded(t *testing.T) {
	client := inProcess(t, roundTrip(func(*http.Request) (stubReply, error) { return ok("[" + strings.Repeat("0,", 200_000) + "0]"), nil }))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := get[[]struct{ Name [64]byte }](t.Context(), client.Reader, &wire.Exchange{Route: route.Resources, Path: "/cluster/resources"})
	runtime.ReadMemStats(&after)
	if !errors.Is(err, bounds.ErrExceeded) {
		t.Errorf("got error %v, want ErrExceeded", err)
	}
	if got, most := after.TotalAlloc-before.TotalAlloc, uint64(8<<20); got > most {
		t.Errorf("allocated %d bytes for a reply of 400 KB, want at most %d", got, most)
	}
}

// TestPendingIsBounded reads the configuration of a guest that is larger than the file of a guest can be.
func TestPendingIsBounded(t *testing.T) {
	client := inProcess(t, roundTrip(func(*http.Request) (stubReply, error) {
		return stubReply{status: 200, reason: "OK", endless: zeros{}}, nil
	}))
	if _, err := client.Observe(t.Context(), vmRow); err == nil || !strings.Contains(err.Error(), "more than 1 MiB") {
		t.Errorf("got error %v, want one about the size", err)
	}
}

func TestReplyIsBounded(t *testing.T) {
	endless := func(status int) stubReply { return stubReply{status: status, reason: "Endless", endless: zeros{}} }
	client := inProcess(t, roundTrip(func(*http.Request) (stubReply, error) { return endless(200), nil }))
	if _, err := client.Version(t.Context()); err == nil || !strings.Contains(err.Error(), "more than 32 MiB") {
		t.Errorf("got error %v, want one about the size", err)
	}
	client = inProcess(t, roundTrip(func(*http.Request) (stubReply, error) { return endless(500), nil }))
	var api *wire.APIError
	if _, err := client.Version(t.Context()); !errors.As(err, &api) || api.Reason != "Endless" {
		t.Errorf("got error %v, want the *APIError", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// A redirect would send the token to another server.
func TestRedirectIsNotFollowed(t *testing.T) {
	elsewhere := rawServer(t, func(*http.Request) string {
		t.Error("got a request at the redirect's target")
		return raw(200, "OK", `{"data":{"version":"9.2.11"}}`)
	})
	server := rawServer(t, func(*http.Request) string {
		return "HTTP/1.1 307 Temporary Redirect\r\nLocation: " + elsewhere.URL + "\r\nContent-Length: 0\r\n\r\n"
	})
	_, err := newClient(t, Options{Endpoints: []string{server.URL}}).Version(t.Context())
	var api *wire.APIError
	if !errors.As(err, &api) || api.Status != 307 {
		t.Errorf("got error %v, want status 307", err)
	}
}

func TestDialErrorMeansNotSent(t *testing.T) {
	client := newClient(t, Options{Endpoints: []string{"http://" + closedPort(t)}})
	_, err := client.Do(t.Context(), startCall, nil)
	if diff := cmp.Diff([]string{cluster.ErrNotReady.Error()}, meanings(err)); diff != "" {
		t.Errorf("got error %v: meaning (-want +got)\n%s", err, diff)
	}
	if !errors.Is(err, cluster.ErrNotSent) {
		t.Errorf("got error %v, want ErrNotSent", err)
	}
	if _, err := client.Version(t.Context()); !errors.Is(err, cluster.ErrNotReady) {
		t.Errorf("got error %v, want ErrNotReady", err)
	}
}

// closedPort returns a loopback address that refuses connections. A socket that is bound and does not listen holds the port until the test ends, so that no server
// of another test gets it.
func closedPort(t *testing.T) string {
	t.Helper()
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(socket) })
	if err := unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(socket)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", name.(*unix.SockaddrInet4).Port)
}

var startCall = cluster.Call{Op: cluster.OpStart, Kind: guest.VirtualMachine, Node: "pve1", VMID: 101}

// stall does not answer until the context of the request ends.
var stall = roundTrip(func(req *http.Request) (stubReply, error) {
	<-req.Context().Done()
	return stubReply{}, req.Context().Err()
})

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := inProcess(t, stall)
		start := time.Now()
		_, err := client.Do(t.Context(), startCall, nil)
		if diff := cmp.Diff([]string{cluster.ErrOutcomeUnknown.Error()}, meanings(err)); diff != "" {
			t.Errorf("write: got error %v: meaning (-want +got)\n%s", err, diff)
		}
		if got := time.Since(start); got != defaultTimeout {
			t.Errorf("got an end after %v, want %v", got, defaultTimeout)
		}
		_, err = client.Version(t.Context())
		if diff := cmp.Diff([]string{cluster.ErrNotReady.Error()}, meanings(err)); diff != "" {
			t.Errorf("read: got error %v: meaning (-want +got)\n%s", err, diff)
		}
	})
}

// The end of the caller's context is not an error of the cluster, but a write may have reached the cluster.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := inProcess(t, stall)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := client.Version(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || meanings(err) != nil {
			t.Errorf("read: got error %v, want that of the context", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		client := inProcess(t, stall)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := client.Do(ctx, startCall, nil)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, cluster.ErrUnanswered) {
			t.Errorf("write: got error %v, want that of the context and ErrUnanswered", err)
		}
	})
}

func TestOnRequest(t *testing.T) {
	type observation struct{ Method, Route, Code, Endpoint, Step string }
	var got []observation
	client := newClient(t, Options{
		Endpoints: []string{"https://pve1.test"},
		Transport: roundTrip(func(req *http.Request) (stubReply, error) {
			switch {
			case strings.HasSuffix(req.URL.Path, "/pending"):
				return ok(`[{"key":"digest","value":"x"}]`), nil
			case req.Method == http.MethodPost:
				return respond(596, "Connection timed out", ""), nil
			}
			return stubReply{}, io.ErrUnexpectedEOF
		}),
		OnRequest: func(e cluster.Exchange) {
			if e.Duration < 0 {
				t.Errorf("got elapsed %v, want it not negative", e.Duration)
			}
			got = append(got, observation{e.Method, e.Route, e.Code, e.Endpoint, e.Step})
		},
	})
	_, _ = client.Observe(t.Context(), vmRow)
	_, _ = client.Do(cluster.WithStep(t.Context(), "s1"), startCall, nil)
	_, _ = client.Inventory(t.Context())
	want := []observation{
		{"GET", "/nodes/{node}/{kind}/{vmid}/pending", "200", "pve1.test:8006", ""},
		{"POST", "/nodes/{node}/{kind}/{vmid}/status/start", "596", "pve1.test:8006", "s1"},
		{"GET", "/cluster/resources", "none", "pve1.test:8006", ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("observations (-want +got)\n%s", diff)
	}
}
