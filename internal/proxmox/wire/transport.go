package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gitops-agent/internal/bounds"
	"gitops-agent/reconcile/cluster"
)

// Limits of the bytes that are read from a server.
const (
	maxReply      = 32 << 20 // 100,000 guests in /cluster/resources
	maxErrorReply = 16 << 10
	smallReply    = 64 << 10 // whose values take some megabytes at most
)

// limits are those of the values of a reply that is not small: 100,000 guests with 20 properties. The library makes a value of some hundred bytes of
// two bytes of text.
var limits = bounds.JSON{Bytes: maxReply, Values: 3_000_000, Elements: 150_000, Depth: 64}

// Transport is the http.RoundTripper below the library. It returns a typed error for every status except 200: the library accepts 202,
// 404, 429 and 502 to 599 as success, drops the text of 401 and 403, and keeps only the first line of a 500.
//
// Source: measured with stub servers, go-proxmox v0.8.1, Client.handleResponse.
type Transport struct {
	options   Options
	slots     *slots
	endpoints *endpoints
	held      held
	life      context.Context //nolint:containedctx // until close, which ends the probes
	end       context.CancelFunc
	probes    sync.WaitGroup
}

// Options configure a transport. All are required.
type Options struct {
	Next                        http.RoundTripper
	Traced                      bool          // next reports its connections, as net/http's transport does
	URLs                        []*url.URL    // of the endpoints
	ReadsPerNode, WritesPerNode int           // exchanges in flight
	Timeout                     time.Duration // of one exchange
	Grace                       time.Duration // for the reply to a write after its context has ended
	Secret                      string        // that errors must not contain
	MayWrite                    func() error
	OnRequest                   func(cluster.Exchange)
	Logger                      *slog.Logger
}

// New returns a transport. The caller must close it.
func New(options Options) *Transport {
	life, end := context.WithCancel(context.Background())
	return &Transport{
		options:   options,
		slots:     newSlots(options.ReadsPerNode, options.WritesPerNode),
		endpoints: newEndpoints(options.URLs, options.Logger),
		life:      life,
		end:       end,
	}
}

// Report returns the state of each endpoint, in the order of the options.
func (t *Transport) Report() []cluster.Endpoint { return t.endpoints.report() }

// Close ends the probes of endpoints. It does not interrupt other exchanges in flight.
func (t *Transport) Close() {
	t.end()
	t.probes.Wait()
}

// BrokenError is the error of an exchange without a complete reply.
type BrokenError struct {
	Sent bool // the request may have reached the server
	err  error
}

func (e *BrokenError) Error() string { return e.err.Error() }
func (e *BrokenError) Unwrap() error { return e.err }

// CheckError is the error of a last check: the request was not sent.
type CheckError struct{ Err error }

func (e *CheckError) Error() string { return e.Err.Error() }
func (e *CheckError) Unwrap() error { return e.Err }

// RoundTrip returns a reply of status 200 whose body is already in memory, or an *APIError for any other status, or a
// *BrokenError.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	x := exchangeOf(req)
	release, err := t.slots.acquire(req.Context(), x)
	if err != nil {
		closeBody(req)
		err = fmt.Errorf("wait for a free slot: %w", err)
		if x.Writes() {
			return nil, &CheckError{fmt.Errorf("%w: %w", cluster.ErrWritesStopped, err)}
		}
		return nil, &BrokenError{err: err}
	}
	defer release()
	if x.Writes() {
		return t.write(req, x)
	}
	if err := t.lastCheck(req.Context(), x); err != nil {
		return nil, &CheckError{err}
	}
	return t.read(req, x)
}

// lastCheck returns why a request must not be sent now. Nothing is left to wait for. No write is sent after its context has ended.
func (t *Transport) lastCheck(ctx context.Context, x *Exchange) error {
	if x.Check != nil {
		err := x.Check(ctx)
		if err != nil && x.Writes() && ctx.Err() != nil {
			return fmt.Errorf("%w: %w", cluster.ErrWritesStopped, err) // most likely the check could not read any more
		}
		if err != nil {
			return err
		}
	}
	if !x.Writes() {
		return nil
	}
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("%w: %w", cluster.ErrWritesStopped, err)
	}
	if err := t.options.MayWrite(); err != nil {
		return fmt.Errorf("%w: %w", cluster.ErrWritesStopped, err)
	}
	return nil
}

