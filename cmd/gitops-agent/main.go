//go:build !man

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
//   - audit verifies ranges of commits; clusterview compares a cluster with a config and manifests; prerequisites reads what manifests need.
//   - statusview reads and prints the status of a running agent; journalview prints, checks and repairs its journal.
//
// Of each other they import only term; but subject also imports audit and planview, adoption imports subject, and
// clusterview imports prerequisites.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	os.Exit((&program{out: os.Stdout, err: os.Stderr}).run(untilSignal(), os.Args[1:]))
}

// untilSignal returns a context that ends with the first signal that asks the program to end. Such signals have their default effect again before it
// ends, so that a second one ends the program at once.
func untilSignal() context.Context {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		received := <-signals
		signal.Stop(signals)
		cancel(signalError(received.String()))
	}()
	return ctx
}

// signalError is the cause of the end of a context by a signal of that name.
type signalError string

func (e signalError) Error() string { return string(e) + " signal received" }

// Is makes the end by a signal a cancellation.
func (e signalError) Is(target error) bool { return target == context.Canceled }
