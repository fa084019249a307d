package status_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"

	"gitops-agent/internal/status"
)

// listen opens a port of the loopback address.
func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

func TestServeFinishesRepliesAndCloses(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	listener := listen(t)
	address := "http://" + listener.Addr().String()
	begun := make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(begun)
		<-ctx.Done()
		_, _ = io.WriteString(w, "whole")
	})
	served := make(chan error, 1)
	go func() {
		served <- status.Serve(ctx, listener, handler, status.NewConnections(status.ConnectionOptions{}))
	}()
	go func() {
		<-begun
		stop()
	}()
	res, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if cerr := res.Body.Close(); err != nil || cerr != nil || string(body) != "whole" {
		t.Errorf("got %q, %v, %v, want the whole reply", body, err, cerr)
	}
	if err := <-served; err != nil {
		t.Errorf("got %v, want nil when its context ended it", err)
	}
	if res, err := http.Get(address); err == nil {
		_ = res.Body.Close()
		t.Error("got a reply after the end, want a closed port")
	}
}

func TestServeReturnsItsError(t *testing.T) {
	t.Parallel()
	listener := listen(t)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := status.Serve(t.Context(), listener, http.NotFoundHandler(), status.NewConnections(status.ConnectionOptions{})); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v, want %v", err, net.ErrClosed)
	}
}
