package volumes_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gitops-agent/internal/proxmox"
	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/volumes"
)

// stopwatch notes when each guest was last read, and how long before each destroy that was.
type stopwatch struct {
	next http.RoundTripper

	mu     sync.Mutex
	read   map[string]time.Time // by path
	oldest []time.Duration      // from the reading of the guest that was read first to the request
	target []time.Duration      // from the reading of the guest itself to the request
	gets   int
}

func (s *stopwatch) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	now := time.Now()
	switch {
	case r.Method == http.MethodDelete:
		oldest := now
		for path, at := range s.read {
			if at.Before(oldest) && strings.Contains(path, "/qemu/1") { // the guests that are not destroyed
				oldest = at
			}
		}
		s.oldest = append(s.oldest, now.Sub(oldest))
		s.target = append(s.target, now.Sub(s.read[strings.TrimSuffix(r.URL.Path, "/")+"/pending"]))
	case strings.HasSuffix(r.URL.Path, "/pending"):
		s.read[r.URL.Path] = now
	}
	s.gets++
	s.mu.Unlock()
	return s.next.RoundTrip(r)
}

// BenchmarkInterval measures the time in which a new reference to a volume is not noticed: from the reading of the guests to the arrival of a destroy. Each
// round is one destroy with a reading of its own ("alone"), or eight at once that share one ("shared"). The simulator answers as slowly as a real node.
func BenchmarkInterval(b *testing.B) {
	for _, guests := range []int{10, 100, 300} {
		for _, together := range []int{1, 8} {
			b.Run(fmt.Sprintf("guests=%d/together=%d", guests, together), func(b *testing.B) { measure(b, guests, together) })
		}
	}
}

func measure(b *testing.B, guests, together int) {
	b.Helper()
	sim := pvesim.New(pvesim.Options{Latency: time.Millisecond, Latencies: pvesim.RecordedLatencies()})
	defer sim.Close()
	for i := range guests {
		_, err := sim.AddVM(pvesim.Guest{VMID: 1000 + i, Config: fmt.Sprintf("name: g%d\nscsi0: local-lvm:vm-%d-disk-0,size=1G\n", i, 1000+i)})
		check(b, err)
	}
	watch := &stopwatch{next: sim.Transport(), read: map[string]time.Time{}}
	token := filepath.Join(b.TempDir(), "token")
	check(b, os.WriteFile(token, []byte(sim.Token("gitops@pve!agent")+"\n"), 0o600))
	client, err := proxmox.New(proxmox.Options{Endpoints: []string{"https://pve1"}, TokenFile: token, Transport: watch})
	check(b, err)
	defer client.Close()
	next, s := 500000, volumes.New(client, nil) // after the first round it knows the digests
	for b.Loop() {
		b.StopTimer()
		time.Sleep(volumes.Window + 10*time.Millisecond)
		var targets []int
		for range together {
			next++
			_, err := sim.AddVM(pvesim.Guest{VMID: next, Config: fmt.Sprintf("name: t\nscsi0: local-lvm:vm-%d-disk-0,size=1G\n", next)})
			check(b, err)
			targets = append(targets, next)
		}
		b.StartTimer()
		var calls sync.WaitGroup
		for _, vmid := range targets {
			calls.Go(func() { destroy(b, client, s, vmid) })
		}
		calls.Wait()
	}
	report(b, "oldest", watch.oldest)
	report(b, "target", watch.target)
	b.ReportMetric(float64(watch.gets)/float64(len(watch.oldest)), "requests/destroy")
}

// destroy sends a destroy as a lane does.
func destroy(b *testing.B, client *proxmox.Client, s *volumes.Source, vmid int) {
	call := cluster.Call{Op: cluster.OpDestroy, Kind: guest.VirtualMachine, Node: "pve1", VMID: vmid}
	upid, err := client.Do(b.Context(), call, func(ctx context.Context) error {
		touch := cluster.Touch{Volume: fmt.Sprintf("local-lvm:vm-%d-disk-0", vmid), Effect: cluster.Deletes}
		err := s.Check(ctx, volumes.Request{
			Guest: guest.Ref{Kind: guest.VirtualMachine, VMID: vmid}, Op: cluster.OpDestroy, Node: "pve1", Touches: []cluster.Touch{touch},
			Owned: func(int) bool { return false },
		})
		if err != nil {
			return err
		}
		_, err = client.Observe(ctx, cluster.Row{Kind: guest.VirtualMachine, VMID: vmid, Node: "pve1"})
		return err
	})
	if err != nil {
		b.Error(err)
		return
	}
	if _, err := client.Wait(b.Context(), upid); err != nil {
		b.Error(err)
	}
	s.Written(vmid)
}

func report(b *testing.B, name string, times []time.Duration) {
	slices.Sort(times)
	at := func(percent int) float64 {
		return float64(times[min(len(times)-1, len(times)*percent/100)].Microseconds()) / 1000
	}
	b.ReportMetric(at(50), name+"-p50-ms")
	b.ReportMetric(at(99), name+"-p99-ms")
}

func check(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
