//go:build integration

package crash

import "net"

// service is what runs in a guest and shows that the guest is ready: a port that accepts connections, or refuses them.
type service struct {
	address  string
	listener net.Listener // nil while it refuses
}

// newService returns a service that refuses connections.
func (w *world) newService() *service {
	w.Helper()
	s := &service{address: w.freeAddress()}
	w.services = append(w.services, s)
	return s
}

// accept lets a service accept connections, unless it does.
func (w *world) accept(s *service) {
	w.Helper()
	if s.listener != nil {
		return
	}
	l, err := net.Listen("tcp", s.address)
	w.ok(err)
	s.listener = l
	w.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
}

// acceptAll lets every service accept connections. Until then no guest may have been created that waits for one.
func (w *world) acceptAll() {
	w.Helper()
	effects := w.effects()
	for _, g := range w.guests {
		if on := g.dependsOn; on != nil && on.service.listener == nil && len(effects[g.vmid]) != 0 {
			w.Fatalf("%s: got %v before %s was ready, want nothing", g.name, effects[g.vmid], on.name)
		}
	}
	for _, s := range w.services {
		w.accept(s)
	}
}
