//go:build integration

package main

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"
)

// BenchmarkAdopt writes the manifests of a whole fleet with the real program, against a simulator in another process: time, processor time, API
// calls and resident memory of one run. The targets for 5,000 guests are 30 s and a call for each guest and a few more.
func BenchmarkAdopt(b *testing.B) {
	for _, guests := range []int{500, 5000} {
		b.Run(fmt.Sprint(guests), func(b *testing.B) {
			s := newSite(b, buildBinaries(b), "--guests", fmt.Sprint(guests), "--seed", "7")
			var counted []calls
			var wall, used time.Duration
			var rss float64
			for i := 0; b.Loop(); i++ {
				s.post("/reset", nil)
				dir, started := s.path(fmt.Sprintf("adopted-%d", i)), time.Now()
				state := s.finish("adopt", "--all", "--out", dir, "--config", s.path("config.yaml"))
				wall, used = wall+time.Since(started), used+state.UserTime()+state.SystemTime()
				counted = append(counted, s.calls())
				files, err := os.ReadDir(dir)
				s.ok(err)
				if len(files) < guests {
					b.Fatalf("got %d manifests, want %d", len(files), guests)
				}
				if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
					rss = max(rss, float64(usage.Maxrss)/1024)
				}
			}
			s.reportCalls(counted, guests)
			b.ReportMetric(wall.Seconds()/float64(b.N), "s/op")
			b.ReportMetric(1000*used.Seconds()/float64(b.N*guests), "cpu-ms/guest")
			b.ReportMetric(rss, "rss-MiB")
		})
	}
}
