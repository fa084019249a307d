package journal

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkAppendAlone is the baseline: every append waits for its own fsync.
func BenchmarkAppendAlone(b *testing.B) {
	j := openJournal(b, Options{Dir: b.TempDir()})
	for l := (lane{}); b.Loop(); {
		mustAppend(b, j, l.next())
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
}

// BenchmarkAppend64 appends from 64 lanes, which share commits. Compare appends/s with BenchmarkAppendAlone.
func BenchmarkAppend64(b *testing.B) {
	var commits atomic.Int64
	j := openJournal(b, Options{Dir: b.TempDir(), OnSync: func(Sync) { commits.Add(1) }})
	b.SetParallelism((64 + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
	var lanes atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		for l := (lane{id: int(lanes.Add(1))}); pb.Next(); {
			mustAppend(b, j, l.next())
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
	b.ReportMetric(float64(b.N)/float64(commits.Load()), "appends/commit")
}

func BenchmarkOpen100k(b *testing.B) {
	dir := b.TempDir()
	fillJournal(b, dir, 100_000)
	b.ReportAllocs()
	for b.Loop() {
		j := openJournal(b, Options{Dir: dir})
		if got := j.Recovered().Records; got != 100_000 {
			b.Fatalf("got %d records, want 100,000", got)
		}
		mustClose(b, j)
	}
}

// BenchmarkState reads the state of many guests after every record of a step.
func BenchmarkState(b *testing.B) {
	for _, guests := range []int{300, 10_000} {
		b.Run(fmt.Sprint(guests), func(b *testing.B) {
			f := newFold()
			for i := range guests {
				name := fmt.Sprint("web-", i)
				f.add(Record{Body: Assigned{Kind: "VirtualMachine", Name: name, VMID: i + 1}})
				f.add(Record{Body: Owned{VMID: i + 1, Kind: "VirtualMachine", Name: name, Identity: name}})
				f.add(Record{Body: Guarded{VMID: i + 1, Kind: "VirtualMachine", Name: name}})
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				step := fmt.Sprint(i)
				f.add(Record{Body: Begun{Step: step, VMID: 1, Op: "start"}})
				if s := f.state(); len(s.Owned) != guests || len(s.Open) != 1 {
					b.Fatalf("got %d guests and %d steps, want %d and 1", len(s.Owned), len(s.Open), guests)
				}
				f.add(Record{Body: Ended{Step: step, Result: Done}})
			}
		})
	}
}

// fillJournal appends n records with the sizes and kinds of real steps.
func fillJournal(tb testing.TB, dir string, n int) {
	tb.Helper()
	j := openJournal(tb, Options{Dir: dir, CompactAfter: 1 << 20})
	for i := 0; i < n; i += 100 {
		var bodies []Body
		for k := i; k < i+99; k += 3 {
			step := benchStep(k)
			bodies = append(bodies, step, Dispatched{Step: step.Step, UPID: "UPID:pve1:0006B5C8:009F1A2C:66A1B2C3:qmconfig:101:gitops@pve!agent:"},
				Ended{Step: step.Step, Result: Done})
		}
		mustAppend(tb, j, append(bodies, Event{Name: "drift_found", VMID: i + 1, Message: "memory: got 4096, want 2048"})...)
	}
	mustClose(tb, j)
}

// lane returns records that begin and end one step after the other.
type lane struct{ id, appended int }

func (l *lane) next() Body {
	l.appended++
	step := benchStep(l.appended)
	step.Step = fmt.Sprintf("%d-%d", l.id, (l.appended+1)/2)
	if l.appended%2 == 1 {
		return step
	}
	return Ended{Step: step.Step, Result: Done}
}

func benchStep(i int) Begun {
	return Begun{
		Step: fmt.Sprintf("%08x-%d", time.Now().UnixNano(), i), VMID: 100 + i%1000, Kind: "VirtualMachine", Name: "web-1", Node: "pve1", Op: "config", Class: "live",
		Revision:   "main@sha1:3f2a1c9b8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a",
		StepDigest: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		TaskVMID:   100 + i%1000, TaskTypes: []string{"qmconfig"},
	}
}
