package service

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"
)

// look is how often Run asks for the summary if the service manager has no watchdog.
const look = 5 * time.Second

// Manager is the service manager of the environment: NOTIFY_SOCKET and, for the watchdog, WATCHDOG_USEC and WATCHDOG_PID. Its methods may be called by
// several goroutines at once.
type Manager struct {
	log   *slog.Logger
	every time.Duration // between two signs of life; 0 if the service manager expects none
}

// New reads the environment. An interval of the watchdog that cannot be read counts as none, and is logged.
func New(log *slog.Logger) *Manager {
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("watchdog of the service manager not used", "error", err)
	}
	return &Manager{log: log, every: every}
}

// Run reports that the agent is ready, and then its state until ctx ends: signs of life while alive returns true, and the summary, one line, whenever it
// changes. Without a sign of life the service manager restarts the agent after the time of its watchdog.
func (m *Manager) Run(ctx context.Context, alive func() bool, summary func() string) {
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return
	}
	m.Ready()
	defer m.send(daemon.SdNotifyStopping)
	interval := look
	if m.every > 0 {
		interval = min(look, m.every/3)
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	shown, silent := "", false
	for {
		works := alive()
		if works && m.every > 0 {
			m.send(daemon.SdNotifyWatchdog)
		}
		if !works && !silent {
			m.log.WarnContext(ctx, "no cycle of the engine ends, so the service manager gets no sign of life", "watchdog", m.every > 0)
		}
		silent = !works
		if text := summary(); text != shown {
			m.send("STATUS=" + text)
			shown = text
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// Ready reports that the agent works, at its start or after a reload.
func (m *Manager) Ready() { m.send(daemon.SdNotifyReady) }

// Reloading reports that the agent reads its config again. Ready ends that, also if the config was refused.
func (m *Manager) Reloading() {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		m.log.Warn("service manager not told about the reload", "error", err)
		return
	}
	m.send(fmt.Sprintf("%s\nMONOTONIC_USEC=%d", daemon.SdNotifyReloading, now.Nano()/1000))
}

// send sends one message. Without a service manager it does nothing. A message that is lost costs at most a restart by the watchdog.
func (m *Manager) send(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		m.log.Warn("service manager not reached", "error", err)
	}
}
