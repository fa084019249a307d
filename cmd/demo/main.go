// Command demo tells the whole story of gitops-agent on one machine: a simulated Proxmox cluster, a Sigstore in memory, a git
// repository with the example manifests, and the real agent between them. It needs Go and git, and nothing from the network.
//
// Every chapter is checked by asking the simulator, not by believing the agent. With --once the program ends after the last chapter;
// otherwise everything stays up for the reader to push commits to.
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

// signCommand makes the program git's signing program: demo sign DIR NAME ARGS...
const signCommand = "sign"

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) > 2 && args[0] == signCommand {
		return sign(ctx, args[1], args[2], args[3:], stdin, stdout, stderr)
	}
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	once := flags.Bool("once", false, "end after the last chapter: exit 0, or 1 with the name of the chapter that failed")
	verbose := flags.Bool("v", false, "show the agent's log")
	listen := flags.String("listen", "127.0.0.1:0", "address of the agent's status page")
	flags.Usage = func() {
		fmt.Fprintf(stderr, "Tells the story of gitops-agent against a simulated cluster. Nothing outside a temporary folder is touched.\n\nusage: go run ./cmd/demo [flags]\n\n")
		flags.PrintDefaults()
		fmt.Fprintf(stderr, "\nexit status: 0 done, 1 a chapter failed, 2 usage\n")
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
	return tell(ctx, narrator{out: stdout, colour: onTerminal(stdout)}, stageOptions{listen: *listen, log: log}, *once)
}

func onTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && term.IsTerminal(int(file.Fd()))
}

// tell sets the stage, plays every chapter and, unless once, leaves the stage open.
func tell(ctx context.Context, n narrator, opts stageOptions, once bool) error {
	s, err := newStage(ctx, opts)
	if err != nil {
		return fmt.Errorf("set the stage: %w", err)
	}
	defer s.close()
	n.opening(s)
	for i, c := range chapters() {
		n.chapter(i+1, c.title)
		if err := c.play(s, n); err != nil {
			return fmt.Errorf("chapter %q: %w", c.title, err)
		}
	}
	n.end()
	if once {
		return nil
	}
	n.hints(s)
	<-ctx.Done()
	return nil
}
