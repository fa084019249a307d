package proxmox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gitops-agent/reconcile/cluster"
)

// Limits of the bytes that are read from a server.
const (
	maxReply      = 32 << 20 // 100,000 guests in /cluster/resources
	maxErrorReply = 16 << 10
)

// transport is the http.RoundTripper below the library. It returns a typed error for every status except 200: the library accepts 202,
// 404, 429 and 502 to 599 as success, drops the text of 401 and 403, and keeps only the first line of a 500.
//
// Source: measured with stub servers, go-proxmox v0.8.1, Client.handleResponse.
type transport struct {
	next      http.RoundTripper
	traced    bool // next reports its connections, as net/http's transport does
	slots     *slots
	endpoints *endpoints
	life      context.Context //nolint:containedctx // of the client: Close ends the probes
	probes    sync.WaitGroup
	timeout   time.Duration
	grace     time.Duration
	secret    string
	mayWrite  func() error
	onRequest func(cluster.Exchange)
	log       *slog.Logger
}

// transportError is the error of an exchange without a complete reply.
type transportError struct {
	sent bool // the request may have reached the server
	err  error
}

func (e *transportError) Error() string { return e.err.Error() }
func (e *transportError) Unwrap() error { return e.err }

// checkError is the error of a last check: the request was not sent.
type checkError struct{ err error }

func (e *checkError) Error() string { return e.err.Error() }
func (e *checkError) Unwrap() error { return e.err }

// RoundTrip returns a reply of status 200 whose body is already in memory, or an *APIError for any other status, or a
// *transportError.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	x := exchangeOf(req)
	release, err := t.slots.acquire(req.Context(), x)
	if err != nil {
		closeBody(req)
		err = fmt.Errorf("wait for a free slot: %w", err)
		if x.writes() {
			return nil, &checkError{fmt.Errorf("%w: %w", cluster.ErrWritesStopped, err)}
		}
		return nil, &transportError{err: err}
	}
	defer release()
	if x.writes() {
		return t.write(req, x)
	}
	if err := t.lastCheck(req.Context(), x); err != nil {
		return nil, &checkError{err}
	}
	return t.read(req, x)
}

// lastCheck returns why a request must not be sent now. Nothing is left to wait for. No write is sent after its context has ended.
func (t *transport) lastCheck(ctx context.Context, x *exchange) error {
	if x.check != nil {
		err := x.check(ctx)
		if err != nil && x.writes() && ctx.Err() != nil {
			return fmt.Errorf("%w: %w", cluster.ErrWritesStopped, err) // most likely the check could not read any more
		}
		if err != nil {
			return err
		}
	}
	if !x.writes() {
		return nil
	}
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("%w: %w", cluster.ErrWritesStopped, err)
	}
	if err := t.mayWrite(); err != nil {
		return fmt.Errorf("%w: %w", cluster.ErrWritesStopped, err)
	}
	return nil
}

// write sends a write to the current endpoint. It is sent to the next one only if it certainly did not leave this client: without a connection, or without
// TLS. The last check runs again before that, because time has passed.
func (t *transport) write(req *http.Request, x *exchange) (*http.Response, error) {
	ctx := req.Context()
	order, _ := t.endpoints.order()
	var first *attempt
	for _, at := range order {
		if err := t.lastCheck(ctx, x); err != nil {
			closeBody(req)
			return nil, &checkError{err}
		}
		a := t.attempt(ctx, req, x, at)
		if ctx.Err() != nil {
			return a.result(x)
		}
		switch {
		case a.err == nil:
			t.endpoints.succeeded(ctx, at)
		case isUnsent(a.err) || errors.Is(a.err, errTimeout):
			a.rank = rankBroken
			t.endpoints.failed(ctx, at, a.fault(), a.problem())
		}
		if !isUnsent(a.err) {
			return a.result(x)
		}
		if first == nil {
			first = a
		}
		again, err := rewound(req)
		if err != nil {
			break // the library's requests can all be sent again
		}
		req = again
	}
	return first.result(x)
}

// rewound returns a request whose body can be read again.
func rewound(req *http.Request) (*http.Request, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return req, nil
	}
	if req.GetBody == nil {
		return nil, errors.New("the body cannot be read again")
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	again := req.WithContext(req.Context())
	again.Body = body
	return again, nil
}

