package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
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
		"port_taken":    {fmt.Errorf("listen: %w", syscall.EADDRINUSE), "choose another address"},
		"damaged":       {fmt.Errorf("read: %w", &journal.DamageError{File: "x", Err: errors.New("y")}), "gitops-agent journal repair"},
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

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stderr strings.Builder
	status := run(ctx, []string{"status", "--url", "http://127.0.0.1:1", "--wait", "converged"}, io.Discard, &stderr)
	if want := "gitops-agent: error: interrupted\n"; status != exitError || stderr.String() != want {
		t.Errorf("got %d and %q, want %d and %q", status, stderr.String(), exitError, want)
	}
}

// A failure outweighs a refusal, and a refusal what is pending.
func TestOnceOutcome(t *testing.T) {
	failed := reconcile.GuestReport{Kind: "VirtualMachine", Name: "web-1", Conditions: []reconcile.Condition{{Type: reconcile.Failed, Message: "no space"}}}
	held := reconcile.GuestReport{Sync: reconcile.OutOfSync, Held: []reconcile.HeldReport{{}}}
	refused := reconcile.SourceReport{Refused: &reconcile.RefusedReport{Error: "reject x", Hint: "sign it"}}
	unverified := reconcile.WritesReport{Reason: string(reconcile.StopUnverified), Message: "reject y"}
	tests := map[string]struct {
		report reconcile.Report
		status int
		want   string
	}{
		"converged":  {reconcile.Report{Converged: true}, exitDone, ""},
		"held":       {reconcile.Report{Guests: []reconcile.GuestReport{held}}, exitChanges, ""},
		"refused":    {reconcile.Report{Source: refused, Guests: []reconcile.GuestReport{held}}, exitRefused, "reject x"},
		"unverified": {reconcile.Report{Writes: unverified, Source: refused}, exitRefused, "reject y"},
		"failed":     {reconcile.Report{Source: refused, Guests: []reconcile.GuestReport{held, failed}}, exitError, "VirtualMachine/web-1: no space"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := onceOutcome(test.report)
			if got := exitStatus(err); got != test.status {
				t.Errorf("got exit status %d, want %d", got, test.status)
			}
			if test.want != "" && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %q, want %q in it", err, test.want)
			}
		})
	}
}
