package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"gitops-agent/internal/sandbox"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2) //nolint:forbidigo // main exits
	case err != nil:
		fmt.Fprintf(os.Stderr, "demo: error: %v\n", err)
		os.Exit(1) //nolint:forbidigo // main exits
	}
}

var errUsage = errors.New("usage")

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == sandbox.SignCommand {
		return sandbox.Sign(ctx, args[1:], stdin, stdout, stderr)
	}
	if len(args) > 0 && args[0] == sandbox.AgentCommand {
		return sandbox.RunAgent(ctx, args[1:], stdout)
	}
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	once := flags.Bool("once", false, "end after the last scenario: exit 0, or 1 with the name of the scenario that failed")
	verbose := flags.Bool("v", false, "show the agent's log")
	ha := flags.Bool("ha", false, "demonstrate two agents that share a journal in an etcd of three members; needs the program etcd (apt install etcd-server)")
	listen := flags.String("listen", "127.0.0.1:0", "address of the agent's status page")
	flags.Usage = func() {
		fmt.Fprintf(stderr, "Demonstrates gitops-agent on a simulated cluster. It changes nothing outside a temporary folder.\n\nusage: go run ./cmd/demo [flags]\n\n")
		flags.PrintDefaults()
		fmt.Fprintf(stderr, "\nexit status: 0 done, 1 a scenario failed, 2 usage\n")
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return errUsage
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "demo: error: unexpected argument %q\n", flags.Arg(0))
		return errUsage
	}
	log := io.Discard
	if *verbose {
		log = stderr
	}
	if *ha {
		return runHA(ctx, printer{out: stdout, colour: onTerminal(stdout)}, log, *once)
	}
	return runScenarios(ctx, printer{out: stdout, colour: onTerminal(stdout)}, environmentOptions{listen: *listen, log: log}, *once)
}

func onTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && term.IsTerminal(int(file.Fd()))
}

// runScenarios starts the environment and runs every scenario. Unless once is set, the environment then stays up until ctx ends.
func runScenarios(ctx context.Context, n printer, opts environmentOptions, once bool) error {
	s, err := newEnvironment(ctx, opts)
	if err != nil {
		return fmt.Errorf("start the environment: %w", err)
	}
	defer s.Close()
	n.header(s)
	for i, sc := range scenarios() {
		n.scenario(i+1, sc.title)
		if err := sc.run(s, n); err != nil {
			return fmt.Errorf("scenario %q: %w", sc.title, err)
		}
	}
	n.end()
	if once {
		return nil
	}
	n.instructions(s)
	<-ctx.Done()
	return nil
}
