package verify_test

import (
	"syscall"
	"testing"
	"time"

	"gitops-agent/internal/sigtest"
	"gitops-agent/verify"
)

// BenchmarkAudit verifies one commit: read, split, parse, prove, match the signer. cpu-ms/commit is processor time, which
// depends little on other load of the machine.
func BenchmarkAudit(b *testing.B) {
	for name, opts := range map[string]sigtest.SignOptions{
		"v1": {}, "v2_timestamp": {LogPart: sigtest.RekorV2},
	} {
		b.Run(name, func(b *testing.B) {
			l := newTestRepo(b)
			if opts.LogPart == sigtest.RekorV2 {
				opts.TSA = sigtest.By(l.sig)
			}
			p, id := l.policy(), l.commit(draft{sign: opts})
			before := processorTime(b)
			for b.Loop() {
				if v := p.Audit(b.Context(), l.repo, id); !v.Accepted {
					b.Fatal(v.Err)
				}
			}
			reportProcessor(b, before, 1)
		})
	}
}

// BenchmarkCheckRange verifies a thousand commits on all processors; ms/commit is wall time.
func BenchmarkCheckRange(b *testing.B) {
	l := newTestRepo(b)
	base, tip := thousandCommits(l)
	p := l.policy()
	b.ReportAllocs()
	before := processorTime(b)
	for b.Loop() {
		l.accepted(p, tip, verify.Base{Commit: base})
	}
	reportProcessor(b, before, 1000)
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/1000, "ms/commit")
}

// processorTime returns the processor time that this process has used.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func reportProcessor(b *testing.B, before time.Duration, commits int) {
	b.Helper()
	used := processorTime(b) - before
	b.ReportMetric(used.Seconds()*1000/float64(b.N*commits), "cpu-ms/commit")
}
