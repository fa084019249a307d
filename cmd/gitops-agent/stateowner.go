package main

import (
	"fmt"
	"os"
	"syscall"

	"gitops-agent/cmd/gitops-agent/internal/term"
)

// checkOwner refuses to write into the agent's state as another user than the one that it belongs to: the agent could not read what
// root leaves there, and would go on as if nothing had been said.
func checkOwner(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return term.WithHint(fmt.Errorf("look at the agent's state: %w", err), "the agent makes its state directory when it first runs; state_dir in the config names it")
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	if !known || int(owner.Uid) == os.Geteuid() {
		return nil
	}
	return term.WithHint(fmt.Errorf("%s belongs to user %d, and this is user %d", dir, owner.Uid, os.Geteuid()),
		fmt.Sprintf("run it as the agent's user: setpriv --reuid %d --clear-groups gitops-agent …, or sudo -u '#%d' gitops-agent …", owner.Uid, owner.Uid))
}
