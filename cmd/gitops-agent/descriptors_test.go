//go:build integration

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Two hundred connections that never carry a request do not stop an agent that may open 128 files: it polls, writes and answers scrapes.
func TestIdleConnectionsLeaveDescriptors(t *testing.T) {
	s := newSite(t, buildBinaries(t))
	s.repo.Files["cluster.yaml"] = clusterManifest
	s.repo.Push(s.sig, killer, "first")
	s.agent = exec.Command("sh", "-c", `ulimit -n 128 && exec "$0" run --config "$1"`, filepath.Join(s.bin, "gitops-agent"), s.path("config.yaml"))
	log, err := os.Create(s.path("log"))
	s.ok(err)
	defer func() { _ = log.Close() }()
	s.agent.Stderr, s.agent.Stdout = log, log
	s.ok(s.agent.Start())
	t.Cleanup(func() { _ = s.agent.Process.Kill(); _ = s.agent.Wait() })
	s.converged()

	var idle []net.Conn
	hold := func() {
		for range 200 {
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.address)
			s.ok(err)
			idle = append(idle, conn)
		}
	}
	defer func() {
		for _, conn := range idle {
			_ = conn.Close()
		}
	}()
	for i := range 3 {
		hold()
		name, vmid := fmt.Sprintf("web-%d", i), 201+i
		s.repo.Files[name+".yaml"] = blankVM(name, vmid, "")
		s.repo.Push(s.sig, killer, name)
		s.converged()
		if got := s.effects(vmid, "created"); got != 1 {
			t.Errorf("%s: got %d guests created, want 1", name, got)
		}
		hold()
		resp, err := http.Get("http://" + s.address + "/metrics")
		s.ok(err)
		body, err := io.ReadAll(resp.Body)
		s.ok(err)
		s.ok(resp.Body.Close())
		if resp.StatusCode != http.StatusOK || !strings.Contains(string(body), "\ngitops_agent_status_connections_limit 32\n") {
			t.Errorf("scrape: got %s, want 200 and a limit of 32 connections", resp.Status)
		}
	}
}
