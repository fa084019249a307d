package main

import (
	"fmt"
	"os"
	"syscall"

	"gitops-agent/cmd/gitops-agent/internal/term"
)

// checkOwner returns an error if the current user is not the owner of the agent's state. The agent could not read a file of another user, and
// would ignore it.
func checkOwner(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return term.WithHint(fmt.Errorf("check the owner of the agent's state: %w", err), "the agent creates its state directory when it first runs; state_dir in the config names it")
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	if !known || int(owner.Uid) == os.Geteuid() {
		return nil
	}
	return ownerError(dir, owner)
}

// checkOwnerOrRoot is checkOwner for a command whose files the agent can also read if root writes them.
func checkOwnerOrRoot(dir string) error {
	if _, err := os.Stat(dir); err == nil && os.Geteuid() == 0 {
		return nil
	}
	return checkOwner(dir)
}

func ownerError(dir string, owner *syscall.Stat_t) error {
	return term.WithHint(fmt.Errorf("%s belongs to user %d, but this program runs as user %d", dir, owner.Uid, os.Geteuid()),
		fmt.Sprintf("run it as the agent's user: setpriv --reuid %d --clear-groups gitops-agent …, or sudo -u '#%d' gitops-agent …", owner.Uid, owner.Uid))
}
