//go:build integration

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// coldGuests is the number of guests of the cold plan.
const coldGuests = 500

// BenchmarkColdPlan plans a converged fleet with the real binary, against a simulator in another process: API calls, processor
// time and resident memory of one run. The targets are N+3 calls, 0.5 s and 64 MiB.
func BenchmarkColdPlan(b *testing.B) {
	s := newSite(b, buildBinaries(b), "--guests", fmt.Sprint(coldGuests), "--seed", "7", "--task-time", "1ms")
	s.adoptFleet(coldGuests)
	s.finish("run", "--once", "--config", s.path("config.yaml"))
	var calls, cpu, rss float64
	for b.Loop() {
		s.post("/reset", nil)
		state := s.finish("plan", "--exit-code", "--config", s.path("config.yaml"))
		var counters struct{ Reads, Writes int }
		s.get("/counters", &counters)
		if counters.Writes != 0 {
			b.Fatalf("got %d writes from a plan, want none", counters.Writes)
		}
		calls += float64(counters.Reads)
		cpu += cpuOf(state).Seconds()
		if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
			rss = max(rss, float64(usage.Maxrss)/1024)
		}
	}
	b.ReportMetric(calls/float64(b.N), "calls/op")
	b.ReportMetric(1000*cpu/float64(b.N), "cpu-ms/op")
	b.ReportMetric(rss, "rss-MiB")
	b.ReportMetric(float64(runtime.NumCPU()), "cores")
}

// adoptFleet pushes manifests that take generated guests over as they are.
func (s *site) adoptFleet(guests int) {
	s.Helper()
	s.repo.Files["cluster.yaml"] = strings.Replace(clusterManifest, "from: 200, to: 299", "from: 1000, to: 19999", 1)
	for i := range guests {
		vmid := generatedVMID(i)
		s.repo.Files[fmt.Sprintf("guest-%d.yaml", vmid)] = s.adopting(vmid)
	}
	s.repo.Push(s.sig, killer, "adopt the fleet")
}

// generatedVMID returns the vmid of the i-th guest that the simulator generates. It leaves 9000 to 9999 to templates.
func generatedVMID(i int) int {
	if i >= 8000 {
		return 2000 + i
	}
	return 1000 + i
}

// adopting returns a manifest that takes a generated guest over as it is.
func (s *site) adopting(vmid int) string {
	s.Helper()
	resp, err := http.Get(fmt.Sprintf("%s/config/%d", s.control, vmid))
	s.ok(err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	s.ok(err)
	kind := "VirtualMachine"
	memory, cores := "", ""
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "rootfs":
			kind = "Container"
		case "memory":
			memory = "  memory: {size: " + value + "Mi}\n"
		case "cores":
			cores = "  cpu: {cores: " + value + "}\n"
		}
	}
	return fmt.Sprintf("apiVersion: proxmox.gitops/v1alpha1\nkind: %s\nmetadata: {name: guest-%d}\nspec:\n  vmid: %d\n  adopt: ifUnmanaged\n%s%s", kind, vmid, vmid, memory, cores)
}

// BenchmarkPushToConverged pushes a commit, calls the webhook and waits until the agent reports convergence. The
// target is 2 s without the time of Proxmox's tasks, which take 1 ms here.
func BenchmarkPushToConverged(b *testing.B) {
	s := newSite(b, buildBinaries(b), "--task-time", "1ms")
	s.repo.Files["cluster.yaml"] = clusterManifest
	s.repo.Files["web.yaml"] = blankVM("web-1", 201, "")
	s.repo.Push(s.sig, killer, "first")
	s.run()
	s.converged()
	var total time.Duration
	for i := 0; b.Loop(); i++ {
		s.repo.Files["web.yaml"] = blankVM("web-1", 201, fmt.Sprintf("  memory: {size: %dMi}\n", 512+16*(i%8)))
		s.repo.Push(s.sig, killer, "memory")
		started := time.Now()
		s.ring()
		s.converged()
		total += time.Since(started)
	}
	b.ReportMetric(1000*total.Seconds()/float64(b.N), "push-ms/op")
}

// BenchmarkClassChange changes a class that a whole fleet uses: processor time of the agent and calls for each changed guest, from the push to
// convergence. The target is 5 ms for each guest, whatever the size of the fleet. BenchmarkOneChange is the same for one guest of the fleet.
func BenchmarkClassChange(b *testing.B) {
	for _, guests := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprintf("%d", guests), func(b *testing.B) {
			s := newClassFleet(b, guests)
			s.measureChanges(guests, guests, func(i int) {
				s.repo.Files["class.yaml"] = fleetClass(i)
			})
		})
	}
}

