package verify_test

import (
	"fmt"
	"testing"

	"gitops-agent/gitsource"
	"gitops-agent/internal/sigtest"
	"gitops-agent/verify"
)

// BenchmarkAudit verifies one commit: read, split, parse, prove, recognise.
func BenchmarkAudit(b *testing.B) {
	for name, opts := range map[string]sigtest.SignOptions{
		"v1": {}, "v2_timestamp": {LogPart: sigtest.RekorV2},
	} {
		b.Run(name, func(b *testing.B) {
			l := newLab(b)
			if opts.LogPart == sigtest.RekorV2 {
				opts.TSA = sigtest.By(l.sig)
			}
			p, id := l.policy(), l.commit(draft{sign: opts})
			for b.Loop() {
				if v := p.Audit(b.Context(), l.repo, id); !v.Accepted {
					b.Fatal(v.Err)
				}
			}
		})
	}
}

// BenchmarkCheckRange verifies a thousand commits on all processors; ms/commit is wall time.
func BenchmarkCheckRange(b *testing.B) {
	l := newLab(b)
	tree := l.tree("web.yaml=1")
	base := l.commit(draft{tree: tree})
	tip := base
	for i := range 1000 {
		tip = l.commit(draft{tree: tree, parents: []gitsource.ID{tip}, message: fmt.Sprintf("commit %d", i)})
	}
	p := l.policy()
	b.ReportAllocs()
	for b.Loop() {
		l.accepted(p, tip, verify.Base{Commit: base})
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/1000, "ms/commit")
}
