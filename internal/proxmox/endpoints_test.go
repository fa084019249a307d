package proxmox

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"

	"github.com/google/go-cmp/cmp"
)

// A write is sent to the next endpoint if no connection was made. The reads and writes after it use that endpoint.
func TestFailover(t *testing.T) {
	var requests atomic.Int64
	server := rawServer(t, func(req *http.Request) string {
		requests.Add(1)
		if req.Method == http.MethodGet {
			return raw(200, "OK", `{"data":{"version":"9.2.11"}}`)
		}
		return raw(200, "OK", `{"data":"`+testUPID+`"}`)
	})
	checks := 0
	client := newClient(t, Options{Endpoints: []string{"http://" + closedPort(t), server.URL}, MayWrite: func() error { checks++; return nil }})
	if _, err := client.Do(t.Context(), startCall, nil); err != nil || requests.Load() != 1 {
		t.Errorf("got error %v after %d requests, want the write to be sent to the second endpoint", err, requests.Load())
	}
	if checks != 2 {
		t.Errorf("got %d last checks, want one before each of the two tries", checks)
	}
	if _, err := client.Version(t.Context()); err != nil || requests.Load() != 2 {
		t.Errorf("got error %v after %d requests, want the second endpoint's reply", err, requests.Load())
	}
	if got := client.Endpoints(); got[0].State != cluster.EndpointDown || got[0].Fault != cluster.FaultUnreachable || !got[1].Current {
		t.Errorf("got %+v, want the first endpoint unreachable and the second one in use", got)
	}

	client = newClient(t, Options{Endpoints: []string{"http://" + closedPort(t), "http://" + closedPort(t)}})
	if _, err := client.Do(t.Context(), startCall, nil); !errors.Is(err, cluster.ErrNotReady) || !errors.Is(err, cluster.ErrNotSent) {
		t.Errorf("got error %v, want ErrNotReady and ErrNotSent", err)
	}
}

// The last check runs again before a write is sent to the next endpoint: it may have been superseded while the first one was tried.
func TestLastCheckBeforeNextEndpoint(t *testing.T) {
	var requests atomic.Int64
	server := rawServer(t, func(*http.Request) string {
		requests.Add(1)
		return raw(200, "OK", `{"data":"`+testUPID+`"}`)
	})
	client := newClient(t, Options{Endpoints: []string{"http://" + closedPort(t), server.URL}})
	superseded := errors.New("superseded")
	checks := 0
	check := func(context.Context) error {
		if checks++; checks > 1 {
			return superseded
		}
		return nil
	}
	if _, err := client.Do(t.Context(), startCall, check); !errors.Is(err, superseded) || requests.Load() != 0 {
		t.Errorf("got error %v after %d requests, want the error of the second check and no request", err, requests.Load())
	}
}

// endpointFault is a fault of the first of two endpoints. reads is what the first endpoint gets of two reads: 1 if it is down after the first one.
type endpointFault struct {
	first string // the reply of the first endpoint; "closed" and "tls" never reply
	fault cluster.EndpointFault
	reads int64
	sent  bool // a write may have had an effect
}

var endpointFaults = map[string]endpointFault{
	"closed":          {"closed", cluster.FaultUnreachable, 0, false},
	"tls":             {"tls", cluster.FaultUnreachable, 0, false},
	"daemon_down":     {raw(595, "Connection refused", ""), cluster.FaultStatus, 2, true},
	"bad_gateway":     {raw(502, "Bad Gateway", "<html>"), cluster.FaultInvalid, 2, true},
	"unavailable":     {raw(503, "Service Unavailable", ""), cluster.FaultStatus, 2, true},
	"dropped":         {"", cluster.FaultBroken, 2, true},
	"half_a_header":   {"HTTP/1.1 200 OK\r\nContent-Le", cluster.FaultBroken, 2, true},
	"half_a_body":     {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"data\":", cluster.FaultBroken, 2, true},
	"page":            {raw(200, "OK", "<!DOCTYPE html><html></html>"), cluster.FaultInvalid, 2, true},
	"half_a_reply":    {raw(200, "OK", `{"data":{"version":"9`), cluster.FaultInvalid, 2, true},
	"proxy_timed_out": {raw(596, "Connection timed out", ""), cluster.FaultStatus, 2, true},
	"gateway_timeout": {raw(504, "Gateway Time-out", ""), cluster.FaultStatus, 2, true},
	"unauthorized":    {raw(401, "No ticket", ""), cluster.FaultUnauthorized, 1, true},
	"failed":          {raw(500, "unable to open file '/etc/pve/user.cfg'", ""), cluster.FaultStatus, 2, true},
	"error_page":      {raw(500, "Internal Server Error", "<html>oops</html>"), cluster.FaultInvalid, 2, true},
}

