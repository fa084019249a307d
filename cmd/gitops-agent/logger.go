package main

import (
	"io"
	"log/slog"

	"gitops-agent/cmd/gitops-agent/internal/term"
)

// newLogger returns a logger that writes text to a terminal and JSON to any other writer. The level is one of logLevels.
func newLogger(w io.Writer, level string) *slog.Logger {
	opts := &slog.HandlerOptions{Level: logLevels()[level]}
	if term.IsTerminal(w) {
		return slog.New(slog.NewTextHandler(w, opts))
	}
	return slog.New(slog.NewJSONHandler(w, opts))
}

func logLevels() map[string]slog.Level {
	return map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
}
