package health

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/loopback"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

func TestAllow(t *testing.T) {
	tests := map[string]struct {
		entry, to string
		want      bool
	}{
		"network":           {"10.0.0.0/24", "10.0.0.5:5432", true},
		"outside":           {"10.0.0.0/24", "10.0.1.5:5432", false},
		"address":           {"10.0.0.5", "10.0.0.5:80", true},
		"port":              {"10.0.0.5:5432", "10.0.0.5:5432", true},
		"another_port":      {"10.0.0.5:5432", "10.0.0.5:22", false},
		"network_and_port":  {"10.0.0.0/24:80", "10.0.0.9:80", true},
		"version_6":         {"fd00::/8", "[fd00::5]:80", true},
		"version_6_port":    {"[fd00::/8]:443", "[fd00::5]:443", true},
		"version_6_address": {"[fd00::5]:443", "[fd00::5]:80", false},
		"mapped":            {"10.0.0.0/24", "[::ffff:10.0.0.5]:80", true},
		"zone":              {"fe80::/10", "[fe80::1%eth0]:80", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			allow, err := ParseAllow([]string{test.entry})
			if err != nil || allow.Permits(netip.MustParseAddrPort(test.to)) != test.want {
				t.Errorf("%s for %s: got %v, %v, want it allowed: %t", test.entry, test.to, allow, err, test.want)
			}
		})
	}
	for _, entry := range []string{"", "db.lan", "db.lan:5432", "10.0.0.0/33", "10.0.0.5:0", "10.0.0.5:70000", "fd00::5]:80", "[10.0.0.5:80", "*"} {
		if allow, err := ParseAllow([]string{entry}); err == nil {
			t.Errorf("%q: got %v, want an error", entry, allow)
		}
	}
	if (Allow{}).Permits(netip.MustParseAddrPort("10.0.0.5:80")) {
		t.Error("without an entry: got an allowed address")
	}
}

func TestResultAges(t *testing.T) {
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	if why := (Result{}).NotReady(began); why == "" {
		t.Error("got a guest ready that was never checked")
	}
	ready := Result{Began: began}
	if ready.NotReady(began.Add(validTime)) != "" || ready.NotReady(began.Add(validTime+time.Second)) == "" || ready.due(began) || !ready.due(began.Add(freshTime)) {
		t.Error("want a result to count for a minute, and the check to be repeated before")
	}
}

// TestChecks runs each check against servers of this test.
func TestChecks(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/ready", http.StatusFound)
		case "/broken":
			w.WriteHeader(http.StatusInternalServerError)
		}
		if r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "" {
			t.Error("got credentials, want none")
		}
	}))
	t.Cleanup(server.Close)
	address := strings.TrimPrefix(server.URL, "http://")
	_, port, _ := net.SplitHostPort(address)
	closed, err := loopback.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	agent := guest.Health{Agent: true}
	tests := map[string]struct {
		check   guest.Health
		allow   string
		ping    error
		want    string // in the problem; "" is ready
		refused bool
	}{
		"agent":              {agent, "", nil, "", false},
		"agent_silent":       {agent, "", errors.New("QEMU guest agent is not running"), "guest agent: QEMU guest agent is not running", false},
		"tcp":                {guest.Health{TCP: address}, "127.0.0.1", nil, "", false},
		"tcp_closed":         {guest.Health{TCP: closed}, "127.0.0.0/8", nil, "refused", false},
		"tcp_not_allowed":    {guest.Health{TCP: address}, "10.0.0.0/8", nil, "checks.allow", true},
		"http":               {guest.Health{HTTP: server.URL + "/ready"}, "127.0.0.0/8:" + port, nil, "", false},
		"http_redirect":      {guest.Health{HTTP: server.URL + "/moved"}, "127.0.0.1", nil, "status 302", false},
		"http_error":         {guest.Health{HTTP: server.URL + "/broken"}, "127.0.0.1", nil, "status 500", false},
		"http_not_allowed":   {guest.Health{HTTP: server.URL + "/ready"}, "127.0.0.1:1", nil, "checks.allow", true},
		"name":               {guest.Health{TCP: "db.lan:" + port}, "127.0.0.1", nil, "", false},
		"name_of_elsewhere":  {guest.Health{TCP: "evil.lan:" + port}, "127.0.0.1", nil, "checks.allow", true},
		"name_nobody_knows":  {guest.Health{TCP: "no.lan:" + port}, "127.0.0.1", nil, "no such host", false},
		"all_must_pass":      {guest.Health{Agent: true, TCP: closed}, "127.0.0.0/8", nil, "refused", false},
		"http_name_is_fixed": {guest.Health{HTTP: "http://db.lan:" + port + "/ready"}, "127.0.0.1", nil, "", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			allow, err := ParseAllow(strings.Fields(test.allow))
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{}, 1)
			p := New(Options{
				Allow: allow, Ping: func(context.Context, cluster.Row) error { return test.ping },
				Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
					switch host {
					case "db.lan":
						return []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("127.0.0.1")}, nil
					case "evil.lan":
						return []netip.Addr{netip.MustParseAddr("169.254.169.254")}, nil
					}
					return nil, errors.New("no such host")
				},
				Changed: func() { done <- struct{}{} },
			})
			p.Want(t.Context(), []Target{{Label: "VirtualMachine/db-1", Check: test.check}})
			<-done
			p.Wait()
			got := p.Result("VirtualMachine/db-1")
			if (got.Problem == "") != (test.want == "") || !strings.Contains(got.Problem, test.want) || got.Refused != test.refused {
				t.Errorf("got %+v, want %q, refused %t", got, test.want, test.refused)
			}
			p.Want(t.Context(), nil)
			if why := p.Result("VirtualMachine/db-1").NotReady(time.Now()); why == "" {
				t.Error("got a guest ready whose result was forgotten")
			}
		})
	}
}

