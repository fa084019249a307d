package wire

import (
	"context"
	"net/http"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
)

// hedgeDelay is how long a read waits for one endpoint until it also asks the next one.
const hedgeDelay = 3 * time.Second

// read sends a read to the current endpoint, and to the next one if the reply is not valid or late. It ends with a valid reply, or with a failed answer
// that two endpoints gave alike. Otherwise it returns the best result: an answer about the resource, and then that of the first endpoint. Endpoints
// that are down are asked only if no other endpoint has replied usefully, or all others are late. If no endpoint is up, all are asked at once.
func (t *Transport) read(req *http.Request, x *Exchange) (*http.Response, error) {
	order := t.endpoints.order()
	if len(order.list) == 1 {
		a := t.attempt(req.Context(), req, x, 0)
		a.judge(x, true)
		t.settle(req.Context(), []*attempt{a}, a, nil)
		return a.result(x)
	}
	t.probe(req)
	if x.Alone {
		return t.readAlone(req, x, order.list)
	}
	ctx, cancel := context.WithCancel(req.Context())
	defer cancel()
	r := reading{t: t, ctx: ctx, req: req, x: x, order: order.list, usual: order.usual, late: order.late, atOnce: order.atOnce, results: make(chan *attempt, len(order.list))}
	chosen, err := r.run()
	if err != nil {
		return nil, err
	}
	return chosen.result(x)
}

// readAlone asks one endpoint after the other until one answers. No answer is confirmed, and a late one is waited for: the reply comes from inside a
// guest, which other endpoints know no better.
func (t *Transport) readAlone(req *http.Request, x *Exchange, order []int) (*http.Response, error) {
	var last *attempt
	for _, at := range order {
		last = t.attempt(req.Context(), req, x, at)
		last.judge(x, false)
		t.settle(req.Context(), []*attempt{last}, last, nil)
		if last.rank >= rankAnswer || req.Context().Err() != nil {
			break
		}
	}
	return last.result(x)
}

// reading is one read from several endpoints.
type reading struct {
	t       *Transport
	ctx     context.Context //nolint:containedctx // of this read; it ends the attempts that are no longer needed
	req     *http.Request
	x       *Exchange
	order   []int // of the endpoints
	usual   int   // as in order
	late    int   // as in order
	atOnce  bool  // the usual ones are asked at the same time
	asked   int   // those at the start of order that were asked
	done    []*attempt
	results chan *attempt
}

// run asks the endpoints until one result can be chosen.
func (r *reading) run() (*attempt, error) {
	r.ask()
	for r.atOnce && r.asked < r.usual {
		r.t.endpoints.count(r.order[r.asked], cluster.ExtraAfterFault)
		r.ask()
	}
	late := time.NewTimer(hedgeDelay)
	defer late.Stop()
	for {
		select {
		case a := <-r.results:
			r.done = append(r.done, a)
			if chosen := r.decide(a); chosen != nil {
				r.t.settle(r.req.Context(), r.done, chosen, r.pending())
				return chosen, nil
			}
			if !r.askNext(a) && len(r.done) == r.asked {
				return r.best()
			}
		case <-late.C:
			if r.asked < r.late {
				r.t.endpoints.count(r.order[r.asked], cluster.ExtraLate)
				r.ask()
			}
		}
		late.Reset(hedgeDelay)
	}
}

// ask sends the read to the next endpoint.
func (r *reading) ask() {
	at := r.order[r.asked]
	r.asked++
	go func() {
		a := r.t.attempt(r.ctx, r.req, r.x, at)
		a.judge(r.x, false)
		r.results <- a
	}()
}

// askNext sends the read to the next endpoint after a result that does not suffice. It returns false if there is none to ask.
func (r *reading) askNext(a *attempt) bool {
	if r.asked == len(r.order) || r.ctx.Err() != nil {
		return false
	}
	if r.asked >= r.usual && (len(r.done) < r.asked || slices.ContainsFunc(r.done, func(a *attempt) bool { return a.rank > rankUnusable })) {
		return false
	}
	reason := cluster.ExtraAfterFault
	if a.rank == rankAnswer || a.rank == rankGateway {
		reason = cluster.ExtraConfirm
	}
	r.t.endpoints.count(r.order[r.asked], reason)
	r.ask()
	return true
}

// decide returns the result of the read after another reply, or nil if the reply does not suffice.
func (r *reading) decide(last *attempt) *attempt {
	if last.rank == rankValid || r.t.endpoints.confirmed.has(last, time.Now()) {
		return last
	}
	if last.rank == rankMinority {
		return nil // one quorate endpoint is worth more than any number of others
	}
	answer := last.answer()
	for _, a := range r.done {
		if a != last && answer != "" && a.answer() == answer {
			r.t.endpoints.confirmed.add(a, time.Now())
			return a
		}
	}
	return nil
}

// best returns the result of a read without a valid or confirmed reply.
func (r *reading) best() (*attempt, error) {
	slices.SortStableFunc(r.done, func(a, b *attempt) int { return slices.Index(r.order, a.at) - slices.Index(r.order, b.at) })
	best := r.done[0]
	for _, a := range r.done[1:] {
		if a.rank > best.rank {
			best = a
		}
	}
	for _, a := range r.done {
		if a.rank == rankAnswer && best.rank == rankAnswer && a.answer() != best.answer() {
			return nil, disagreement(best, a)
		}
	}
	r.t.settle(r.req.Context(), r.done, best, nil)
	return best, nil
}

// pending returns the endpoints that were asked before the last reply and have not replied yet.
func (r *reading) pending() []int {
	last := slices.Index(r.order, r.done[len(r.done)-1].at)
	if r.atOnce && last < r.usual {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.order[:last]), func(at int) bool {
		return slices.ContainsFunc(r.done, func(a *attempt) bool { return a.at == at })
	})
}

// settle notes what a read has shown about each endpoint. A broken exchange is a fault whatever the others reply. Any other failed reply is a fault
// only if another endpoint gave a better reply. The caller's end of the read shows nothing.
func (t *Transport) settle(ctx context.Context, done []*attempt, chosen *attempt, pending []int) {
	if ctx.Err() != nil {
		return
	}
	for _, a := range done {
		switch {
		case a.rank == rankBroken, a.rank < chosen.rank:
			t.endpoints.failed(ctx, a.at, a.fault(), a.problem())
		case a.rank == rankValid || a.rank == chosen.rank && len(done) > 1 && a.answer() == chosen.answer():
			t.endpoints.succeeded(ctx, a.at)
		}
	}
	for _, at := range pending {
		t.endpoints.failed(ctx, at, cluster.FaultLate, "no reply while another endpoint that was asked later replied")
	}
}
