package etcdtest

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy passes connections to an address, and disturbs them.
type Proxy struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu        sync.Mutex
	open      map[net.Conn]bool
	cut, mute bool
	delay     time.Duration
}

// NewProxy returns a proxy in front of an address, which the test ends.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: listener, target: target, open: map[net.Conn]bool{}}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		p.Cut()
		p.mu.Lock()
		for c := range p.open {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.running.Wait()
	})
	return p
}

// Address returns the address of the proxy.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Cut lets no byte pass, in either direction, as a partition does: connections stay open and answer nothing.
func (p *Proxy) Cut() { p.set(func() { p.cut = true }) }

// LoseReplies lets requests pass and no reply.
func (p *Proxy) LoseReplies() { p.set(func() { p.mute = true }) }

// Delay lets each piece of data arrive later.
func (p *Proxy) Delay(by time.Duration) { p.set(func() { p.delay = by }) }

// Heal ends every disturbance. Connections that lost data are closed.
func (p *Proxy) Heal() {
	p.set(func() {
		if p.cut || p.mute {
			for c := range p.open {
				_ = c.Close()
			}
		}
		p.cut, p.mute, p.delay = false, false, 0
	})
}

func (p *Proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.set(func() { p.open[client], p.open[server] = true, true })
		p.running.Go(func() { p.pass(server, client, false) })
		p.running.Go(func() { p.pass(client, server, true) })
	}
}

// pass copies data until a side ends. Data that a disturbance holds back is lost.
func (p *Proxy) pass(to, from net.Conn, replies bool) {
	defer func() {
		_, _ = to.Close(), from.Close()
		p.set(func() { delete(p.open, to); delete(p.open, from) })
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		p.mu.Lock()
		lost, delay := p.cut || p.mute && replies, p.delay
		p.mu.Unlock()
		if lost {
			continue
		}
		time.Sleep(delay)
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}
