//go:build integration

package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// someGuests is the number of guests that BenchmarkCreate creates and of which BenchmarkChange changes ten.
const someGuests = 50

// calls are the API calls that the simulator counted.
type calls struct {
	Reads  int            `json:"reads"`
	Writes int            `json:"writes"`
	Routes map[string]int `json:"routes"` // by method and path with placeholders
}

// calls returns the API calls since the last reset of the counters.
func (s *site) calls() calls {
	s.Helper()
	var c calls
	s.get("/counters", &c)
	return c
}

// reportCalls reports the calls of b.N operations, in total and for each guest, and logs them by route.
func (s *site) reportCalls(counted []calls, guests int) {
	s.Helper()
	b := s.TB.(*testing.B)
	total, routes := 0, map[string]int{}
	for _, c := range counted {
		total += c.Reads + c.Writes
		for route, n := range c.Routes {
			routes[route] += n
		}
	}
	b.ReportMetric(float64(total)/float64(len(counted)), "calls/op")
	b.ReportMetric(float64(total)/float64(len(counted)*guests), "calls/guest")
	for _, route := range slices.Sorted(maps.Keys(routes)) {
		b.Logf("%8.1f %s", float64(routes[route])/float64(len(counted)), route)
	}
}

// BenchmarkCreate creates guests from a blank source, from the push to convergence: time and API calls. The targets are 2.5 s, and five
// calls for each guest. Last checks and readings of tasks come on top.
func BenchmarkCreate(b *testing.B) {
	bin := buildBinaries(b)
	var counted []calls
	var wall time.Duration
	var s *site
	for b.Loop() {
		s = newSlowTickSite(b, bin)
		s.repo.Files["cluster.yaml"] = clusterManifest
		s.writeGuests(1, "")
		s.repo.Push(s.sig, killer, "one guest, for which the agent claims the cluster")
		s.run()
		s.converged()
		s.writeGuests(1+someGuests, "")
		counted, wall = append(counted, s.pushed()), wall+s.took
		_ = s.agent.Process.Kill()
	}
	s.reportCalls(counted, someGuests)
	b.ReportMetric(1000*wall.Seconds()/float64(b.N), "push-ms/op")
}

// BenchmarkChange changes the description of ten of 50 guests, from the push to convergence: time and API calls. The target is 0.5 s and 110 calls.
func BenchmarkChange(b *testing.B) {
	const changed = 10
	s := newSlowTickSite(b, buildBinaries(b))
	s.repo.Files["cluster.yaml"] = clusterManifest
	s.writeGuests(someGuests, "")
	s.repo.Push(s.sig, killer, "guests")
	s.run()
	s.converged()
	var counted []calls
	var wall time.Duration
	for i := 0; b.Loop(); i++ {
		s.writeGuests(changed, fmt.Sprintf("  description: change %d\n", i))
		counted, wall = append(counted, s.pushed()), wall+s.took
	}
	s.reportCalls(counted, changed)
	b.ReportMetric(1000*wall.Seconds()/float64(b.N), "push-ms/op")
}

// BenchmarkOnce reconciles a converged cluster once. The target is a call for each guest and four more.
func BenchmarkOnce(b *testing.B) {
	s := newSlowTickSite(b, buildBinaries(b))
	s.repo.Files["cluster.yaml"] = clusterManifest
	s.writeGuests(someGuests, "")
	s.repo.Push(s.sig, killer, "guests")
	s.finish("run", "--once", "--config", s.path("config.yaml"))
	var counted []calls
	for b.Loop() {
		s.post("/reset", nil)
		s.finish("run", "--once", "--config", s.path("config.yaml"))
		counted = append(counted, s.calls())
	}
	s.reportCalls(counted, someGuests)
}

// newSlowTickSite returns a site whose agent works after a push alone.
func newSlowTickSite(b *testing.B, bin string) *site {
	b.Helper()
	s := newSite(b, bin, "--task-time", "10ms")
	config := strings.NewReplacer("poll: 300ms", "poll: 1h", "tick: 300ms\n  resync: 600ms", "tick: 15m\n  resync: 1h").Replace(s.read("config.yaml"))
	s.ok(os.WriteFile(s.path("config.yaml"), []byte(config), 0o600))
	return s
}

// writeGuests writes the manifests of a number of virtual machines, which share further fields.
func (s *site) writeGuests(number int, fields string) {
	for i := range number {
		s.repo.Files[fmt.Sprintf("guest-%d.yaml", i)] = blankVM(fmt.Sprintf("guest-%d", i), 201+i, fields)
	}
}

// betweenHints is longer than the time that the agent lets pass between two polls because of webhooks.
const betweenHints = 1100 * time.Millisecond

// pushed pushes the files, calls the webhook and waits for convergence. It returns the API calls meanwhile, and sets how long that took. The last poll
// is so long ago that the webhook causes the next one at once.
func (s *site) pushed() calls {
	s.Helper()
	s.repo.Push(s.sig, killer, "change")
	time.Sleep(betweenHints)
	s.post("/reset", nil)
	started := time.Now()
	s.ring()
	s.converged()
	s.took = time.Since(started)
	return s.calls()
}
