package proxmox

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile"

	"golang.org/x/sync/errgroup"
)

// BenchmarkSweep reads 300 guests of a simulator over TLS, three at a time; "plain" reads the same URLs by net/http without
// looking at them. Client and server share the machine.
func BenchmarkSweep(b *testing.B) {
	sim := pvesim.New(pvesim.Options{Guests: 300})
	b.Cleanup(sim.Close)
	url, certificate := serveSimulator(b, sim)
	dir := b.TempDir()
	options := Options{Endpoints: []string{url}, CAFile: filepath.Join(dir, "ca"), TokenFile: filepath.Join(dir, "token")}
	for path, text := range map[string]string{options.CAFile: string(certificate.PEM), options.TokenFile: sim.Token(simToken)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	client, err := New(options)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(client.Close)
	inventory, err := client.Inventory(b.Context())
	if err != nil || len(inventory.Rows) != 300 {
		b.Fatalf("got %d guests, error %v, want 300", len(inventory.Rows), err)
	}

	b.Run("observe", func(b *testing.B) {
		sweep(b, inventory.Rows, func(row reconcile.Row) error {
			_, err := client.Observe(b.Context(), row)
			return err
		})
	})
	b.Run("plain", func(b *testing.B) {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(certificate.PEM)
		plain := &http.Client{Transport: newTransport(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})}
		b.Cleanup(plain.CloseIdleConnections)
		sweep(b, inventory.Rows, func(row reconcile.Row) error {
			path := "/nodes/" + row.Node + "/" + row.Kind.API() + "/" + strconv.Itoa(row.VMID) + "/pending"
			req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url+apiBase+path, nil)
			if err != nil {
				return err
			}
			req.Header.Set("Authorization", "PVEAPIToken="+sim.Token(simToken))
			return readPlain(plain, req)
		})
	})
}

// sweep calls read for every row, three at a time.
func sweep(b *testing.B, rows []reconcile.Row, read func(reconcile.Row) error) {
	b.ReportAllocs()
	for b.Loop() {
		var group errgroup.Group
		group.SetLimit(3)
		for _, row := range rows {
			group.Go(func() error { return read(row) })
		}
		if err := group.Wait(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(len(rows)), "µs/guest")
}

// serveSimulator offers a simulator on loopback until the test ends.
func serveSimulator(tb testing.TB, sim *pvesim.Sim) (url string, certificate *pvesim.Certificate) {
	tb.Helper()
	certificate, err := pvesim.NewCertificate()
	if err != nil {
		tb.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- sim.Serve(tb.Context(), listener, certificate.Config) }()
	tb.Cleanup(func() { // the test's context has ended by now
		if err := <-done; err != nil {
			tb.Errorf("serve: %v", err)
		}
	})
	return "https://" + listener.Addr().String(), certificate
}
