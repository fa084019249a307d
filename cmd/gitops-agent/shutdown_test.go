//go:build integration

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestShutdownWithCallsInFlight ends the real binary while the simulator, in another process, holds two calls and more wait for their turn. No call is
// sent after the signal. A second signal ends the agent at once. In both cases each change is made once.
func TestShutdownWithCallsInFlight(t *testing.T) {
	bin := buildBinaries(t)
	for name, test := range map[string]struct {
		timeout string
		signals int
		status  int
	}{"limit": {"1s", 1, 0}, "second_signal": {"10m", 2, -1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, bin)
			config, err := os.OpenFile(s.path("config.yaml"), os.O_APPEND|os.O_WRONLY, 0o600)
			s.ok(err)
			_, err = fmt.Fprintf(config, "shutdown_timeout: %s\n", test.timeout)
			s.ok(errors.Join(err, config.Close()))
			const guests = 5
			put := func(lines string) {
				s.repo.Files["cluster.yaml"] = clusterManifest
				for i := range guests {
					s.repo.Files[fmt.Sprintf("vm-%d.yaml", i)] = blankVM(fmt.Sprintf("vm-%d", i), 201+i, lines)
				}
				s.repo.Push(s.sig, killer, "guests"+lines)
			}
			put("")
			s.run()
			s.converged()
			s.post("/reset", nil)
			s.post("/faults", map[string]any{"kind": "hold-before", "method": "POST", "path": "/config$", "times": -1})
			put("  memory: {size: 1Gi}\n")
			s.get("/held?n=2&timeout=60s", nil)
			s.signal(syscall.SIGTERM)
			if test.signals == 2 {
				s.until("the log of the first signal", func() bool { return strings.Contains(s.read("log"), "nothing is sent any more") })
				s.signal(syscall.SIGTERM)
			}
			var exit *exec.ExitError
			status := 0
			if err := s.agent.Wait(); errors.As(err, &exit) {
				status = exit.ExitCode()
			}
			if status != test.status {
				t.Errorf("got exit status %d, want %d; the agent's log:\n%s", status, test.status, s.read("log"))
			}
			if got := s.held(); got != 2 {
				t.Errorf("got %d calls that reached the cluster, want the 2 before the signal", got)
			}
			s.post("/reset", nil)
			s.post("/release", nil)
			s.until("the old calls to be over", func() bool { return s.held() == 0 })
			s.run()
			s.converged()
			for i := range guests {
				if got := s.effects(201+i, "config-written"); got != 1 {
					t.Errorf("vm-%d: got %d writes, want 1; the agent's log:\n%s", i, got, s.read("log"))
				}
			}
		})
	}
}