// start returns a client of two endpoints, of which the first has the fault, and counts their requests.
func (f endpointFault) start(t *testing.T) (client *Client, first, second *atomic.Int64) {
	first, second = &atomic.Int64{}, &atomic.Int64{}
	url := ""
	switch f.first {
	case "closed":
		url = "http://" + closedPort(t)
	case "tls": // a server whose certificate the client does not accept
		server := httptest.NewTLSServer(http.NotFoundHandler())
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		t.Cleanup(server.Close)
		url = server.URL
	default:
		url = rawServer(t, func(*http.Request) string {
			first.Add(1)
			return f.first
		}).URL
	}
	good := rawServer(t, func(req *http.Request) string {
		second.Add(1)
		if req.Method == http.MethodGet {
			return raw(200, "OK", `{"data":{"version":"9.2.11"}}`)
		}
		return raw(200, "OK", `{"data":"`+testUPID+`"}`)
	})
	return newClient(t, Options{Endpoints: []string{url, good.URL}}), first, second
}

// A read is answered by the second endpoint whatever is wrong with the first one, and the state shows the fault. An endpoint whose faults cost time is down at
// once, another one after two faults in a row.
func TestReadsFailOver(t *testing.T) {
	t.Parallel()
	for name, f := range endpointFaults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, first, second := f.start(t)
			for range 3 {
				if _, err := client.Version(t.Context()); err != nil {
					t.Errorf("got error %v, want the answer of the second endpoint", err)
				}
			}
			if first.Load() != f.reads || second.Load() != 3 {
				t.Errorf("got %d and %d requests, want %d and 3", first.Load(), second.Load(), f.reads)
			}
			got := client.Endpoints()
			if got[0].State != cluster.EndpointDown || got[0].Fault != f.fault || got[0].Current || got[0].Error == "" || got[0].Since.IsZero() {
				t.Errorf("first endpoint: got %+v, want it down with the fault %s", got[0], f.fault)
			}
			if got[1].State != cluster.EndpointUp || !got[1].Current {
				t.Errorf("second endpoint: got %+v, want it in use", got[1])
			}
			if extra := got[1].ExtraReads[cluster.ExtraAfterFault] + got[1].ExtraReads[cluster.ExtraConfirm]; extra != uint64(max(f.reads, 1)) {
				t.Errorf("additional reads: got %v, want %d", got[1].ExtraReads, max(f.reads, 1))
			}
		})
	}
}

// A write is sent to the second endpoint only if it certainly had no effect at the first one.
func TestWritesFailOverWithoutEffectOnly(t *testing.T) {
	t.Parallel()
	for name, f := range endpointFaults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, first, second := f.start(t)
			_, err := client.Do(t.Context(), startCall, nil)
			if f.sent && (err == nil || first.Load() != 1 || second.Load() != 0) {
				t.Errorf("got error %v after %d and %d requests, want one request to the first endpoint and its error", err, first.Load(), second.Load())
			}
			if !f.sent && (err != nil || second.Load() != 1) {
				t.Errorf("got error %v after %d requests to the second endpoint, want one that succeeds", err, second.Load())
			}
		})
	}
}