// BenchmarkOneChange changes one guest of a fleet. The reads should be those of the changed guest and of the regular sweep, which reads nothing
// here within the time of a change.
func BenchmarkOneChange(b *testing.B) {
	for _, guests := range []int{1000, 5000} {
		b.Run(fmt.Sprintf("%d", guests), func(b *testing.B) {
			s := newClassFleet(b, guests)
			manifest := s.repo.Files["guest-1000.yaml"]
			s.measureChanges(guests, 1, func(i int) {
				s.repo.Files["guest-1000.yaml"] = manifest + fmt.Sprintf("  description: change %d\n", i)
			})
		})
	}
}

// fleetClass returns the class of a fleet, in its i-th version.
func fleetClass(i int) string {
	return fmt.Sprintf("apiVersion: proxmox.gitops/v1alpha1\nkind: GuestClass\nmetadata: {name: fleet}\nspec: {virtualMachine: {description: version %[1]d}, container: {description: version %[1]d}}\n", i)
}

// newClassFleet returns a running agent that has adopted a fleet of one class. Its tick is long, so that only pushes cause work.
func newClassFleet(b *testing.B, guests int) *site {
	b.Helper()
	s := newSite(b, buildBinaries(b), "--guests", fmt.Sprint(guests), "--seed", "7", "--task-time", "1ms")
	config := strings.NewReplacer("poll: 300ms", "poll: 1h", "tick: 300ms\n  resync: 600ms", "tick: 15m\n  resync: 1h").Replace(s.read("config.yaml"))
	s.ok(os.WriteFile(s.path("config.yaml"), []byte(config), 0o600))
	s.repo.Files["class.yaml"] = fleetClass(0)
	s.adoptFleet(guests)
	for i := range guests {
		s.repo.Files[fmt.Sprintf("guest-%d.yaml", generatedVMID(i))] += "  class: [fleet]\n"
	}
	s.repo.Push(s.sig, killer, "use the class")
	s.finish("run", "--once", "--config", s.path("config.yaml"))
	s.run()
	s.converged()
	return s
}

// measureChanges pushes changes that concern a number of guests of a fleet, and reports the cost of each.
func (s *site) measureChanges(fleet, guests int, change func(i int)) {
	s.Helper()
	b := s.TB.(*testing.B)
	var used, wall time.Duration
	var reads, writes int
	for i := 1; b.Loop(); i++ {
		change(i)
		s.repo.Push(s.sig, killer, "change")
		s.post("/reset", nil)
		before, started := s.agentTime(), time.Now()
		s.ring()
		s.until("convergence", func() bool {
			time.Sleep(time.Duration(fleet) * 200 * time.Microsecond) // printing the status of many guests costs processor time too
			return s.hasConverged()
		})
		wall += time.Since(started)
		used += s.agentTime() - before
		var counters struct{ Reads, Writes int }
		s.get("/counters", &counters)
		reads, writes = reads+counters.Reads, writes+counters.Writes
	}
	n := float64(b.N * guests)
	b.ReportMetric(float64(used.Microseconds())/1000/n, "cpu-ms/guest")
	b.ReportMetric(float64(reads)/n, "reads/guest")
	b.ReportMetric(float64(writes)/n, "writes/guest")
	b.ReportMetric(1000*wall.Seconds()/float64(b.N), "push-ms/op")
	b.ReportMetric(s.agentMemory(), "rss-MiB")
}

// ring calls the webhook, so that the agent polls the repository now.
func (s *site) ring() {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), http.MethodPost, "http://"+s.address+"/webhook", nil)
	s.ok(err)
	req.Header.Set("Authorization", "Bearer "+s.read("webhook"))
	resp, err := http.DefaultClient.Do(req)
	s.ok(err)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		s.Fatalf("webhook: got %s, want 202", resp.Status)
	}
}

