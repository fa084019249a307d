package main

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/gitsource"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"
	"gitops-agent/verify"
)

func TestHintFor(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		err  error
		want string
	}{
		"rejected":      {&verify.RejectedError{Reason: verify.ReasonUnsigned, Hint: verify.ReasonUnsigned.Hint()}, "gitsign"},
		"refused":       {&intake.RefusedError{Hint: "correct it"}, "correct it"},
		"locked":        {fmt.Errorf("open: %w", journal.ErrLocked), "stop the running agent first"},
		"denied":        {fmt.Errorf("read: %w", cluster.ErrDenied), "proxmox.token_file"},
		"port_taken":    {fmt.Errorf("listen: %w", syscall.EADDRINUSE), "choose another one for listen"},
		"damaged":       {fmt.Errorf("read: %w", &journal.DamageError{File: "x", Err: errors.New("y")}), "gitops-agent journal repair"},
		"other_format":  {fmt.Errorf("fetch: %w", &gitsource.FormatError{Reason: "x", Remedy: "convert it"}), "convert it"},
		"own_hint_wins": {term.WithHint(fmt.Errorf("read: %w", cluster.ErrDenied), "my own"), "my own"},
		"unknown":       {errors.New("x"), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := hintFor(test.err)
			if !strings.Contains(got, test.want) || test.want == "" && got != "" {
				t.Errorf("got %q, want %q in it", got, test.want)
			}
		})
	}
}