// write sends a write to the current endpoint. It is sent to the next one only if it certainly did not leave this client: without a connection, or without
// TLS. The last check runs again before that, because time has passed.
func (t *Transport) write(req *http.Request, x *Exchange) (*http.Response, error) {
	ctx := req.Context()
	var first *attempt
	for _, at := range t.endpoints.order().list {
		if err := t.lastCheck(ctx, x); err != nil {
			closeBody(req)
			return nil, &CheckError{err}
		}
		a := t.attempt(ctx, req, x, at)
		if ctx.Err() != nil {
			return a.result(x)
		}
		switch {
		case a.err == nil:
			t.endpoints.succeeded(ctx, at)
		case isUnsent(a.err) || errors.Is(a.err, ErrTimeout):
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
func (t *Transport) attempt(ctx context.Context, req *http.Request, x *Exchange, at int) *attempt {
	start := time.Now()
	a := &attempt{at: at}
	a.res, a.body, a.err = t.exchange(ctx, req, at) //nolint:bodyclose // exchange closes it
	elapsed := time.Since(start)
	code := codeOf(a.res, a.err)
	t.options.OnRequest(cluster.Exchange{
		Method: x.Method, Route: x.Route, Code: code, Endpoint: t.endpoints.url(at).Host, Node: x.Node, UPID: x.Task, Step: cluster.StepOf(ctx), Duration: elapsed,
	})
	if t.options.Logger.Enabled(ctx, slog.LevelDebug) {
		t.options.Logger.DebugContext(ctx, "proxmox request", "method", x.Method, "path", x.Path, "endpoint", t.endpoints.url(at).Host, "code", code, "duration", elapsed)
	}
	return a
}

// result stores the reply in the exchange.
func (a *attempt) result(x *Exchange) (*http.Response, error) {
	if a.err != nil {
		return nil, a.err
	}
	return keep(a.res, x, a.body), nil
}

// Exchange sends the request to one endpoint and reads the complete reply.
func (t *Transport) exchange(ctx context.Context, req *http.Request, at int) (*http.Response, string, error) {
	end := func() {}
	if req.Method != http.MethodGet {
		ctx, end = withGrace(ctx, t.options.Grace)
	}
	defer end()
	ctx, cancel := context.WithTimeoutCause(ctx, t.options.Timeout, ErrTimeout)
	defer cancel()
	var connected atomic.Bool
	traced := ctx
	if t.options.Traced {
		traced = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	}
	sentAt := time.Now()
	res, err := t.options.Next.RoundTrip(addressed(traced, req, t.endpoints.url(at)))
	if err != nil {
		sent := !isDialError(err) && (!t.options.Traced || connected.Load())
		return nil, "", &BrokenError{Sent: sent, err: causeOf(ctx, err)}
	}
	t.endpoints.noteClock(at, res.Header, sentAt, time.Now())
	defer func() { _ = res.Body.Close() }()
	about := ""
	if req.Method == http.MethodGet {
		about = aboutGuest(req.URL.Path)
	}
	if res.StatusCode != http.StatusOK {
		t.held.drop(about)
		return nil, "", t.apiError(req, res)
	}
	most := maxReply
	if about != "" {
		most = maxGuestReply
	}
	body, err := readBody(res, cmp.Or(exchangeOf(req).MaxReply, most))
	if err == nil && about != "" {
		err = t.held.take(about, len(body))
	}
	if err != nil {
		return nil, "", &BrokenError{Sent: true, err: fmt.Errorf("read reply: %w", causeOf(ctx, err))}
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
func (t *Transport) apiError(req *http.Request, res *http.Response) *APIError {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorReply))
	e := newAPIError(req, res, body)
	e.Redact([]string{t.options.Secret})
	return e
}

// keep stores the reply in the exchange. It passes the reply on to the library unless the caller decodes the reply.
func keep(res *http.Response, x *Exchange, body string) *http.Response {
	x.Reply, x.Done = body, true
	res.Body = http.NoBody
	if !x.Raw {
		res.Body = io.NopCloser(strings.NewReader(body))
	}
	return res
}

// replies are buffers for replies that state their length, as Proxmox's replies do.
var replies = sync.Pool{New: func() any { return new([]byte) }}

// readBody reads a complete reply. A reply that ends before its stated length is an error, and so is one with more values than a cluster has.
func readBody(res *http.Response, limit int) (string, error) {
	body, err := readText(res, int64(limit))
	if err == nil && len(body) > smallReply {
		err = limits.Check(body)
	}
	return body, err
}

func readText(res *http.Response, limit int64) (string, error) {
	if res.ContentLength <= 0 || res.ContentLength > limit {
		body, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
		if err == nil && int64(len(body)) > limit {
			err = fmt.Errorf("more than %d MiB", limit>>20)
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

// ErrTimeout is the cause if the time limit of this client ends an exchange, and not the caller's context.
var ErrTimeout = errors.New("no reply in time")

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
