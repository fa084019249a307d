package wire

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"gitops-agent/reconcile/cluster"
)

// endpoints knows the nodes whose API this client uses, and the health of each of them. Each endpoint answers for every node of the cluster. Requests
// go to the current endpoint, which changes only when it goes down.
type endpoints struct {
	log *slog.Logger

	mu        sync.Mutex
	list      []*endpointHealth
	current   int
	confirmed confirmations
}

func newEndpoints(urls []*url.URL, log *slog.Logger) *endpoints {
	e := &endpoints{log: log}
	for _, u := range urls {
		e.list = append(e.list, newEndpoint(u))
	}
	return e
}

// url returns the address of an endpoint. It does not change.
func (e *endpoints) url(at int) *url.URL { return e.list[at].url }

// order is the order in which a read asks the endpoints: those that are up, from the current one on, those that are down, and those that are down because their
// part of the cluster has no quorum, whose replies may be old. If no endpoint is up, the first ones are all that are down for another reason, and are asked at once,
// since any of them may work again.
type order struct {
	list   []int
	usual  int // those at the start that are asked while none of them has replied usefully
	late   int // those at the start that are asked, one after the other, while those before are late
	atOnce bool
}

func (e *endpoints) order() order {
	e.mu.Lock()
	defer e.mu.Unlock()
	o := order{list: make([]int, len(e.list)), atOnce: true}
	for i := range o.list {
		o.list[i] = (e.current + i) % len(e.list)
		o.atOnce = o.atOnce && e.list[i].isDown()
	}
	rank := func(at int) int {
		h := e.list[at]
		return number(h.isDown() && !o.atOnce) + 2*number(h.isDown() && h.minority)
	}
	slices.SortStableFunc(o.list, func(a, b int) int { return rank(a) - rank(b) })
	o.usual, o.late = len(o.list), len(o.list)
	for i, at := range slices.Backward(o.list) {
		if rank(at) > 0 {
			o.usual = i
		}
		if rank(at) > 1 {
			o.late = i
		}
	}
	return o
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// succeeded notes a good reply.
func (e *endpoints) succeeded(ctx context.Context, at int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	endpoint, now := e.list[at], time.Now()
	last := !slices.ContainsFunc(e.list, func(other *endpointHealth) bool { return !other.isDown() })
	if endpoint.succeeded(now, last) {
		e.log.InfoContext(ctx, "proxmox endpoint up again", "endpoint", endpoint.url.Host)
		if last {
			e.current = at
		}
	}
}

// failed notes a fault. If the current endpoint went down, another one that is up becomes the current one.
func (e *endpoints) failed(ctx context.Context, at int, fault cluster.EndpointFault, problem string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	endpoint := e.list[at]
	if !endpoint.failed(time.Now(), fault, problem) {
		return
	}
	e.log.WarnContext(ctx, "proxmox endpoint down", "endpoint", endpoint.url.Host, "fault", fault, "error", problem)
	if at != e.current {
		return
	}
	for i := range e.list {
		if next := (at + i) % len(e.list); !e.list[next].isDown() {
			e.current = next
			e.log.WarnContext(ctx, "proxmox endpoint changed", "from", endpoint.url.Host, "to", e.list[next].url.Host)
			return
		}
	}
}

// count counts an additional read.
func (e *endpoints) count(at int, reason cluster.ExtraReadReason) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list[at].extra[reason]++
}

// Report returns the state of every endpoint, in the order of the configuration.
func (e *endpoints) report() []cluster.Endpoint {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := make([]cluster.Endpoint, 0, len(e.list))
	for i, h := range e.list {
		list = append(list, h.report(i == e.current))
	}
	return list
}

// toProbe returns the endpoints that are down and whose next probe is due, and notes that a probe runs. If all are down, ordinary reads try them.
func (e *endpoints) toProbe(now time.Time) []int {
	e.mu.Lock()
	defer e.mu.Unlock()
	var due []int
	down := 0
	for i, h := range e.list {
		if !h.isDown() {
			continue
		}
		down++
		if !h.probing && !now.Before(h.probeAt) {
			due = append(due, i)
		}
	}
	if down == len(e.list) {
		return nil
	}
	for _, i := range due {
		e.list[i].probing = true
	}
	return due
}

// probed notes that a probe has ended.
func (e *endpoints) probed(at int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list[at].probing = false
}

// addressed returns req with another context and the address of endpoint.
func addressed(ctx context.Context, req *http.Request, endpoint *url.URL) *http.Request {
	target := *req.URL
	target.Scheme, target.Host = endpoint.Scheme, endpoint.Host
	moved := req.WithContext(ctx)
	moved.URL, moved.Host = &target, endpoint.Host
	return moved
}
