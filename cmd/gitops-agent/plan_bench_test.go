//go:build integration

package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// BenchmarkPlanAndReads compares the command plan for a converged fleet, from the start of its process to its end, with plain reads of the same URLs
// over new connections, at their fastest concurrency. The simulator answers after the recorded latency of Proxmox. Both alternate within one
// operation, and their medians are compared. The goal is a ratio of 1.2. The command version shows how long a process takes that reads nothing.
func BenchmarkPlanAndReads(b *testing.B) {
	for _, guests := range []int{50, 200, 300} {
		b.Run(fmt.Sprint(guests), func(b *testing.B) {
			s := newSite(b, buildBinaries(b), "--guests", fmt.Sprint(guests), "--seed", "7", "--task-time", "1ms", "--latency", "recorded")
			s.adoptFleet(guests)
			s.finish("run", "--once", "--config", s.path("config.yaml"))
			used := map[string]time.Duration{}
			run := func(args ...string) func() {
				return func() {
					state := s.finish(args...)
					used[args[0]] += cpuOf(state)
				}
			}
			ways := map[string]func(){"plan": run("plan", "--config", s.path("config.yaml")), "version": run("version")}
			paths := s.guestPaths()
			plain := []string{}
			for _, parallel := range []int{2, 3, 4, 6, 8} {
				name := fmt.Sprintf("plain-%d", parallel)
				plain = append(plain, name)
				ways[name] = func() { s.readPlain(paths, parallel) }
			}
			order := append([]string{"plan", "version"}, plain...)
			took := map[string][]time.Duration{}
			for b.Loop() {
				for _, name := range order {
					started := time.Now()
					ways[name]()
					took[name] = append(took[name], time.Since(started))
				}
				slices.Reverse(order) // so that each is first equally often
			}
			middle := func(name string) time.Duration {
				slices.Sort(took[name])
				return took[name][len(took[name])/2]
			}
			best := slices.MinFunc(plain, func(x, y string) int { return int(middle(x) - middle(y)) })
			b.ReportMetric(float64(middle("plan"))/float64(middle(best)), "ratio")
			b.ReportMetric(float64(middle("plan").Microseconds())/1000, "plan-ms")
			b.ReportMetric(float64(middle(best).Microseconds())/1000, best+"-ms")
			b.ReportMetric(float64(middle("version").Microseconds())/1000, "version-ms")
			for name, total := range used {
				b.ReportMetric(float64(total.Microseconds())/1000/float64(b.N), name+"-cpu-ms")
			}
		})
	}
}

// guestPaths returns the URLs that a plan reads: the list of guests, and each guest.
func (s *site) guestPaths() []string {
	s.Helper()
	var state struct {
		Guests []struct {
			VMID       int
			Kind, Node string
		} `json:"guests"`
	}
	s.get("/state", &state)
	base := s.read("addr") + "/api2/json"
	paths := []string{base + "/cluster/resources"}
	for _, g := range state.Guests {
		if g.VMID < 9000 { // not the template, which has no manifest
			paths = append(paths, fmt.Sprintf("%s/nodes/%s/%s/%d/pending", base, g.Node, g.Kind, g.VMID))
		}
	}
	return paths
}

// readPlain reads the first URL, and then the others with several requests in parallel, over new connections.
func (s *site) readPlain(urls []string, parallel int) {
	s.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(s.read("cert")))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, MaxIdleConnsPerHost: parallel}
	defer transport.CloseIdleConnections()
	client, token := &http.Client{Transport: transport}, "PVEAPIToken="+s.read("token")
	read := func(url string) error {
		req, err := http.NewRequestWithContext(s.Context(), http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", token)
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		_, err = io.Copy(io.Discard, resp.Body)
		if resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("GET %s: %s", url, resp.Status)
		}
		return err
	}
	s.ok(read(urls[0]))
	var group errgroup.Group
	var next atomic.Int64
	for range parallel {
		group.Go(func() error {
			for i := next.Add(1); i < int64(len(urls)); i = next.Add(1) {
				if err := read(urls[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	s.ok(group.Wait())
}
