package proxmox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"

	"gitops-agent/reconcile/cluster"

	pve "github.com/luthermonson/go-proxmox"
)

// Reader reads a cluster. It cannot write.
type Reader struct {
	api     *pve.Client // its transport rejects every method except GET
	log     *slog.Logger
	close   func()
	version *versionCache

	endpoints *endpoints
}

// Client reads and writes a cluster. It is safe for concurrent use.
type Client struct {
	*Reader
	api     *pve.Client
	started sync.Map // UPIDs that Do returned, until Wait is called with them
}

var (
	_ cluster.Reader  = (*Reader)(nil)
	_ cluster.Cluster = (*Client)(nil)
)

// NewReader returns a Reader. It sends no request. Its error names every problem of options.
func NewReader(options Options) (*Reader, error) {
	wire, err := newWire(options)
	if err != nil {
		return nil, err
	}
	return wire.reader(), nil
}

// New returns a Client. It sends no request. Its error names every problem of options.
func New(options Options) (*Client, error) {
	wire, err := newWire(options)
	if err != nil {
		return nil, err
	}
	return &Client{Reader: wire.reader(), api: wire.library(wire.transport)}, nil
}

// Endpoints returns the state of each endpoint, in the order of the options.
func (r *Reader) Endpoints() []cluster.Endpoint { return r.endpoints.report() }

// Close ends the probes of endpoints and closes idle connections. It does not interrupt other exchanges in flight.
func (r *Reader) Close() { r.close() }

// wire is shared by a Reader and a Client: the limits of its transport apply to both together.
type wire struct {
	transport *transport
	token     token
	base      string
	log       *slog.Logger
	close     func()
}

// newWire checks options and returns the wire that they configure.
func newWire(options Options) (*wire, error) {
	options = options.withDefaults()
	urls, urlErr := options.endpointURLs()
	token, tokenErr := readToken(options.TokenFile)
	trust, tlsErr := options.tlsConfig()
	if err := errors.Join(options.checkLimits(), urlErr, tokenErr, tlsErr); err != nil {
		return nil, fmt.Errorf("configure proxmox client: %w", err)
	}
	next, closeIdle := options.Transport, func() {}
	if next == nil {
		network := newNetwork(trust)
		next, closeIdle = network, network.reads.CloseIdleConnections
	}
	life, end := context.WithCancel(context.Background())
	w := &wire{
		transport: &transport{
			next:      next,
			endpoints: newEndpoints(urls, options.Logger),
			life:      life,
			traced:    options.Transport == nil,
			slots:     newSlots(options.ReadsPerNode, options.WritesPerNode),
			timeout:   options.Timeout,
			grace:     options.Grace,
			secret:    token.secret,
			mayWrite:  options.MayWrite,
			onRequest: options.OnRequest,
			log:       options.Logger,
		},
		token: token,
		base:  urls[0].String() + apiBase,
		log:   options.Logger,
	}
	w.close = func() {
		end()
		w.transport.probes.Wait()
		closeIdle()
	}
	return w, nil
}

// reader returns a Reader on the wire.
func (w *wire) reader() *Reader {
	return &Reader{api: w.library(getOnly{w.transport}), log: w.log, close: w.close, version: &versionCache{}, endpoints: w.transport.endpoints}
}

// library returns a go-proxmox client on a transport of this package. The logger of the library is silent: it would print bodies, and bodies
// contain passwords. Authentication is by token only: with a ticket, the library has a data race on its session.
//
// Source: race detector, go-proxmox v0.8.1, Client.authHeaders.
func (w *wire) library(transport http.RoundTripper) *pve.Client {
	return pve.NewClient(w.base,
		pve.WithHTTPClient(&http.Client{Transport: transport}),
		pve.WithAPIToken(w.token.id, w.token.secret),
		pve.WithUserAgent("gitops-agent"),
		pve.WithLogger(&pve.LeveledLogger{}))
}

// getOnly rejects every method except GET, also for requests of the library.
type getOnly struct{ next http.RoundTripper }

var errReadOnly = errors.New("this client is read-only")

// RoundTrip sends GET requests to the next transport.
func (g getOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		closeBody(req)
		return nil, errReadOnly
	}
	return g.next.RoundTrip(req)
}
