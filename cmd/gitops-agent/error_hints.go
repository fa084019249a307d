package main

import (
	"errors"
	"syscall"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/gitsource"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"
	"gitops-agent/verify"
)

// hintFor returns what a person can do about an error, or "". An error's own hint wins over a general one.
func hintFor(err error) string {
	if hint, found := term.Hint(err); found {
		return hint
	}
	var (
		rejected *verify.RejectedError
		refused  *intake.RefusedError
		damage   *journal.DamageError
	)
	switch {
	case errors.As(err, &rejected):
		return rejected.Hint
	case errors.As(err, &refused):
		return refused.Hint
	case errors.As(err, &damage):
		return "stop the agent and run gitops-agent journal repair; docs/journal.md says what it keeps"
	case errors.Is(err, journal.ErrLocked):
		return "stop that agent first; plan, status, verify and journal work beside it"
	case errors.Is(err, cluster.ErrDenied):
		return "look at proxmox.token_file, and at what the token may do: pveum user token permissions USER TOKEN"
	case errors.Is(err, cluster.ErrNotReady):
		return "check that proxmox.endpoints answer from this host, and that their certificate fits ca_file or fingerprints"
	case errors.Is(err, syscall.EADDRINUSE):
		return "another program listens there: choose another address for listen in the config"
	case errors.Is(err, gitsource.ErrUnreachable):
		return "check source.remotes, source.branch and the credentials; what was fetched before stays in force"
	default:
		return ""
	}
}
