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

// Bounds of a connection. A scrape is the longest reply.
const (
	headerTimeout   = 5 * time.Second
	readTimeout     = 15 * time.Second
	writeTimeout    = 30 * time.Second
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 5 * time.Second
	maxHeader       = 16 << 10
)

// Serve answers on the listener until ctx ends, lets running replies finish for up to 5 seconds, and closes the listener. It returns nil
// when ctx ended it, and why it could not go on otherwise.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: log.New(io.Discard, "", 0), // what is left to say is about connections that clients broke off
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
		err = server.Close() // whoever still reads after that long is cut off
	}
	<-served
	if err != nil {
		return fmt.Errorf("stop serving status: %w", err)
	}
	return nil
}
