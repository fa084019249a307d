package service

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// systemd listens as systemd does. It returns a function that waits for the next message other than repeated signs of life.
func systemd(t *testing.T, watchdog time.Duration) (next func() string) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", "")
	t.Setenv("WATCHDOG_PID", "")
	if watchdog > 0 {
		t.Setenv("WATCHDOG_USEC", strconv.FormatInt(watchdog.Microseconds(), 10))
	}
	before := ""
	return func() string {
		t.Helper()
		buffer := make([]byte, 4096)
		for {
			if err := conn.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
				t.Fatal(err)
			}
			n, err := conn.Read(buffer)
			if err != nil {
				t.Fatalf("no message arrives: %v", err)
			}
			if text := string(buffer[:n]); text != "WATCHDOG=1" || before != text {
				before = text
				return text
			}
		}
	}
}

// TestRun follows an agent from its start to its end. While no cycle ends, the service manager gets no sign of life.
func TestRun(t *testing.T) {
	next := systemd(t, 30*time.Millisecond)
	ctx, stop := context.WithCancel(t.Context())
	var works, ended atomic.Bool
	var text atomic.Pointer[string]
	show := func(s string) { text.Store(&s) }
	works.Store(true)
	show("3f2a91c: 2 of 2 guests in sync")
	var log bytes.Buffer
	m := New(slog.New(slog.NewTextHandler(&log, nil)))
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Run(ctx, works.Load, func() string { return *text.Load() })
		ended.Store(true)
	}()
	expect := func(want string) {
		t.Helper()
		if got := next(); got != want {
			t.Fatalf("got message %q, want %q", got, want)
		}
	}
	expect("READY=1")
	expect("WATCHDOG=1")
	expect("STATUS=3f2a91c: 2 of 2 guests in sync")
	works.Store(false)
	show("stuck")
	for got := next(); got != "STATUS=stuck"; got = next() {
		if got != "WATCHDOG=1" { // of the look before
			t.Fatalf("got message %q, want STATUS=stuck", got)
		}
	}
	show("stuck still")
	expect("STATUS=stuck still") // and no sign of life since
	works.Store(true)
	expect("WATCHDOG=1")
	stop()
	<-done
	expect("STOPPING=1")
	if !ended.Load() || strings.Count(log.String(), "no sign of life") != 1 {
		t.Errorf("got log %q, want one line about the signs of life", log.String())
	}
}

// TestReloading names the time of the reload, which systemd compares with its own.
func TestReloading(t *testing.T) {
	next := systemd(t, 0)
	m := New(slog.New(slog.DiscardHandler))
	m.Reloading()
	m.Ready()
	lines := strings.Split(next(), "\n")
	if len(lines) != 2 || lines[0] != "RELOADING=1" || !strings.HasPrefix(lines[1], "MONOTONIC_USEC=") {
		t.Fatalf("got %q, want RELOADING=1 and a time", lines)
	}
	if at, err := strconv.ParseInt(strings.TrimPrefix(lines[1], "MONOTONIC_USEC="), 10, 64); err != nil || at <= 0 {
		t.Errorf("got time %q, want microseconds", lines[1])
	}
	if got := next(); got != "READY=1" {
		t.Errorf("got %q, want READY=1", got)
	}
}

// TestWithoutServiceManager runs the agent from a shell: nothing is sent, and nothing is logged.
func TestWithoutServiceManager(t *testing.T) {
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		t.Setenv(name, "")
	}
	var log bytes.Buffer
	m := New(slog.New(slog.NewTextHandler(&log, nil)))
	m.Run(t.Context(), func() bool { return true }, func() string { return "" })
	m.Reloading()
	m.Ready()
	if log.Len() > 0 {
		t.Errorf("got log %q, want none", log.String())
	}
}

// TestServiceManagerWithFaults uses a socket that does not exist, and an interval that is no number. The agent goes on, and logs both.
func TestServiceManagerWithFaults(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "none"))
	t.Setenv("WATCHDOG_PID", "")
	t.Setenv("WATCHDOG_USEC", "soon")
	var log bytes.Buffer
	m := New(slog.New(slog.NewTextHandler(&log, nil)))
	m.Ready()
	got := []bool{strings.Contains(log.String(), "watchdog of the service manager not used"), strings.Contains(log.String(), "service manager not reached")}
	if slices.Contains(got, false) {
		t.Errorf("got log %q, want both faults", log.String())
	}
}
