package main

import (
	"cmp"
	"errors"
	"syscall"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/gitsource"
	"gitops-agent/gitsource/fault"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
	"gitops-agent/verify"
)

// hintFor returns the remedy for an error, or "". A hint that was added to the error takes precedence over a general one.
func hintFor(err error) string {
	if hint, found := term.Hint(err); found {
		return hint
	}
	var (
		rejected *verify.RejectedError
		refused  *intake.RefusedError
		damage   *journal.DamageError
		format   *gitsource.FormatError
	)
	switch {
	case errors.As(err, &rejected):
		return rejected.Hint
	case errors.As(err, &refused):
		return refused.Hint
	case errors.As(err, &damage):
		return "stop the agent and run gitops-agent journal repair; docs/internals/journal.md describes which records it keeps"
	case errors.Is(err, journal.ErrLocked):
		return "stop the running agent first; plan, status, verify and journal work while it runs"
	case errors.Is(err, cluster.ErrDenied):
		return "check proxmox.token_file, and the privileges of the token: pveum user token permissions USER TOKEN"
	case errors.Is(err, cluster.ErrNotReady):
		return "check that proxmox.endpoints answer from this host, and that their certificate matches ca_file or fingerprints"
	case errors.Is(err, syscall.EADDRINUSE):
		return "another program listens on this address: choose another one for listen in the config"
	case errors.As(err, &format):
		return format.Remedy
	case gitsource.FaultOf(err) == fault.Incomplete:
		return gitsource.CompleteRemote
	case errors.Is(err, gitsource.ErrUnreachable):
		return cmp.Or(reason.Outage(reason.Source, string(gitsource.FaultOf(err))).Remedy.Text, "check source.remotes, source.branch and the credentials; the accepted revision stays in force")
	default:
		return ""
	}
}