// An answer about the resource that two endpoints give alike is genuine: it is no fault of either, and for a minute it needs no further confirmation.
func TestGenuineAnswers(t *testing.T) {
	t.Parallel()
	missing := raw(500, "Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist", "")
	for name, test := range map[string]struct {
		replies []string // of three endpoints
		want    error
		asked   []int64 // by two reads
	}{
		"missing":        {[]string{missing, missing, missing}, cluster.ErrNotExist, []int64{2, 1, 0}},
		"denied":         {[]string{raw(403, "Permission check failed (/vms/100, VM.Audit)", ""), raw(403, "Permission check failed (/vms/100, VM.Audit)", ""), ""}, cluster.ErrDenied, []int64{2, 1, 0}},
		"node_down":      {[]string{raw(595, "No route to host", ""), raw(596, "Connection timed out", ""), ""}, cluster.ErrNotReady, []int64{2, 1, 0}},
		"wrong_token":    {[]string{raw(401, "No ticket", ""), raw(401, "invalid token value!", ""), ""}, cluster.ErrDenied, []int64{2, 1, 0}},
		"bad_parameter":  {[]string{raw(400, "Parameter verification failed.", `{"errors":{"vmid":"invalid"}}`), missing, missing}, nil, []int64{2, 0, 0}},
		"majority":       {[]string{raw(500, "unable to open file", ""), missing, missing}, cluster.ErrNotExist, []int64{2, 2, 1}},
		"no_agreement":   {[]string{missing, raw(500, "unable to open file", ""), raw(500, "other", "")}, cluster.ErrNotReady, []int64{2, 2, 2}},
		"one_answers":    {[]string{missing, "", ""}, cluster.ErrNotExist, []int64{2, 2, 2}},
		"better_answers": {[]string{raw(401, "No ticket", ""), missing, missing}, cluster.ErrNotExist, []int64{1, 2, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			counts := make([]atomic.Int64, 3)
			var urls []string
			for i, text := range test.replies {
				urls = append(urls, rawServer(t, func(*http.Request) string {
					counts[i].Add(1)
					return text
				}).URL)
			}
			client := newClient(t, Options{Endpoints: urls})
			for range 2 {
				if _, err := client.Observe(t.Context(), vmRow); err == nil || test.want != nil && !errors.Is(err, test.want) {
					t.Errorf("got error %v, want %v", err, test.want)
				}
			}
			for i := range counts {
				if got := counts[i].Load(); got != test.asked[i] {
					t.Errorf("endpoint %d: got %d requests, want %d", i, got, test.asked[i])
				}
			}
		})
	}
}

// If no endpoint answers, a read returns the error of the best reply, and the next read tries all of them again.
func TestReadWithoutAnyEndpoint(t *testing.T) {
	var tried []string
	answering := func(name, reply string) string {
		return rawServer(t, func(*http.Request) string {
			tried = append(tried, name)
			return reply
		}).URL
	}
	client := newClient(t, Options{Endpoints: []string{
		answering("a", raw(503, "Service Unavailable", "")), answering("b", raw(595, "No route to host", "")), "http://" + closedPort(t),
	}})
	for range 2 {
		var api *wire.APIError
		if _, err := client.Version(t.Context()); !errors.Is(err, cluster.ErrNotReady) || !errors.As(err, &api) || api.Status != 595 {
			t.Errorf("got error %v, want ErrNotReady with status 595", err)
		}
	}
	if diff := cmp.Diff([]string{"a", "b", "a", "b"}, tried); diff != "" {
		t.Errorf("endpoints (-want +got)\n%s", diff)
	}
}

// twoNodes returns a simulated cluster and a client of two of its endpoints, for a synctest bubble.
func twoNodes(t *testing.T) (*pvesim.Sim, *Client) {
	t.Helper()
	sim := pvesim.New(pvesim.Options{Nodes: []string{"pve1", "pve2"}})
	t.Cleanup(sim.Close)
	return sim, simClient(t, sim, Options{Endpoints: []string{"https://pve1.test", "https://pve2.test"}, Transport: sim.Transport()})
}

const firstHost = "pve1.test:8006"