// BenchmarkIdleTick measures the cost of a tick for a converged cluster of 1,000 guests in the real binary: API calls, processor
// time and resident memory, with a quarter of the fleet read in full as by default, and by Proxmox's list of guests. An operation
// lasts as long as the time between two ticks. The target is 60 ms.
func BenchmarkIdleTick(b *testing.B) {
	const guests, tick = 1000, 2 * time.Second
	for name, pace := range map[string]string{
		"sweep":  "tick: 2s\n  resync: 8s",
		"vmlist": "tick: 2s\n  resync: 8s\n  vmlist_file: ",
	} {
		b.Run(name, func(b *testing.B) {
			list := b.TempDir() + "/.vmlist"
			s := newSite(b, buildBinaries(b), "--guests", fmt.Sprint(guests), "--seed", "7", "--task-time", "1ms", "--vmlist", list)
			if name == "vmlist" {
				pace += list
			}
			config := strings.NewReplacer("poll: 300ms", "poll: 1h", "tick: 300ms\n  resync: 600ms", pace).Replace(s.read("config.yaml"))
			s.ok(os.WriteFile(s.path("config.yaml"), []byte(config), 0o600))
			s.adoptFleet(guests)
			s.finish("run", "--once", "--config", s.path("config.yaml"))
			s.run()
			s.converged()
			time.Sleep(30 * time.Second) // until the inventory no longer reports the adoption
			s.post("/reset", nil)
			before := s.agentTime()
			for b.Loop() {
				time.Sleep(tick)
			}
			used := s.agentTime() - before
			var counters struct{ Reads, Writes int }
			s.get("/counters", &counters)
			if counters.Writes != 0 {
				b.Errorf("got %d writes to a converged cluster, want none", counters.Writes)
			}
			b.ReportMetric(float64(used.Microseconds())/1000/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(counters.Reads)/float64(b.N), "calls/op")
			b.ReportMetric(s.agentMemory(), "rss-MiB")
		})
	}
}

// BenchmarkStatusClients has 50 clients at once request the page, and then the metrics, of an agent with a converged cluster of 1,000 guests, ten times each: the
// time of a request at the 99th percentile, replies other than 200, the peak of the agent's resident memory, and its memory a minute afterwards. The
// targets are 1 s, none below 20 scrapers, 150 MiB and 90 MiB.
func BenchmarkStatusClients(b *testing.B) {
	const guests, clients, rounds = 1000, 50, 10
	s := newSite(b, buildBinaries(b), "--guests", fmt.Sprint(guests), "--seed", "7", "--task-time", "1ms")
	config := strings.NewReplacer("poll: 300ms", "poll: 1h", "tick: 300ms\n  resync: 600ms", "tick: 15s\n  resync: 60s").Replace(s.read("config.yaml"))
	s.ok(os.WriteFile(s.path("config.yaml"), []byte(config), 0o600))
	s.adoptFleet(guests)
	s.finish("run", "--once", "--config", s.path("config.yaml"))
	s.run()
	s.converged()
	b.ReportMetric(s.residentMemory(), "before-MiB")
	for b.Loop() {
		for name, path := range map[string]string{"page": "/", "metrics": "/metrics"} {
			var mu sync.Mutex
			var took []time.Duration
			refused := 0
			var wg sync.WaitGroup
			for range clients {
				wg.Go(func() {
					for range rounds {
						started := time.Now()
						resp, err := http.Get("http://" + s.address + path)
						good := err == nil && resp.StatusCode == http.StatusOK
						if err == nil {
							_, _ = io.Copy(io.Discard, resp.Body)
							_ = resp.Body.Close()
						}
						mu.Lock()
						took = append(took, time.Since(started))
						if !good {
							refused++
						}
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Milliseconds()), name+"-p99-ms")
			b.ReportMetric(100*float64(refused)/float64(len(took)), name+"-failed-%")
		}
	}
	b.ReportMetric(s.agentMemory(), "peak-MiB")
	time.Sleep(time.Minute)
	b.ReportMetric(s.residentMemory(), "after-MiB")
}

// residentMemory returns the resident memory of the agent, in MiB.
func (s *site) residentMemory() float64 {
	s.Helper()
	return s.memory("VmRSS:")
}

// agentTime returns the processor time of the agent.
func (s *site) agentTime() time.Duration {
	s.Helper()
	const clockTick = 10 * time.Millisecond // of every Linux that Go runs on
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.agent.Process.Pid))
	s.ok(err)
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // the fields before may contain spaces
	var total time.Duration
	for _, field := range fields[11:13] {
		ticks, err := strconv.Atoi(field)
		s.ok(err)
		total += time.Duration(ticks) * clockTick
	}
	return total
}

// agentMemory returns the peak resident memory of the agent, in MiB.
func (s *site) agentMemory() float64 {
	s.Helper()
	return s.memory("VmHWM:")
}

// memory returns a size from the status of the agent's process, in MiB.
func (s *site) memory(field string) float64 {
	s.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.agent.Process.Pid))
	s.ok(err)
	var kib float64
	_, after, found := strings.Cut(string(text), field)
	if _, err := fmt.Sscan(after, &kib); err != nil || !found {
		s.Fatalf("got no %s in %s", field, text)
	}
	return kib / 1024
}
