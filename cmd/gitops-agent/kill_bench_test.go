//go:build integration

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkKillToSettled kills the real binary after the intent of a call was journaled and before the call acts, and starts it again at once, with
// the default intervals of the config. It measures the median time from the kill to the effect, and to the report that has converged. The target is
// 15 s. The call of the killed process acts after that, and must have no effect. Each iteration uses a guest of its own; the command is
//
//	go test -tags integration ./cmd/gitops-agent -run '^$' -bench KillToSettled -benchtime 9x
func BenchmarkKillToSettled(b *testing.B) {
	bin := buildBinaries(b)
	ops := map[string]struct {
		method, path, effect string
		before               string // lines of the guest's manifest before the change; "-" if there is no guest
		after                string
	}{
		"create": {"POST", "/nodes/pve1/qemu$", "created", "-", ""},
		"config": {"POST", "/config$", "config-written", "", "  memory: {size: 1Gi}\n"},
		"start":  {"POST", "/status/start$", "started", "", "  state: running\n"},
	}
	for op, call := range ops {
		b.Run(op, func(b *testing.B) {
			s := newSite(b, bin)
			config := strings.NewReplacer("  poll: 300ms\n", "", "  tick: 300ms\n  resync: 600ms\n", "").Replace(s.read("config.yaml"))
			s.ok(os.WriteFile(s.path("config.yaml"), []byte(config), 0o600))
			s.repo.Files["cluster.yaml"] = clusterManifest
			for vmid := 201; vmid < 201+b.N && call.before != "-"; vmid++ {
				s.repo.Files[fmt.Sprintf("guest-%d.yaml", vmid)] = blankVM(fmt.Sprintf("guest-%d", vmid), vmid, call.before)
			}
			s.repo.Push(s.sig, killer, "first")
			s.run()
			s.converged()
			var effects, reports []time.Duration
			for vmid := 201; vmid < 201+b.N; vmid++ {
				s.post("/reset", nil)
				s.post("/faults", map[string]any{"kind": "hold-before", "method": call.method, "path": call.path})
				s.repo.Files[fmt.Sprintf("guest-%d.yaml", vmid)] = blankVM(fmt.Sprintf("guest-%d", vmid), vmid, call.after)
				s.repo.Push(s.sig, killer, op)
				s.ring()
				s.get("/held?n=1&timeout=60s", nil)
				killed := time.Now()
				s.signal(syscall.SIGKILL)
				s.run()
				s.until("the effect", func() bool { return s.effects(vmid, call.effect) == 1 })
				effects = append(effects, time.Since(killed))
				s.converged()
				reports = append(reports, time.Since(killed))
				s.post("/release", nil)
				s.until("the old call to be over", func() bool { return s.held() == 0 })
				if got := s.effects(vmid, call.effect); got != 1 {
					b.Errorf("got %s %d times, want once; the agent's log:\n%s", call.effect, got, s.read("log"))
				}
			}
			b.ReportMetric(median(effects).Seconds(), "effect-s")
			b.ReportMetric(median(reports).Seconds(), "settled-s")
			b.ReportMetric(slices.Max(reports).Seconds(), "max-s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// median returns the middle of the durations, which it sorts.
func median(durations []time.Duration) time.Duration {
	slices.Sort(durations)
	return durations[len(durations)/2]
}
