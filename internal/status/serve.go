package status

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// Bounds of a connection. The longest reply is a scrape.
const (
	headerTimeout   = 5 * time.Second
	readTimeout     = 15 * time.Second
	writeTimeout    = 30 * time.Second
	idleTimeout     = 30 * time.Second
	shutdownTimeout = 5 * time.Second
	maxHeader       = 16 << 10
)

// Serve answers requests on the listener until ctx ends. It then waits up to 5 seconds for replies in flight, and closes the listener. It
// returns nil if ctx ended, and an error if it could not serve. It bounds the connections.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, connections *Connections) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, ConnState: connections.changed,
		BaseContext: func(net.Listener) context.Context { return ctx }, // streams of events end with ctx
		ErrorLog:    log.New(io.Discard, "", 0),                        // the remaining messages are about connections that clients closed
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return errors.Join(fmt.Errorf("serve status: %w", err), server.Close())
	case <-ctx.Done():
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err := server.Shutdown(bounded)
	if err != nil {
		err = server.Close() // closes connections whose replies are not complete by then
	}
	<-served
	if err != nil {
		return fmt.Errorf("stop serving status: %w", err)
	}
	return nil
}
