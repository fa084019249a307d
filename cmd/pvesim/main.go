package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/pvesim/control"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2) //nolint:forbidigo // main exits
	case err != nil:
		fmt.Fprintf(os.Stderr, "pvesim: error: %v\n", err)
		os.Exit(1) //nolint:forbidigo // main exits
	}
}

// run serves the API and the control endpoint until ctx ends.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parseFlags(args, stderr)
	if err != nil {
		return err
	}
	sim := pvesim.New(o.simulator())
	defer sim.Close()
	if err := o.addVolumes(sim); err != nil {
		return err
	}
	api, err := listen(ctx, o.listen)
	if err != nil {
		return err
	}
	control, err := listen(ctx, o.control)
	if err != nil {
		_ = api.Close()
		return err
	}
	cert, err := o.certificate()
	if err != nil {
		return errors.Join(err, api.Close(), control.Close())
	}
	if err := printAccess(stdout, o, sim, api.Addr(), control.Addr(), cert); err != nil {
		return errors.Join(err, api.Close(), control.Close())
	}
	return serve(ctx, sim, api, control, cert)
}

func listen(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return l, nil
}

// serve runs both servers. When one ends, the other ends too.
func serve(ctx context.Context, sim *pvesim.Sim, api, controls net.Listener, cert *pvesim.Certificate) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	srv := &http.Server{Handler: control.New(sim), ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	ended := make(chan error, 1)
	go func() {
		err := srv.Serve(controls)
		cancel()
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		ended <- err
	}()
	err := sim.Serve(ctx, api, cert.Config)
	cancel()
	return errors.Join(err, <-ended)
}

// printAccess prints what a client needs and writes the same to the files in the options. It writes the address file last, so that a
// script can wait for that file.
func printAccess(w io.Writer, o *options, sim *pvesim.Sim, api, control net.Addr, cert *pvesim.Certificate) error {
	scheme := "https"
	if cert.Config == nil {
		scheme = "http"
	}
	base := scheme + "://" + api.String()
	token := sim.Token(o.token)
	fmt.Fprintf(w, "api:         %s\ntoken:       %s\n", base, token)
	if cert.Config != nil {
		fmt.Fprintf(w, "fingerprint: %s\n", cert.Fingerprint)
	}
	fmt.Fprintf(w, "control:     http://%s\n", control)
	for _, f := range []struct{ path, text string }{
		{o.certOut, string(cert.PEM)}, {o.tokenOut, token + "\n"}, {o.controlOut, "http://" + control.String() + "\n"}, {o.addrOut, base + "\n"},
	} {
		if f.path == "" || f.text == "" {
			continue
		}
		if err := writeFile(f.path, f.text); err != nil {
			return err
		}
	}
	return nil
}

// writeFile replaces the whole file at once, so that a reader never sees a part of the text.
func writeFile(path, text string) error {
	tmp := filepath.Clean(path) + ".tmp"
	if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
