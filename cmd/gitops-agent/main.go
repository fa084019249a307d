// Command gitops-agent applies a git repository to the guests of a Proxmox VE cluster, and shows what it does.
//
// Each command is a file cmd_<name>.go with a constructor, its options, and a run function that does not use the command line.
// Results go to stdout, everything else to stderr. The scripts in testdata/script specify the commands.
//
// This package parses flags, connects packages and prints. The packages below internal do the rest:
//
//   - term prints tables, colours, progress and errors.
//   - subject reads manifests; manifestview prints them; planview prints plans.
//   - adoption writes the manifests of existing guests.
//   - audit verifies ranges of commits; clusterview compares a cluster with a config and manifests.
//   - statusview reads and prints the status of a running agent; journalview prints, checks and repairs its journal.
//
// Of each other they import only term; but subject also imports audit and planview, and adoption imports subject.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
