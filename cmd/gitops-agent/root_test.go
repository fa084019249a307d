package main

import (
	"context"
	"io"
	"strings"
	"testing"

	"gitops-agent/cmd/gitops-agent/internal/term"
)

func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stderr strings.Builder
	status := (&program{out: io.Discard, err: &stderr}).run(ctx, []string{"status", "--url", "http://127.0.0.1:1", "--wait", "converged"})
	if want := "gitops-agent: error: interrupted\n"; status != term.ExitError || stderr.String() != want {
		t.Errorf("got %d and %q, want %d and %q", status, stderr.String(), term.ExitError, want)
	}
}
