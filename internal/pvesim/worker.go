package pvesim

import (
	"net/http"
	"time"
)

// Workers and the proxy of a node, as in Proxmox: a few processes run the calls that need root, each one call at a time. The proxy in front
// of them gives up on a call that takes too long, and the call continues.
const (
	defaultWorkers      = 3
	defaultProxyTimeout = 30 * time.Second
)

// workerSlots are processes that run one call at a time each.
type workerSlots chan struct{}

// acquire waits for an idle process. It returns false if closed is closed first.
func (w workerSlots) acquire(closed <-chan struct{}) bool {
	select {
	case w <- struct{}{}:
		return true
	case <-closed:
		return false
	}
}

func (w workerSlots) release() { <-w }

// nodeWorkers are the processes of a node: those of the proxy, which read files themselves, and those behind it, which have the rights of root.
type nodeWorkers struct{ front, root workerSlots }

// workersOf returns the workers of the call's node. Calls without a node run on the first node. The state is not locked.
func (s *Sim) workersOf(node string) nodeWorkers {
	s.mu.Lock()
	defer s.mu.Unlock()
	if node == "" {
		node = s.opts.Nodes[0]
	}
	w, ok := s.workers[node]
	if !ok {
		w = nodeWorkers{front: make(workerSlots, s.opts.Workers), root: make(workerSlots, s.opts.Workers)}
		s.workers[node] = w
	}
	return w
}

// workerResult is the result that a worker returns to the proxy.
type workerResult struct {
	rep reply
	err error
}

// runWithinProxyTimeout runs the call on a worker of the node and waits for the result, at most as long as the proxy does.
func (s *Sim) runWithinProxyTimeout(c *call) (reply, error) {
	out := make(chan workerResult, 1)
	if !s.goTracked(func() { out <- s.runOnWorker(c) }) {
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
		return reply{}, &apiError{status: statusEnded, message: "Connection timed out", noBody: true}
	}
}

// The statuses that the proxy itself returns, with an empty body: without a connection nothing of the call was sent. After a connection that ended, or that was silent
// for too long, the call may act.
//
// Source: AnyEvent::HTTP 2.25.
const (
	statusUnreachable = 595
	statusEnded       = 596
)

// runOnWorker waits for a worker and runs the call. The call is lost if the node is booted meanwhile.
func (s *Sim) runOnWorker(c *call) workerResult {
	rebooted := s.sinceBoot(c)
	if s.opts.Workers > 0 {
		rooted := s.workersOf(c.executing()).root
		if !rooted.acquire(s.closed) {
			return workerResult{err: errClosed}
		}
		defer rooted.release()
	}
	if c.isSlow() && !s.wait(c.fault.Delay) {
		return workerResult{err: errClosed}
	}
	c.quorate = s.awaitMembership(c)
	if rebooted() {
		return workerResult{err: &apiError{status: statusEnded, message: "Connection reset by peer", noBody: true}}
	}
	var o workerResult
	if c.route.write != nil {
		o.rep, o.err = c.route.write(c)
		s.waitWith(o.err)
		return o
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o.rep, o.err = c.route.read(c)
	return o
}

func (c *call) isSlow() bool { return c.fault != nil && c.fault.Kind == SlowCall }

// needsWorker reports whether a root worker runs the call: every write, and the reads that inspect processes. The proxy runs all other reads
// itself.
func (r *route) needsWorker() bool { return r.write != nil || r.rootRead }

// needsRoot marks a read that a root worker runs.
func (r *route) needsRoot() *route {
	r.rootRead = r.method == http.MethodGet
	return r
}
