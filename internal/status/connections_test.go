package status_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/internal/status"
)

// Idle connections give way to new ones, the one that has waited for the longest time first. A connection that carries a request stays open, and a new one is
// refused if there are only such connections.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	var idle, refused, open atomic.Int64
	var most atomic.Int64
	connections := status.NewConnections(status.ConnectionOptions{
		Limit: 3, OnOpen: func(now int) { open.Store(int64(now)); most.Store(max(most.Load(), int64(now))) },
		OnClose: func(reason status.CloseReason) {
			switch reason {
			case status.CloseIdle:
				idle.Add(1)
			case status.CloseRefused:
				refused.Add(1)
			}
		},
	})
	begun, finish := make(chan struct{}), make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/busy", func(http.ResponseWriter, *http.Request) { begun <- struct{}{}; <-finish })
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") })
	ctx, stop := context.WithCancel(t.Context())
	listener := listen(t)
	served := make(chan error, 1)
	go func() { served <- status.Serve(ctx, listener, mux, connections) }()
	dial := func() net.Conn {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	request := func(conn net.Conn, path string) {
		if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	isClosed := func(conn net.Conn) bool {
		if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		_, err := conn.Read(make([]byte, 1))
		return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
	}

	busy := dial()
	request(busy, "/busy")
	<-begun
	var waiting []net.Conn
	for range 10 {
		waiting = append(waiting, dial())
	}
	late := dial()
	request(late, "/")
	if res, err := http.ReadResponse(bufio.NewReader(late), nil); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("request among idle connections: got %v, %v, want a reply", res, err)
	} else {
		_ = res.Body.Close()
	}
	for i, conn := range waiting[:9] {
		if !isClosed(conn) {
			t.Errorf("idle connection %d: got it open, want it closed", i)
		}
	}
	_ = late.Close() // the server may still count it as busy with the reply
	for open.Load() != 2 {
		time.Sleep(time.Millisecond)
	}
	for range 2 {
		request(dial(), "/busy")
		<-begun
	}
	if !isClosed(dial()) {
		t.Error("connection beyond busy ones: got it open, want it refused")
	}
	if idle.Load() != 10 || refused.Load() != 1 || most.Load() != 3 {
		t.Errorf("got %d idle connections closed, %d refused, at most %d open, want 10, 1 and 3", idle.Load(), refused.Load(), most.Load())
	}
	close(finish)
	if res, err := http.ReadResponse(bufio.NewReader(busy), nil); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("busy connection: got %v, %v, want its reply", res, err)
	} else {
		_ = res.Body.Close()
	}
	stop()
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
}
