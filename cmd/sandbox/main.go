package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sandbox"
)

// The exit statuses. Those above 2 are the same as of gitops-agent.
const (
	exitError   = 1
	exitUsage   = 2
	exitPending = 3 // guests are held or blocked
	exitRefused = 4 // the manifests are refused
	exitTimeout = 5
)

// statusError is an error with an exit status.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := command{every: time.Second, cluster: pvesim.Options{TaskTime: 200 * time.Millisecond}}.run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintf(os.Stderr, "sandbox: error: %v\n", err)
	os.Exit(statusOf(err)) //nolint:forbidigo // main exits
}

func statusOf(err error) int {
	var s *statusError
	if errors.As(err, &s) {
		return s.status
	}
	return exitError
}

// options are the flags of the command.
type options struct {
	path, revision, existing, listen, control string
	paths, nodes, identities                  []string
	watch, once, json, verbose                bool
	timeout                                   time.Duration
}

const usage = `Shows what gitops-agent would make of the manifests in a directory, on a simulated cluster that has what they name. It needs no cluster, no
signatures and no network, and changes nothing outside a temporary directory, which it removes at the end.

usage: go run ./cmd/sandbox [flags] DIRECTORY

`

const statuses = `
exit status: 0 converged or stopped by Ctrl-C, 1 error, 2 usage; with --once also 3 guests are held, blocked or failed, 4 the manifests are refused,
5 not finished in time
`

// command is how a session runs, apart from the flags.
type command struct {
	temporary string         // directory for what it writes; "" is that of the host
	every     time.Duration  // between polls, and between cycles of the agent
	cluster   pvesim.Options // what does not follow from the manifests
}

func (c command) run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == sandbox.SignCommand {
		return sandbox.Sign(ctx, args[1:], stdin, stdout, stderr)
	}
	opts, err := parse(args, stderr)
	if err != nil {
		return err
	}
	log := io.Discard
	if opts.verbose {
		log = stderr
	}
	s := &session{options: opts, command: c, src: source{dir: opts.path, revision: opts.revision}, log: log, out: printer{out: stdout, notes: stderr, json: opts.json}}
	return s.run(ctx)
}

// list is a flag that can be repeated.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(text string) error {
	*l = append(*l, strings.Split(text, ",")...)
	return nil
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	var output string
	flags := flag.NewFlagSet("sandbox", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.revision, "revision", "", "use this commit, branch or tag; default: the files of the directory, also those that are not committed")
	flags.StringVar(&o.existing, "existing", "", "file or directory with manifests of guests that already exist, for example written by adopt")
	flags.Var((*list)(&o.identities), "age-identity", "file of age-keygen that decrypts the passwords in files of age and SOPS; can be repeated")
	flags.Var((*list)(&o.paths), "path", "folder with manifests below DIRECTORY, as source.paths of the config; can be repeated")
	flags.Var((*list)(&o.nodes), "node", "node of the simulated cluster, in addition to those that manifests name; can be repeated")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "loopback address of the status page")
	flags.StringVar(&o.control, "control", "", "loopback address of an endpoint that injects faults and inspects the cluster, such as 127.0.0.1:0; default: none")
	flags.BoolVar(&o.watch, "watch", false, "commit and converge again whenever a file of the directory changes")
	flags.BoolVar(&o.once, "once", false, "end when the guests are converged or wait for someone")
	flags.DurationVar(&o.timeout, "timeout", 2*time.Minute, "with --once: the longest time to wait")
	flags.StringVar(&output, "o", "text", "output: text, or json with one document for each state")
	flags.BoolVar(&o.verbose, "v", false, "show the agent's log")
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
		fmt.Fprint(stderr, statuses)
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, &statusError{exitUsage, err}
	}
	o.json, o.path = output == "json", flags.Arg(0)
	return o, o.problem(flags.NArg(), output)
}

// problem returns an error for flags that make no sense.
func (o options) problem(args int, output string) error {
	bad := func(format string, args ...any) error { return &statusError{exitUsage, fmt.Errorf(format, args...)} }
	switch {
	case args != 1:
		return bad("got %d directories, want one (flags come before it); --help lists the flags", args)
	case output != "text" && output != "json":
		return bad("-o %q: want text or json", output)
	case o.watch && o.once:
		return bad("--watch and --once exclude each other")
	case o.watch && o.revision != "":
		return bad("--watch follows the files of the directory, --revision does not change")
	case !isLoopback(o.listen):
		return bad("--listen %q: want a loopback address such as 127.0.0.1:0", o.listen)
	case o.control != "" && !isLoopback(o.control):
		return bad("--control %q: want a loopback address such as 127.0.0.1:0", o.control)
	}
	return nil
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}
