package proxmox

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"

	"gitops-agent/internal/proxmox/route"
	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/reconcile/cluster"

	pve "github.com/luthermonson/go-proxmox"
)

// Reader reads a cluster. It cannot write.
type Reader struct {
	api     *pve.Client // its transport rejects every method except GET
	log     *slog.Logger
	close   func()
	version *versionCache

	transport *wire.Transport
}

// Client reads and writes a cluster. It is safe for concurrent use.
type Client struct {
	*Reader
	api     *pve.Client
	started sync.Map // UPIDs that Do returned, until Wait returned their end, and whether the call had no secret
}

var (
	_ cluster.Reader  = (*Reader)(nil)
	_ cluster.Cluster = (*Client)(nil)
)

// NewReader returns a Reader. It sends no request. Its error names every problem of options.
func NewReader(options Options) (*Reader, error) {
	connection, err := connect(options)
	if err != nil {
		return nil, err
	}
	return connection.reader(), nil
}

// New returns a Client. It sends no request. Its error names every problem of options.
func New(options Options) (*Client, error) {
	connection, err := connect(options)
	if err != nil {
		return nil, err
	}
	return &Client{Reader: connection.reader(), api: connection.library(connection.transport)}, nil
}

// Endpoints returns the state of each endpoint, in the order of the options.
func (r *Reader) Endpoints() []cluster.Endpoint { return r.transport.Report() }

// Close ends the probes of endpoints and closes idle connections. It does not interrupt other exchanges in flight.
func (r *Reader) Close() { r.close() }

// connection is shared by a Reader and a Client: the limits of its transport apply to both together.
type connection struct {
	transport *wire.Transport
	token     token
	base      string
	log       *slog.Logger
	close     func()
}

// connect checks options and returns the connection that they configure.
func connect(options Options) (*connection, error) {
	options = options.withDefaults()
	urls, urlErr := options.endpointURLs()
	token, tokenErr := readToken(options.TokenFile)
	trust, tlsErr := wire.TLSConfig(options.CAFile, options.Fingerprints)
	if err := errors.Join(options.checkLimits(), urlErr, tokenErr, tlsErr); err != nil {
		return nil, fmt.Errorf("configure proxmox client: %w", err)
	}
	next, closeIdle := options.Transport, func() {}
	if next == nil {
		network := wire.NewNetwork(trust)
		next, closeIdle = network, network.CloseIdle
	}
	c := &connection{
		transport: wire.New(wire.Options{
			Next:          next,
			Traced:        options.Transport == nil,
			URLs:          urls,
			ReadsPerNode:  options.ReadsPerNode,
			WritesPerNode: options.WritesPerNode,
			Timeout:       options.Timeout,
			Grace:         options.Grace,
			Secret:        token.secret,
			MayWrite:      options.MayWrite,
			OnRequest:     options.OnRequest,
			Logger:        options.Logger,
		}),
		token: token,
		base:  urls[0].String() + route.Base,
		log:   options.Logger,
	}
	c.close = func() {
		c.transport.Close()
		closeIdle()
	}
	return c, nil
}

// reader returns a Reader on the connection.
func (c *connection) reader() *Reader {
	return &Reader{api: c.library(wire.GetOnly(c.transport)), log: c.log, close: c.close, version: &versionCache{}, transport: c.transport}
}

// library returns a go-proxmox client on a transport of this package. The logger of the library is silent: it would print bodies, and bodies
// contain passwords. Authentication is by token only: with a ticket, the library has a data race on its session.
//
// Source: race detector, go-proxmox v0.8.1, Client.authHeaders.
func (c *connection) library(transport http.RoundTripper) *pve.Client {
	return pve.NewClient(c.base,
		pve.WithHTTPClient(&http.Client{Transport: transport}),
		pve.WithAPIToken(c.token.id, c.token.secret),
		pve.WithUserAgent("gitops-agent"),
		pve.WithLogger(&pve.LeveledLogger{}))
}
