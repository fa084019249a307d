//go:build integration

package main

import (
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestServiceManagerFollowsTheAgent runs the real binary as systemd does, and reloads and stops it.
func TestServiceManagerFollowsTheAgent(t *testing.T) {
	s := newSite(t, buildBinaries(t))
	socket := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	s.ok(err)
	t.Cleanup(func() { _ = conn.Close() })
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", "600000")
	t.Setenv("WATCHDOG_PID", "")
	var seen []string
	await := func(want string) {
		t.Helper()
		buffer := make([]byte, 4096)
		for {
			s.ok(conn.SetReadDeadline(time.Now().Add(time.Minute)))
			n, err := conn.Read(buffer)
			if err != nil {
				t.Fatalf("got messages %q and %v, want one that begins with %q", seen, err, want)
			}
			seen = append(seen, string(buffer[:n]))
			if strings.HasPrefix(seen[len(seen)-1], want) {
				return
			}
		}
	}
	s.repo.Files["cluster.yaml"] = clusterManifest
	s.repo.Files["vm.yaml"] = blankVM("vm", 201, "")
	head := s.repo.Push(s.sig, killer, "one guest")
	s.run()
	await("READY=1")
	await("WATCHDOG=1")
	await("STATUS=" + head[:12] + ": 1 of 1 guests in sync")
	s.signal(syscall.SIGHUP)
	await("RELOADING=1\nMONOTONIC_USEC=")
	await("READY=1")
	s.signal(syscall.SIGTERM)
	await("STOPPING=1")
	s.ok(s.agent.Wait())
}
