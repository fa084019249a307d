package pvesim

import (
	"net/http"
	"time"
)

// Workers and the proxy of a node, as Proxmox has them: few processes do the calls that need root, one call each at a time, and the proxy
// in front of them gives up on a call that takes long while the call goes on.
const (
	defaultWorkers      = 3
	defaultProxyTimeout = 30 * time.Second
)

// workers are the places among processes that do one call each at a time.
type workers chan struct{}

// take waits for a place, and is false when closed is.
func (w workers) take(closed <-chan struct{}) bool {
	select {
	case w <- struct{}{}:
		return true
	case <-closed:
		return false
	}
}

func (w workers) leave() { <-w }

// nodeWorkers are the processes of a node: the proxy's, which read files themselves, and those behind it that may do all that root may.
type nodeWorkers struct{ front, rooted workers }

// workersOf returns the workers of the call's node; calls that concern no node are done by the first. The state is not locked.
func (s *Sim) workersOf(node string) nodeWorkers {
	s.mu.Lock()
	defer s.mu.Unlock()
	if node == "" {
		node = s.opts.Nodes[0]
	}
	w, ok := s.workers[node]
	if !ok {
		w = nodeWorkers{front: make(workers, s.opts.Workers), rooted: make(workers, s.opts.Workers)}
		s.workers[node] = w
	}
	return w
}

// outcome is what a worker hands to the proxy.
type outcome struct {
	rep reply
	err error
}

// delegate has a worker of the node do the call and waits for it, no longer than the proxy does.
func (s *Sim) delegate(c *call) (reply, error) {
	out := make(chan outcome, 1)
	if !s.track(func() { out <- s.onWorker(c) }) {
		return reply{}, errClosed
	}
	if s.opts.ProxyTimeout < 0 {
		o := <-out
		return o.rep, o.err
	}
	timer := time.NewTimer(s.opts.ProxyTimeout)
	defer timer.Stop()
	select {
	case o := <-out:
		return o.rep, o.err
	case <-timer.C:
		return reply{}, &apiError{status: statusTimeout, message: "Connection timed out", bare: true}
	}
}

// The statuses that the proxy makes up, with an empty body.
const (
	statusUnreachable = 595
	statusTimeout     = 596
)

// onWorker waits for a worker and does the call.
func (s *Sim) onWorker(c *call) outcome {
	if s.opts.Workers > 0 {
		rooted := s.workersOf(c.node()).rooted
		if !rooted.take(s.closed) {
			return outcome{err: errClosed}
		}
		defer rooted.leave()
	}
	if c.isSlow() && !s.wait(c.fault.Delay) {
		return outcome{err: errClosed}
	}
	var o outcome
	if c.route.write != nil {
		o.rep, o.err = c.route.write(c)
		return o
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o.rep, o.err = c.route.read(c)
	return o
}

func (c *call) isSlow() bool { return c.fault != nil && c.fault.Kind == SlowCall }

// isDelegated says whether a worker does the call: every write, and the reads that look at processes. All other reads are done by the
// proxy itself.
func (r *route) isDelegated() bool { return r.write != nil || r.rooted }

// needsRoot marks a read that a worker does.
func (r *route) needsRoot() *route {
	r.rooted = r.method == http.MethodGet
	return r
}
