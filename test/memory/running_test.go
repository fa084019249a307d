//go:build integration

package memory

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gitops-agent/internal/loopback"
)

// TestManyPolls runs the agent for some polls of a source that sends the same reply each time, or another commit each time, and of a cluster with large replies. What it takes
// for many polls is bounded as for one.
func TestManyPolls(t *testing.T) {
	s := newStand(t)
	polled := s.countPolls()
	config := s.config("many.yaml", `{poll: 1s, remotes: [{url: "file:///remote.git"}]}`, "", `, tick: 1s, resync: 1s}`+"\nlisten: \"127.0.0.1:0\"\n")
	s.honest = []string{"/api2/json/"}
	idle, _, _ := s.measure("run", "signed")
	s.honest = nil
	after := func(n int) func(string) bool {
		for len(polled) > 0 {
			<-polled
		}
		return func(string) bool {
			for len(polled) > 0 {
				<-polled
				n--
			}
			return n <= 0
		}
	}
	for _, shape := range []string{"pending_of_large_notes", "list_of_objects"} {
		s.shape.Store(&shape)
		s.runUntil("polls", idle, shape, config, "signed", after(3))
	}
	s.honest = []string{"/api2/json/"}
	for _, git := range []string{"another_commit", "wide_deltas"} {
		s.runUntil("polls", idle, git, config, git, after(3))
	}
}

// countPolls returns a channel that gets a value for each time that the stand-in for git runs.
func (s *stand) countPolls() <-chan struct{} {
	s.Helper()
	path := s.path(polls)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		s.Fatal(err)
	}
	pipe, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = pipe.Close() })
	polled := make(chan struct{}, 1000)
	go func() {
		var one [1]byte
		for {
			if _, err := pipe.Read(one[:]); err != nil {
				return
			}
			polled <- struct{}{}
		}
	}()
	return polled
}

// fromClients are what clients do that reach the address on which the agent listens, without credentials. Each ends, or keeps its connections until the context ends.
var fromClients = map[string]func(ctx context.Context, address string){
	"slow_headers": func(ctx context.Context, address string) {
		connections(ctx, address, 600, func(conn net.Conn) { _, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-") })
	},
	"slow_bodies": func(ctx context.Context, address string) {
		connections(ctx, address, 600, func(conn net.Conn) {
			_, _ = fmt.Fprintf(conn, "POST /webhook/github HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Hub-Signature-256: sha256=%064d\r\nContent-Length: 1000000\r\n\r\n{", 0)
		})
	},
	"large_bodies": func(ctx context.Context, address string) {
		posts(ctx, address, 20, func() io.Reader { return io.LimitReader(zero{}, 30<<20) })
	},
	"chunked_bodies": func(ctx context.Context, address string) {
		connections(ctx, address, 20, func(conn net.Conn) {
			_, _ = fmt.Fprintf(conn, "POST /webhook/github HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Hub-Signature-256: sha256=%064d\r\nTransfer-Encoding: chunked\r\n\r\n", 0)
			times(conn, "", "1\r\n{\r\n", 1<<18)
		})
	},
	"large_headers": func(ctx context.Context, address string) {
		connections(ctx, address, 200, func(conn net.Conn) {
			times(conn, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n", "X-Header: of no use\r\n", 1<<16)
		})
	},
	"streams": func(ctx context.Context, address string) {
		connections(ctx, address, 600, func(conn net.Conn) { _, _ = io.WriteString(conn, "GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") })
	},
	"replies_that_are_not_read": func(ctx context.Context, address string) {
		connections(ctx, address, 600, func(conn net.Conn) {
			_, _ = io.WriteString(conn, strings.Repeat("GET /status.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 20))
		})
	},
}

// connections opens n connections at the same time, and keeps them until the agent closes them or ctx ends.
func connections(ctx context.Context, address string, n int, use func(conn net.Conn)) {
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
			if err != nil {
				return
			}
			defer func() { _ = conn.Close() }()
			defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
			use(conn)
			_, _ = io.ReadFull(conn, make([]byte, 1))
			<-ctx.Done()
		})
	}
	all.Wait()
}

// posts sends bodies whose signature is wrong, eight at the same time.
func posts(ctx context.Context, address string, n int, body func() io.Reader) {
	var all sync.WaitGroup
	slots := make(chan struct{}, 8)
	for range n {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/webhook/github", body())
			if err != nil {
				return
			}
			r.Header.Set("X-Hub-Signature-256", "sha256="+strings.Repeat("0", 64))
			if reply, err := http.DefaultClient.Do(r); err == nil {
				_ = reply.Body.Close()
			}
		})
	}
	all.Wait()
}

// TestHostileClients opens many connections to the address on which the agent listens. It goes on to poll, and answers the probe afterwards.
func TestHostileClients(t *testing.T) {
	s := newStand(t)
	polled := s.countPolls()
	s.honest = []string{"/api2/json/"}
	address, err := loopback.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	config := s.config("clients.yaml", fmt.Sprintf(`{poll: 1s, remotes: [{url: "file:///remote.git"}], webhooks: [{forge: github, secret_file: %s}]}`, s.write("secret", "a-secret\n")), "", fmt.Sprintf(", tick: 1s, resync: 1s}\nlisten: %q\n", address))
	idle, _, _ := s.measure("run", "signed")
	for shape, attack := range fromClients {
		ctx, cancel := context.WithCancel(t.Context())
		var attackers sync.WaitGroup
		left := -1
		s.runUntil("clients", idle, shape, config, "signed", func(string) bool {
			if left < 0 && answers(ctx, address) {
				left = 2
				attackers.Go(func() { attack(ctx, address) })
				for len(polled) > 0 {
					<-polled
				}
			}
			for left > 0 && len(polled) > 0 {
				<-polled
				left--
			}
			if left == 0 {
				cancel()
				attackers.Wait()
				return answers(t.Context(), address)
			}
			return false
		})
		cancel()
	}
}

// answers reports whether the agent answers its probe.
func answers(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	_, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
	line, _, _ := bufio.NewReader(conn).ReadLine()
	return bytes.Equal(line, []byte("HTTP/1.1 200 OK"))
}