// attempt sends the request to one endpoint within the time limit and reads the complete reply.
func (t *transport) attempt(ctx context.Context, req *http.Request, x *exchange, at int) *attempt {
	start := time.Now()
	a := &attempt{at: at}
	a.res, a.body, a.err = t.exchange(ctx, req, at) //nolint:bodyclose // exchange closes it
	elapsed := time.Since(start)
	code := codeOf(a.res, a.err)
	t.onRequest(cluster.Exchange{
		Method: x.method, Route: x.route, Code: code, Endpoint: t.endpoints.url(at).Host, Node: x.node, UPID: x.task, Step: cluster.StepOf(ctx), Duration: elapsed,
	})
	if t.log.Enabled(ctx, slog.LevelDebug) {
		t.log.DebugContext(ctx, "proxmox request", "method", x.method, "path", x.path, "endpoint", t.endpoints.url(at).Host, "code", code, "duration", elapsed)
	}
	return a
}

// result stores the reply in the exchange.
func (a *attempt) result(x *exchange) (*http.Response, error) {
	if a.err != nil {
		return nil, a.err
	}
	return keep(a.res, x, a.body), nil
}

// exchange sends the request to one endpoint and reads the complete reply.
func (t *transport) exchange(ctx context.Context, req *http.Request, at int) (*http.Response, string, error) {
	end := func() {}
	if req.Method != http.MethodGet {
		ctx, end = withGrace(ctx, t.grace)
	}
	defer end()
	ctx, cancel := context.WithTimeoutCause(ctx, t.timeout, errTimeout)
	defer cancel()
	var connected atomic.Bool
	traced := ctx
	if t.traced {
		traced = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	}
	sentAt := time.Now()
	res, err := t.next.RoundTrip(addressed(traced, req, t.endpoints.url(at)))
	if err != nil {
		sent := !isDialError(err) && (!t.traced || connected.Load())
		return nil, "", &transportError{sent: sent, err: causeOf(ctx, err)}
	}
	t.endpoints.noteClock(at, res.Header, sentAt, time.Now())
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, "", t.apiError(req, res)
	}
	body, err := readBody(res)
	if err != nil {
		return nil, "", &transportError{sent: true, err: fmt.Errorf("read reply: %w", causeOf(ctx, err))}
	}
	return res, body, nil
}

// withGrace returns a context that ends a time after ctx has ended, so that the reply to a request that was sent is not lost. The caller must call end.
func withGrace(ctx context.Context, grace time.Duration) (longer context.Context, end func()) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(grace, func() { cancel(context.Cause(ctx)) })
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, func() { stop(); cancel(context.Canceled) }
}

// apiError reads a failed reply. If the body cannot be read, the error has the status and the reason only.
func (t *transport) apiError(req *http.Request, res *http.Response) *APIError {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorReply))
	e := newAPIError(req, res, body)
	e.redact([]string{t.secret})
	return e
}

// keep stores the reply in the exchange. It passes the reply on to the library unless the caller decodes the reply.
func keep(res *http.Response, x *exchange, body string) *http.Response {
	x.reply, x.done = body, true
	res.Body = http.NoBody
	if !x.raw {
		res.Body = io.NopCloser(strings.NewReader(body))
	}
	return res
}

// replies are buffers for replies that state their length, as Proxmox's replies do.
var replies = sync.Pool{New: func() any { return new([]byte) }}

// readBody reads a complete reply. A reply that ends before its stated length is an error.
func readBody(res *http.Response) (string, error) {
	if res.ContentLength <= 0 || res.ContentLength > maxReply {
		body, err := io.ReadAll(io.LimitReader(res.Body, maxReply+1))
		if err == nil && len(body) > maxReply {
			err = fmt.Errorf("more than %d MiB", maxReply>>20)
		}
		return string(body), err
	}
	buffer := replies.Get().(*[]byte)
	defer replies.Put(buffer)
	*buffer = slices.Grow((*buffer)[:0], int(res.ContentLength))[:res.ContentLength]
	_, err := io.ReadFull(res.Body, *buffer)
	return string(*buffer), err
}

// codeOf returns the label of an outcome for metrics: the status, or "none".
func codeOf(res *http.Response, err error) string {
	var api *APIError
	switch {
	case errors.As(err, &api):
		return strconv.Itoa(api.Status)
	case err != nil:
		return "none"
	default:
		return strconv.Itoa(res.StatusCode)
	}
}

// errTimeout is the cause if the time limit of this client ends an exchange, and not the caller's context.
var errTimeout = errors.New("no reply in time")

// causeOf returns the cause of the context's end if the context has ended, and err otherwise.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// isDialError reports whether no connection was made, so that nothing was sent.
func isDialError(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// closeBody closes the body of a request, as an http.RoundTripper has to, also for a request that is not sent.
func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}
