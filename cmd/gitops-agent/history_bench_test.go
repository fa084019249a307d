//go:build integration

package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

var longHistory = flag.Int("long-history", 20_000, "commits of BenchmarkLongHistory")

// BenchmarkLongHistory starts the real binary at a repository with many commits, of which the agent verifies the newest: the first fetch, another start, a
// push, and what the agent keeps. Each commit changes one of 1,000 small files. docs/internals/scale.md has the figures of a million.
func BenchmarkLongHistory(b *testing.B) {
	for b.Loop() {
		s := newSite(b, buildBinaries(b), "--task-time", "1ms")
		config := strings.Replace(s.read("config.yaml"), "source:\n", "source:\n  timeout: 1h\n", 1) // git sorts the objects of a million commits before it sends them
		s.ok(os.WriteFile(s.path("config.yaml"), []byte(config), 0o600))
		s.unsignedHistory(*longHistory)
		s.repo.Files["cluster.yaml"] = clusterManifest
		s.repo.Files["web.yaml"] = blankVM("web-1", 201, "")
		s.repo.Push(s.sig, killer, "the first signed commit")
		b.ReportMetric(float64(s.folderSize(s.repo.Dir))/(1<<20), "server-MiB")
		s.measureStart(b, "first")
		b.ReportMetric(float64(s.folderSize(s.path("state")))/(1<<20), "state-MiB")
		s.measureStart(b, "again")
		s.repo.Files["web.yaml"] = blankVM("web-1", 201, "  memory: {size: 1Gi}\n")
		s.repo.Push(s.sig, killer, "memory")
		s.measureStart(b, "push")
	}
}

// measureStart starts the agent, and reports what convergence takes: time, processor time and the most memory.
func (s *site) measureStart(b *testing.B, name string) {
	b.Helper()
	started := time.Now()
	s.run()
	s.untilWithin(time.Hour, "convergence", s.hasConverged)
	b.ReportMetric(time.Since(started).Seconds(), name+"-s")
	b.ReportMetric(s.agentTime().Seconds(), name+"-cpu-s")
	b.ReportMetric(s.agentMemory(), name+"-rss-MiB")
	s.signal(syscall.SIGTERM)
	s.ok(s.agent.Wait())
}

// unsignedHistory puts n commits below the next push.
func (s *site) unsignedHistory(n int) {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), "git", "--git-dir", s.repo.Dir, "fast-import", "--quiet")
	in, err := cmd.StdinPipe()
	s.ok(err)
	s.ok(cmd.Start())
	stream := bufio.NewWriterSize(in, 1<<16)
	for i := range n {
		text := fmt.Sprintf("value: %d\n", i)
		_, err = fmt.Fprintf(stream, "commit refs/heads/main\ncommitter A <a@lab.test> %d +0000\ndata 1\nm\nM 100644 inline notes/%d/%d.txt\ndata %d\n%s\n",
			1_500_000_000+i, i/40%25, i%40, len(text), text)
		s.ok(err)
	}
	s.ok(stream.Flush())
	s.ok(in.Close())
	s.ok(cmd.Wait())
	s.repo.Tip = strings.TrimSpace(s.repo.Git(nil, "rev-parse", "main"))
}
