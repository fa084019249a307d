package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gitops-agent/reconcile"
	"gitops-agent/reconcile/journal"
	"gitops-agent/verify"
)

func TestExplain(t *testing.T) {
	tests := map[string]struct {
		err    error
		status int
		want   string
	}{
		"nothing":      {nil, exitDone, ""},
		"silent":       {&statusError{status: exitChanges}, exitChanges, ""},
		"plain":        {errors.New("read x: no"), exitError, "gitops-agent: error: read x: no\n"},
		"several":      {errors.Join(errors.New("a"), errors.New("b")), exitError, "gitops-agent: error: a\n  b\n"},
		"own_hint":     {withHint(errors.New("a"), "do b"), exitError, "gitops-agent: error: a\ngitops-agent: hint: do b\n"},
		"refused":      {&statusError{exitRefused, withHint(errors.New("a"), "do b")}, exitRefused, "gitops-agent: error: a\ngitops-agent: hint: do b\n"},
		"control_text": {errors.New("a\x1b[2J"), exitError, "gitops-agent: error: a\uFFFD[2J\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			explain(&out, test.err)
			if out.String() != test.want || exitStatus(test.err) != test.status {
				t.Errorf("got %q and %d, want %q and %d", out.String(), exitStatus(test.err), test.want, test.status)
			}
		})
	}
}

func TestHintFor(t *testing.T) {
	tests := map[string]struct {
		err  error
		want string
	}{
		"rejected":      {&verify.RejectedError{Reason: verify.ReasonUnsigned, Hint: verify.ReasonUnsigned.Hint()}, "gitsign"},
		"refused":       {&reconcile.RefusedError{Hint: "correct it"}, "correct it"},
		"locked":        {fmt.Errorf("open: %w", journal.ErrLocked), "stop that agent first"},
		"denied":        {fmt.Errorf("read: %w", reconcile.ErrDenied), "proxmox.token_file"},
		"damaged":       {fmt.Errorf("read: %w", &journal.DamageError{File: "x", Err: errors.New("y")}), "docs/journal.md"},
		"own_hint_wins": {withHint(fmt.Errorf("read: %w", reconcile.ErrDenied), "my own"), "my own"},
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