// An endpoint that accepts requests and never answers delays one read by the time after which the other endpoint is asked, and no later read. It is probed in
// the background, and comes up again after three good probes. Reads stay with the other endpoint.
func TestSlowEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, client := twoNodes(t)
		if err := sim.Inject(pvesim.Fault{Kind: pvesim.Latency, Delay: 20 * time.Second, Host: firstHost, Times: -1}); err != nil {
			t.Fatal(err)
		}
		took := func() time.Duration {
			started := time.Now()
			if _, err := client.Version(t.Context()); err != nil {
				t.Errorf("got error %v, want the answer of the other endpoint", err)
			}
			return time.Since(started)
		}
		const late = 3 * time.Second // when a read also asks the next endpoint
		if got := took(); got != late {
			t.Errorf("first read: got %s, want %s", got, late)
		}
		for range 20 { // several probes end without a reply
			time.Sleep(5 * time.Second)
			if got := took(); got != 0 {
				t.Errorf("later read: got %s, want no delay", got)
			}
		}
		state := client.Endpoints()[0]
		if state.State != cluster.EndpointDown || state.Fault != cluster.FaultLate {
			t.Errorf("got %+v, want the endpoint down because it is late", state)
		}
		if probes := state.ExtraReads[cluster.ExtraProbe]; probes < 2 || probes > 5 {
			t.Errorf("got %d probes in 100 s, want their interval to grow", probes)
		}
		sim.ClearFaults()
		for range 30 {
			time.Sleep(5 * time.Second)
			_ = took()
		}
		if state := client.Endpoints(); state[0].State != cluster.EndpointUp || state[0].Current || !state[1].Current {
			t.Errorf("got %+v, want both up and the second one still in use", state)
		}
	})
}

// An endpoint that answers every second request correctly does not make reads switch back and forth.
func TestFlappingEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, client := twoNodes(t)
		if err := sim.Inject(pvesim.Fault{Kind: pvesim.Unauthorized, Host: firstHost, Times: -1, Chance: 0.5}); err != nil {
			t.Fatal(err)
		}
		for range 200 {
			time.Sleep(time.Second)
			if _, err := client.Version(t.Context()); err != nil {
				t.Errorf("got error %v, want every read answered", err)
			}
		}
		if got := client.Endpoints(); got[0].Current || len(got[1].Faults) != 0 {
			t.Errorf("got %+v, want the second endpoint in use without faults", got)
		}
	})
}

// A slow answer of every endpoint is the answer: the endpoint that was asked first is not late.
func TestSlowCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, client := twoNodes(t)
		if err := sim.Inject(pvesim.Fault{Kind: pvesim.Latency, Delay: 10 * time.Second, Times: -1}); err != nil {
			t.Fatal(err)
		}
		started := time.Now()
		if _, err := client.Version(t.Context()); err != nil || time.Since(started) != 10*time.Second {
			t.Errorf("got error %v after %s, want the answer after 10 s", err, time.Since(started))
		}
		got := client.Endpoints()
		if got[0].State != cluster.EndpointUp || !got[0].Current || got[1].ExtraReads[cluster.ExtraLate] != 1 {
			t.Errorf("got %+v, want the first endpoint up, and one additional read", got)
		}
	})
}

// A caller that ends its read does not make an endpoint bad.
func TestCancelledReadIsNoFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, client := twoNodes(t)
		if err := sim.Inject(pvesim.Fault{Kind: pvesim.Latency, Delay: 30 * time.Second, Times: -1}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := client.Version(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got error %v, want the end of the caller's context", err)
		}
		for _, e := range client.Endpoints() {
			if e.State != cluster.EndpointUnknown || len(e.Faults) != 0 {
				t.Errorf("got %+v, want no state", e)
			}
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
	tasks, err := client.Tasks(t.Context(), cluster.TaskQuery{Node: "pve1", VMID: 101}) // its call had no reply, and it may end after that of guest 102
	if err != nil || len(tasks) != 1 {
		t.Fatalf("guest 101: got tasks %+v, error %v, want one", tasks, err)
	}
	if task, err := client.Wait(t.Context(), tasks[0].UPID); err != nil || !task.OK() {
		t.Errorf("guest 101: got task %+v, error %v, want it to end well", task, err)
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
