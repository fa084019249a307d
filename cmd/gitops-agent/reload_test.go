//go:build integration

package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestHangupReloadsTheConfig sends SIGHUP to the real binary while the simulator, in another process, holds a call. The agent goes on with the new config, makes
// each change once, and keeps the previous config while the new one is not valid.
func TestHangupReloadsTheConfig(t *testing.T) {
	s := newSite(t, buildBinaries(t))
	add := func(line string) {
		config, err := os.OpenFile(s.path("config.yaml"), os.O_APPEND|os.O_WRONLY, 0o600)
		s.ok(err)
		_, err = fmt.Fprintln(config, line)
		s.ok(errors.Join(err, config.Close()))
	}
	push := func(lines string) {
		s.repo.Files["cluster.yaml"] = clusterManifest
		s.repo.Files["vm.yaml"] = blankVM("vm", 201, lines)
		s.repo.Push(s.sig, killer, "guest"+lines)
	}
	add("shutdown_timeout: 1s")
	push("")
	s.run()
	s.converged()
	process := s.agent.Process.Pid
	s.post("/reset", nil)
	s.post("/faults", map[string]any{"kind": "hold-before", "method": "POST", "path": "/config$", "times": 1})
	push("  memory: {size: 1Gi}\n")
	s.get("/held?n=1&timeout=60s", nil)
	add("limits: {guests_per_node: 3}")
	s.signal(syscall.SIGHUP)
	s.until("the reload", func() bool { return strings.Contains(s.read("log"), "config.reloaded") })
	s.post("/release", nil)
	s.converged()
	add("no such field: true")
	s.signal(syscall.SIGHUP)
	s.until("the refusal", func() bool { return strings.Contains(s.read("log"), "config.refused") })
	push("  memory: {size: 2Gi}\n")
	s.converged()
	if got := s.effects(201, "config-written"); got != 2 {
		t.Errorf("got %d writes, want 2; the agent's log:\n%s", got, s.read("log"))
	}
	if s.agent.Process.Pid != process {
		t.Errorf("got process %d, want %d as before", s.agent.Process.Pid, process)
	}
	s.signal(syscall.SIGTERM)
	s.ok(s.agent.Wait())
}
