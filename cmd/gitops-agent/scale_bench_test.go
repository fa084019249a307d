//go:build integration

package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkScale measures what a cluster costs with the agent's default settings, by its number of guests and nodes: adoption, a cold plan, a minute without
// changes, a push that changes one guest, memory, journal, page and scrape. The simulator answers after the recorded latency of Proxmox, with three
// workers on each node. The figures of docs/internals/scale.md are those of one operation.
func BenchmarkScale(b *testing.B) {
	for _, guests := range []int{100, 1000, 5000, 10000} {
		for _, nodes := range []int{3, 16, 32} {
			b.Run(fmt.Sprintf("guests=%d/nodes=%d", guests, nodes), func(b *testing.B) {
				for b.Loop() {
					measureScale(b, guests, nodes)
				}
			})
		}
	}
}

func measureScale(b *testing.B, guests, nodes int) {
	names := make([]string, nodes)
	for i := range names {
		names[i] = fmt.Sprintf("pve%d", i+1)
	}
	s := newSite(b, buildBinaries(b), "--guests", fmt.Sprint(guests), "--nodes", strings.Join(names, ","), "--seed", "7", "--task-time", "1ms", "--latency", "recorded")
	config := strings.NewReplacer("  poll: 300ms\n", "", "  tick: 300ms\n  resync: 600ms\n", "").Replace(s.read("config.yaml"))
	s.ok(os.WriteFile(s.path("config.yaml"), []byte(config), 0o600))
	s.adoptFleet(guests)
	s.joinFiles(guests) // the agent reads at most 10,000 files
	report := func(value float64, unit string) { b.ReportMetric(value, unit) }

	s.post("/reset", nil)
	started := time.Now()
	state := s.finish("run", "--once", "--config", s.path("config.yaml"))
	report(time.Since(started).Seconds(), "adopt-s")
	report(cpuOf(state).Seconds(), "adopt-cpu-s")
	report(float64(s.journalSize())/1024/float64(guests), "adopt-journal-KiB/guest")

	s.post("/reset", nil)
	started = time.Now()
	state = s.finish("plan", "--exit-code", "--config", s.path("config.yaml"))
	report(1000*time.Since(started).Seconds(), "plan-ms")
	report(1000*cpuOf(state).Seconds(), "plan-cpu-ms")
	report(float64(state.SysUsage().(*syscall.Rusage).Maxrss)/1024, "plan-rss-MiB")
	report(float64(s.calls().Reads), "plan-calls")

	s.run()
	s.untilWithin(10*time.Minute, "convergence", func() bool { time.Sleep(time.Second); return s.hasConverged() })
	report(s.residentMemory(), "rss-MiB")
	time.Sleep(45 * time.Second) // until the inventory no longer reports the adoption
	s.post("/reset", nil)
	before, size, started := s.agentTime(), s.journalSize(), time.Now()
	time.Sleep(time.Minute)
	minutes, counted := time.Since(started).Minutes(), s.calls()
	report(1000*(s.agentTime()-before).Seconds()/minutes, "idle-cpu-ms/min")
	report(float64(counted.Reads)/minutes, "idle-calls/min")
	report(float64(s.journalSize()-size)/1024/minutes, "idle-journal-KiB/min")
	if counted.Writes != 0 {
		b.Errorf("got %d writes to a converged cluster, want none", counted.Writes)
	}
	first, again, page := s.fetch("/")
	report(1000*first.Seconds(), "page-first-ms")
	report(1000*again.Seconds(), "page-ms")
	report(float64(len(page))/1024, "page-KiB")
	_, scrape, text := s.fetch("/metrics")
	report(1000*scrape.Seconds(), "scrape-ms")
	report(float64(series(text)), "series")

	manifest := s.repo.Files["guest-1000.yaml"]
	s.repo.Files["guest-1000.yaml"] = manifest + "  description: first\n" // the agent claims the cluster, which takes three seconds
	s.repo.Push(s.sig, killer, "change one guest")
	s.ring()
	s.untilWithin(5*time.Minute, "convergence", s.hasConverged)
	time.Sleep(20 * time.Second) // until the inventory no longer reports the change
	s.repo.Files["guest-1000.yaml"] = manifest + "  description: changed\n"
	s.repo.Push(s.sig, killer, "change it again")
	s.post("/reset", nil)
	size, started = s.journalSize(), time.Now()
	s.ring()
	s.untilWithin(5*time.Minute, "convergence", s.hasChanged(1000, "changed"))
	report(1000*time.Since(started).Seconds(), "push-written-ms")
	s.untilWithin(5*time.Minute, "convergence", func() bool { // printing the status of many guests takes the agent's time
		time.Sleep(time.Duration(guests) * 50 * time.Microsecond)
		return s.hasConverged()
	})
	report(1000*time.Since(started).Seconds(), "push-converged-ms")
	report(float64(s.calls().Reads), "push-reads")
	report(float64(s.journalSize()-size)/1024, "push-journal-KiB")
	report(s.agentMemory(), "peak-rss-MiB")
}

// joinFiles puts the manifests of all generated guests but the first into files of 100 guests each, and pushes them.
func (s *site) joinFiles(guests int) {
	s.Helper()
	for i := 1; i < guests; i++ {
		name := fmt.Sprintf("guest-%d.yaml", generatedVMID(i))
		s.repo.Files[fmt.Sprintf("guests-%d.yaml", i/100)] += "---\n" + s.repo.Files[name]
		delete(s.repo.Files, name)
	}
	s.repo.Push(s.sig, killer, "a hundred guests in a file")
}

// hasChanged returns a function that reports whether the configuration of a guest contains a text.
func (s *site) hasChanged(vmid int, text string) func() bool {
	return func() bool {
		resp, err := http.Get(fmt.Sprintf("%s/config/%d", s.control, vmid))
		s.ok(err)
		defer func() { _ = resp.Body.Close() }()
		config, err := io.ReadAll(resp.Body)
		s.ok(err)
		return bytes.Contains(config, []byte(text))
	}
}

// fetch returns the time of a request for a path of the agent, the shortest time of four more, and the content.
func (s *site) fetch(path string) (first, again time.Duration, content []byte) {
	s.Helper()
	for i := range 5 {
		started := time.Now()
		resp, err := http.Get("http://" + s.address + path)
		s.ok(err)
		content, err = io.ReadAll(resp.Body)
		s.ok(err)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			s.Fatalf("GET %s: %s", path, resp.Status)
		}
		switch took := time.Since(started); i {
		case 0:
			first, again = took, time.Hour
		default:
			again = min(again, took)
		}
	}
	return first, again, content
}

// series returns how many series a scrape has.
func series(scrape []byte) int {
	n := 0
	for line := range bytes.Lines(scrape) {
		if !bytes.HasPrefix(line, []byte("#")) {
			n++
		}
	}
	return n
}

// journalSize returns the size of the journal's files, in bytes.
func (s *site) journalSize() int64 {
	s.Helper()
	return s.folderSize(s.path("state/journal"))
}

// folderSize returns the size of all files in a folder, in bytes.
func (s *site) folderSize(dir string) int64 {
	s.Helper()
	var size int64
	s.ok(filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	}))
	return size
}

// cpuOf returns the processor time of an ended process.
func cpuOf(state *os.ProcessState) time.Duration { return state.UserTime() + state.SystemTime() }
