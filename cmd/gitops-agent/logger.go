package main

import (
	"io"
	"log/slog"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
)

// newLogger returns a logger that writes text to a terminal and JSON to any other writer. The level is one of logLevels.
func newLogger(w io.Writer, level string) *slog.Logger {
	opts := &slog.HandlerOptions{Level: logLevels()[level], ReplaceAttr: readable}
	if term.IsTerminal(w) {
		return slog.New(slog.NewTextHandler(w, opts))
	}
	return slog.New(slog.NewJSONHandler(w, opts))
}

// readable gives durations a unit: JSON would contain nanoseconds, and text more digits than anybody reads.
func readable(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() != slog.KindDuration {
		return a
	}
	d := a.Value.Duration()
	switch {
	case d.Abs() >= time.Minute:
		d = d.Round(time.Second)
	case d.Abs() >= time.Second:
		d = d.Round(10 * time.Millisecond)
	default:
		d = d.Round(10 * time.Microsecond)
	}
	return slog.String(a.Key, d.String())
}

func logLevels() map[string]slog.Level {
	return map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
}
