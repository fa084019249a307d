package pvesim

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// served starts a Sim over TCP and returns its address.
func served(t *testing.T, sim *Sim, config *tls.Config) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- sim.Serve(ctx, l, config) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serve: got %v, want no error", err)
		}
		sim.Close()
	})
	return l.Addr().String()
}

// exchangeRaw sends the bytes of a request and returns everything that the server sends until it closes the connection.
func exchangeRaw(t *testing.T, addr, request string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestStatusLineOverTCP(t *testing.T) {
	sim := New(Options{})
	addr := served(t, sim, nil)
	token := sim.Token("root@pam!full")
	got := exchangeRaw(t, addr, "GET /api2/json/nodes/pve1/qemu/999/config HTTP/1.1\r\nHost: x\r\nAuthorization: PVEAPIToken="+token+"\r\n\r\n")
	head, body, _ := strings.Cut(got, "\r\n\r\n")
	if want := "HTTP/1.1 500 Configuration file 'nodes/pve1/qemu-server/999.conf' does not exist\r\n"; !strings.HasPrefix(head+"\r\n", want) {
		t.Errorf("status line: got %q, want %q", head, want)
	}
	if !strings.Contains(head, "Connection: close") {
		t.Errorf("header: got %q, want the connection closed", head)
	}
	if want := `{"data":null,"message":"Configuration file 'nodes/pve1/qemu-server/999.conf' does not exist\n"}`; body != want {
		t.Errorf("body: got %s, want %s", body, want)
	}
	got = exchangeRaw(t, addr, "GET /api2/json/version HTTP/1.1\r\nHost: x\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 401 No ticket\r\n") || !strings.HasSuffix(got, "\r\n\r\n") {
		t.Errorf("without a token: got %q, want 401 and no body", got)
	}
}

func TestBrokenRepliesOverTCP(t *testing.T) {
	sim := New(Options{})
	addr := served(t, sim, nil)
	request := "GET /api2/json/version HTTP/1.1\r\nHost: x\r\nAuthorization: PVEAPIToken=" + sim.Token("root@pam!full") + "\r\n\r\n"
	inject(t, sim, Fault{Kind: DropAfter})
	if got := exchangeRaw(t, addr, request); got != "" {
		t.Errorf("dropped: got %q, want nothing", got)
	}
	inject(t, sim, Fault{Kind: TruncatedBody})
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(exchangeRaw(t, addr, request))), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("truncated: got %q whole, want an unexpected end", b)
	}
}

func TestTLSFingerprint(t *testing.T) {
	cert, err := NewCertificate()
	if err != nil {
		t.Fatal(err)
	}
	sim := New(Options{})
	addr := served(t, sim, cert.Config)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(cert.PEM) {
		t.Fatal("certificate: got no PEM, want one")
	}
	conn, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	state := conn.ConnectionState()
	if got := strings.ToUpper(fmt.Sprintf("%x", sha256.Sum256(state.PeerCertificates[0].Raw))); got != strings.ReplaceAll(cert.Fingerprint, ":", "") {
		t.Errorf("fingerprint: got %s, want %s", cert.Fingerprint, got)
	}
	if state.NegotiatedProtocol == "h2" {
		t.Error("protocol: got HTTP/2, want HTTP/1.1 as the real server")
	}
}

// TestResponseRecorder checks that a handler test without a connection receives status and body.
func TestResponseRecorder(t *testing.T) {
	sim := New(Options{})
	defer sim.Close()
	w := httptest.NewRecorder()
	sim.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api2/json/version", nil))
	if w.Code != http.StatusUnauthorized || w.Body.Len() != 0 {
		t.Errorf("recorder: got %d %q, want 401 and no body", w.Code, w.Body)
	}
}

func TestConnectionEndsAfterAHundredCalls(t *testing.T) {
	sim := New(Options{})
	addr := served(t, sim, nil)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	var closed []int
	for i := 1; i <= 201; i++ {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/api2/json/version", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "PVEAPIToken="+sim.Token("root@pam!full"))
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.Close {
			closed = append(closed, i)
		}
	}
	if len(closed) != 2 || closed[0] != 100 || closed[1] != 200 {
		t.Errorf("calls after which the connection closed: got %v, want 100 and 200", closed)
	}
}
