package proxmox

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gitops-agent/reconcile"

	"golang.org/x/sync/errgroup"
)

// BenchmarkSweep reads 300 guests of a simulator in another process over TLS, and the same URLs by net/http without looking at them. The two
// take turns within one operation, and medians are compared, so that what else the machine does falls on both. The figure to reach
// is a ratio of 1.3 to plain reads at the concurrency that suits them best.
func BenchmarkSweep(b *testing.B) {
	options := startSimulator(b, 300)
	client, err := New(options)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(client.Close)
	inventory, err := client.Inventory(b.Context())
	if err != nil || len(inventory.Rows) < 300 {
		b.Fatalf("got %d guests, error %v, want 300 and a template", len(inventory.Rows), err)
	}
	full := &half{parallel: 3, read: func(row reconcile.Row) error {
		_, err := client.Observe(b.Context(), row)
		return err
	}}
	plain := plainReader(b, options)
	halves := []*half{full}
	for _, parallel := range []int{2, 3, 4, 6} {
		halves = append(halves, &half{parallel: parallel, read: plain})
	}
	for b.Loop() {
		for _, h := range halves {
			h.round(b, inventory.Rows)
		}
		slices.Reverse(halves) // none is always first
	}
	slices.SortFunc(halves, func(x, y *half) int { return int(median(x.took) - median(y.took)) })
	best := halves[0]
	if best == full {
		best = halves[1]
	}
	guests := float64(len(inventory.Rows))
	b.ReportMetric(float64(median(full.took))/float64(median(best.took)), "ratio")
	b.ReportMetric(float64(median(full.took).Nanoseconds())/1000/guests, "µs/guest")
	b.ReportMetric(float64(median(best.took).Nanoseconds())/1000/guests, "plain-µs/guest")
	b.ReportMetric(float64(best.parallel), "plain-parallel")
	b.ReportMetric(float64(median(full.cpu).Nanoseconds())/1000/guests, "cpu-µs/guest")
	b.ReportMetric(float64(median(best.cpu).Nanoseconds())/1000/guests, "plain-cpu-µs/guest")
}

// half is one way to read every guest, and what each of its rounds took.
type half struct {
	parallel  int
	read      func(reconcile.Row) error
	took, cpu []time.Duration
}

func (h *half) round(b *testing.B, rows []reconcile.Row) {
	b.Helper()
	used, started := ownTime(b), time.Now()
	var group errgroup.Group
	group.SetLimit(h.parallel)
	for _, row := range rows {
		group.Go(func() error { return h.read(row) })
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
	h.took, h.cpu = append(h.took, time.Since(started)), append(h.cpu, ownTime(b)-used)
}

func median(of []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}

// ownTime returns the time that this process has kept processors busy.
func ownTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// plainReader reads like any client has to, on connections of its own.
func plainReader(b *testing.B, options Options) func(reconcile.Row) error {
	b.Helper()
	certificate, err := os.ReadFile(options.CAFile)
	if err != nil {
		b.Fatal(err)
	}
	token, err := os.ReadFile(options.TokenFile)
	if err != nil {
		b.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	plain := &http.Client{Transport: newTransport(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})}
	b.Cleanup(plain.CloseIdleConnections)
	return func(row reconcile.Row) error {
		path := "/nodes/" + row.Node + "/" + row.Kind.API() + "/" + strconv.Itoa(row.VMID) + "/pending"
		req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, options.Endpoints[0]+apiBase+path, nil)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "PVEAPIToken="+strings.TrimSpace(string(token)))
		return readPlain(plain, req)
	}
}

// startSimulator runs the simulator's program until the benchmark ends, and returns how to reach it.
func startSimulator(b *testing.B, guests int) Options {
	b.Helper()
	dir := b.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", file("pvesim"), "gitops-agent/cmd/pvesim").CombinedOutput(); err != nil {
		b.Fatalf("build simulator: %v\n%s", err, out)
	}
	cmd := exec.Command(file("pvesim"), "--listen", "127.0.0.1:0", "--guests", strconv.Itoa(guests), "--seed", "7", "--token", simToken,
		"--token-out", file("token"), "--cert-out", file("cert"), "--addr-out", file("addr"))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for {
		if address, err := os.ReadFile(file("addr")); err == nil && len(address) > 0 {
			return Options{Endpoints: []string{strings.TrimSpace(string(address))}, CAFile: file("cert"), TokenFile: file("token")}
		}
		time.Sleep(10 * time.Millisecond)
	}
}
