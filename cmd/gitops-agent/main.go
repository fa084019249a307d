// Command gitops-agent keeps the guests of a Proxmox VE cluster as a git repository says, and lets people look at what it does.
//
// Each command is a file cmd_<name>.go with a constructor, its options, and a run function that knows nothing of the command line.
// Results go to stdout, everything else to stderr. What the commands do is specified by the scripts in testdata/script.
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