// An https page needs a certificate of a trusted authority, for the name in the manifest.
func TestAuthorities(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	private := x509.NewCertPool()
	private.AddCert(server.Certificate())
	allow, err := ParseAllow([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		host  string
		roots *x509.CertPool
		want  string
	}{
		"private_authority": {"127.0.0.1", private, ""},
		"of_the_name":       {"example.com", private, ""},
		"of_another_name":   {"db.lan", private, "certificate is valid for"},
		"of_the_system":     {"127.0.0.1", nil, "checks.ca_file"},
		"of_another_one":    {"127.0.0.1", x509.NewCertPool(), "checks.ca_file"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := New(Options{Allow: allow, Roots: test.roots, Resolve: func(context.Context, string) ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
			}})
			got := p.check(t.Context(), Target{Check: guest.Health{HTTP: "https://" + net.JoinHostPort(test.host, port) + "/"}})
			if (got.Problem == "") != (test.want == "") || !strings.Contains(got.Problem, test.want) || got.Refused {
				t.Errorf("got %+v, want %q", got, test.want)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	allow, err := ParseAllow([]string{"10.0.0.5:80", "[fd00::/8]:443"})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		check guest.Health
		want  bool
	}{
		"agent":           {guest.Health{Agent: true}, false},
		"tcp":             {guest.Health{TCP: "10.0.0.5:80"}, false},
		"another_port":    {guest.Health{TCP: "10.0.0.5:81"}, true},
		"default_port":    {guest.Health{HTTP: "http://10.0.0.5/healthz"}, false},
		"https_port":      {guest.Health{HTTP: "https://[fd00::1]/"}, false},
		"not_http":        {guest.Health{HTTP: "http://[fd00::1]/"}, true},
		"one_of_two":      {guest.Health{TCP: "10.0.0.5:80", HTTP: "http://10.0.0.6/"}, true},
		"name_is_unknown": {guest.Health{TCP: "db.lan:5432"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := allow.Refuses(test.check); got != test.want {
				t.Errorf("%+v: got refused %t, want %t", test.check, got, test.want)
			}
		})
	}
}

// TestProblemIsBounded: a server of another protocol puts neither a long text nor control characters into the report.
func TestProblemIsBounded(t *testing.T) {
	t.Parallel()
	r := problem("http http://10.0.0.5/", errors.New("malformed \x1b[31m"+strings.Repeat("x", 1000)))
	if len(r.Problem) > 300 || strings.ContainsRune(r.Problem, '\x1b') {
		t.Errorf("got a problem of %d bytes: %q", len(r.Problem), r.Problem)
	}
}

// TestOneAgentOfANodeAtATime: an agent that does not answer occupies a worker of its node for seconds, and those of other nodes do not wait for it.
func TestOneAgentOfANodeAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		asked, most := make(map[string]int), 0
		p := New(Options{Ping: func(_ context.Context, row cluster.Row) error {
			mu.Lock()
			asked[row.Node]++
			most = max(most, asked[row.Node])
			mu.Unlock()
			time.Sleep(3 * time.Second)
			mu.Lock()
			asked[row.Node]--
			mu.Unlock()
			return nil
		}})
		var targets []Target
		for i := range 12 {
			targets = append(targets, Target{Label: fmt.Sprint(i), Row: cluster.Row{VMID: 100 + i, Node: fmt.Sprintf("pve%d", i%3)}, Check: guest.Health{Agent: true}})
		}
		began := time.Now()
		p.Want(t.Context(), targets)
		p.Wait()
		if elapsed := time.Since(began); most != 1 || elapsed != 12*time.Second {
			t.Errorf("got %d agents of a node asked at once, and an end after %s, want 1 and 12s", most, elapsed)
		}
		for _, w := range targets {
			if why := p.Result(w.Label).NotReady(time.Now()); why != "" {
				t.Errorf("%s: got not ready, %s: the time in the queue does not count", w.Label, why)
			}
		}
	})
}

// TestCheckThatPassesAgainIsReported: a result that has expired shows nothing, so the next one is news.
func TestCheckThatPassesAgainIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		news := 0
		p := New(Options{Ping: func(context.Context, cluster.Row) error { return nil }, Changed: func() { news++ }})
		wanted := []Target{{Label: "VirtualMachine/db-1", Check: guest.Health{Agent: true}}}
		for range 2 {
			p.Want(t.Context(), wanted)
			p.Wait()
			if !p.Busy() {
				t.Error("got no news, want the result")
			}
			time.Sleep(2 * validTime)
		}
		if news != 2 {
			t.Errorf("got %d reports, want 2", news)
		}
	})
}
