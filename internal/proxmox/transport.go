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
	timeout   time.Duration
	grace     time.Duration
	secret    string
	mayWrite  func() error
	onRequest func(method, route, code string, elapsed time.Duration)
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
	if err := t.lastCheck(req.Context(), x); err != nil {
		closeBody(req)
		return nil, &checkError{err}
	}

	start := time.Now()
	res, err := t.exchange(req, x)
	elapsed := time.Since(start)
	code := codeOf(res, err)
	t.onRequest(x.method, x.route, code, elapsed)
	if t.log.Enabled(req.Context(), slog.LevelDebug) {
		t.log.DebugContext(req.Context(), "proxmox request", "method", x.method, "path", x.path, "code", code, "duration", elapsed)
	}
	return res, err
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

// exchange sends the request within the time limit and reads the complete reply.
func (t *transport) exchange(req *http.Request, x *exchange) (*http.Response, error) {
	caller, end := req.Context(), func() {}
	if x.writes() {
		caller, end = withGrace(caller, t.grace)
	}
	defer end()
	ctx, cancel := context.WithTimeoutCause(caller, t.timeout, errTimeout)
	defer cancel()
	var connected atomic.Bool
	if t.traced && x.writes() {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	}
	res, err := t.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		sent := !isDialError(err) && (!t.traced || connected.Load())
		return nil, &transportError{sent: sent, err: causeOf(ctx, err)}
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, t.apiError(req, res)
	}
	body, err := readBody(res)
	if err != nil {
		return nil, &transportError{sent: true, err: fmt.Errorf("read reply: %w", causeOf(ctx, err))}
	}
	return keep(res, x, body), nil
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
