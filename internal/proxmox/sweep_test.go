package proxmox

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gitops-agent/internal/proxmox/route"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/observe"

	"golang.org/x/sync/errgroup"
)

// BenchmarkSweep reads the inventory and 300 guests of a simulator in another process over TLS, as the agent does after a start. It also reads
// the same URLs with net/http and without decoding. Both alternate within one operation, and their medians are compared, so that
// other load of the machine affects both. The goal is a ratio of 1.3 to plain reads at their fastest concurrency.
//
// In Quick the simulator answers at once, which shows the cost of the agent itself. In Recorded it answers after the recorded latency of
// Proxmox, with three workers, as a user's cluster does.
func BenchmarkSweep(b *testing.B) {
	for name, latency := range map[string]string{"Quick": "0s", "Recorded": "recorded"} {
		b.Run(name, func(b *testing.B) { benchmarkSweep(b, startSimulator(b, 300, latency)) })
	}
}

func benchmarkSweep(b *testing.B, options Options) {
	client, err := New(options)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(client.Close)
	inventory, err := client.Inventory(b.Context())
	if err != nil || len(inventory.Rows) < 300 {
		b.Fatalf("got %d guests, error %v, want 300 and a template", len(inventory.Rows), err)
	}
	full := &half{round: func() error { return sweep(b, client, inventory) }}
	halves := []*half{full}
	plain := plainReader(b, options)
	for _, parallel := range []int{2, 3, 4, 6, 8} {
		halves = append(halves, &half{parallel: parallel, round: func() error { return plain(inventory.Rows, parallel) }})
	}
	for b.Loop() {
		for _, h := range halves {
			h.take(b)
		}
		slices.Reverse(halves) // so that each is first equally often
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

// half is one way to read everything, with the time of each of its rounds.
type half struct {
	parallel  int
	round     func() error
	took, cpu []time.Duration
}

func (h *half) take(b *testing.B) {
	b.Helper()
	used, started := ownTime(b), time.Now()
	if err := h.round(); err != nil {
		b.Fatal(err)
	}
	h.took, h.cpu = append(h.took, time.Since(started)), append(h.cpu, ownTime(b)-used)
}

// sweep reads every guest with the agent's reader.
func sweep(b *testing.B, client *Client, inventory cluster.Inventory) error {
	vmids := make([]int, len(inventory.Rows))
	for i, row := range inventory.Rows {
		vmids[i] = row.VMID
	}
	seen, err := observe.ReadAll(b.Context(), client, vmids, nil, nil)
	if err == nil && len(seen.Guests) != len(vmids) {
		err = fmt.Errorf("got %d guests of %d", len(seen.Guests), len(vmids))
	}
	return err
}

func median(of []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}

// ownTime returns the processor time of this process.
func ownTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// plainReader returns a function that reads the inventory, and then the guests with several requests in parallel. It has its own connections.
func plainReader(b *testing.B, options Options) func(rows []cluster.Row, parallel int) error {
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
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, Protocols: &protocols, DisableCompression: true, MaxIdleConnsPerHost: 8,
	}
	plain := &http.Client{Transport: transport}
	b.Cleanup(plain.CloseIdleConnections)
	read := func(path string) error {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, options.Endpoints[0]+route.Base+path, nil)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "PVEAPIToken="+strings.TrimSpace(string(token)))
		return readPlain(plain, req)
	}
	return func(rows []cluster.Row, parallel int) error {
		if err := read("/cluster/resources"); err != nil {
			return err
		}
		var group errgroup.Group
		var next atomic.Int64
		for range parallel {
			group.Go(func() error {
				for i := int(next.Add(1)) - 1; i < len(rows); i = int(next.Add(1)) - 1 {
					row := rows[i]
					if err := read("/nodes/" + row.Node + "/" + row.Kind.API() + "/" + strconv.Itoa(row.VMID) + "/pending"); err != nil {
						return err
					}
				}
				return nil
			})
		}
		return group.Wait()
	}
}

// startSimulator runs the simulator in another process until the benchmark ends, and returns the options of a client for it.
func startSimulator(b *testing.B, guests int, latency string) Options {
	b.Helper()
	dir := b.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", file("pvesim"), "gitops-agent/cmd/pvesim").CombinedOutput(); err != nil {
		b.Fatalf("build simulator: %v\n%s", err, out)
	}
	cmd := exec.Command(file("pvesim"), "--listen", "127.0.0.1:0", "--guests", strconv.Itoa(guests), "--seed", "7", "--latency", latency, "--token", simToken,
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
