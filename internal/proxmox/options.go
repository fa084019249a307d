package proxmox

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"

	"gitops-agent/internal/loopback"
	"gitops-agent/reconcile/cluster"
)

// Options configures a client: the cluster, the token, and limits. Endpoints and TokenFile are required.
type Options struct {
	// Endpoints are nodes of one cluster, "https://pve1.lan:8006"; the default port is 8006. A read is sent to the next endpoint without a
	// valid reply, a write without a connection. Plain http is accepted only for loopback addresses.
	Endpoints []string
	// TokenFile holds one line, "user@realm!name=secret".
	TokenFile string
	// CAFile holds the PEM certificates of the authorities that sign the endpoints' certificates. It replaces the system's authorities.
	CAFile string
	// Fingerprints are SHA-256 digests of acceptable server certificates, in hex with or without colons. Without CAFile
	// they replace the check of the chain and of the name; with it, both must hold.
	Fingerprints []string
	// Timeout bounds one exchange, from the first byte sent to the last received. 0 is 35 seconds, five more than
	// Proxmox waits for its own nodes.
	Timeout time.Duration
	// Grace bounds the time that a write that was sent still waits for its reply after the context of its call has ended. 0 is 25 seconds. A write that
	// was not sent by then is not sent at all.
	Grace time.Duration
	// ReadsPerNode and WritesPerNode bound the exchanges in flight for one node. 0 is 6 and 2. A node has three workers for reads; with 6
	// reads in flight, the next read already waits when a worker is free. A node has three workers for writes; one stays free for others.
	ReadsPerNode, WritesPerNode int
	// MayWrite, if set, is called immediately before each request that may change the cluster, after every wait and after the last check of
	// the call. If it returns an error, the request is not sent, and the error of the call wraps cluster.ErrWritesStopped.
	MayWrite func() error
	// OnRequest, if set, is called after each exchange, from the goroutine that waits for it.
	OnRequest func(cluster.Exchange)
	// Logger gets one debug line for each exchange, and a warning when an endpoint goes down or the current endpoint changes. nil discards.
	Logger *slog.Logger
	// Transport replaces the network, for a cluster in the same process. CAFile and Fingerprints then have no effect.
	Transport http.RoundTripper
}

// The defaults of Options.
const (
	defaultGrace         = 25 * time.Second
	defaultTimeout       = 35 * time.Second
	defaultReadsPerNode  = 6
	defaultWritesPerNode = 2
	defaultPort          = "8006"
)

// withDefaults returns o with defaults in place of zero values.
func (o Options) withDefaults() Options {
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Grace == 0 {
		o.Grace = defaultGrace
	}
	if o.ReadsPerNode == 0 {
		o.ReadsPerNode = defaultReadsPerNode
	}
	if o.WritesPerNode == 0 {
		o.WritesPerNode = defaultWritesPerNode
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MayWrite == nil {
		o.MayWrite = func() error { return nil }
	}
	if o.OnRequest == nil {
		o.OnRequest = func(cluster.Exchange) {}
	}
	return o
}

// checkLimits rejects limits under which no request would ever be sent.
func (o Options) checkLimits() error {
	if o.Timeout < 0 || o.Grace < 0 || o.ReadsPerNode < 0 || o.WritesPerNode < 0 {
		return errors.New("limits: timeout, grace, reads and writes per node cannot be negative")
	}
	return nil
}

// endpointURLs parses every endpoint and reports every invalid endpoint.
func (o Options) endpointURLs() ([]*url.URL, error) {
	if len(o.Endpoints) == 0 {
		return nil, errors.New("endpoints: none given")
	}
	var urls []*url.URL
	var problems []error
	for _, text := range o.Endpoints {
		endpoint, err := parseEndpoint(text)
		if err != nil {
			problems = append(problems, fmt.Errorf("proxmox.endpoints: %q: %w", text, err))
			continue
		}
		urls = append(urls, endpoint)
	}
	return urls, errors.Join(problems...)
}

// parseEndpoint accepts scheme, host and port and nothing else: a path or a user would be lost without an error.
func parseEndpoint(text string) (*url.URL, error) {
	parsed, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("not a URL, want https://host:8006")
	case parsed.Hostname() == "":
		return nil, errors.New("no host, want https://host:8006")
	case parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" || (parsed.Path != "" && parsed.Path != "/"):
		return nil, errors.New("want https://host:8006 without user, path and query")
	case parsed.Scheme == "http" && !loopback.IsHost(parsed.Hostname()):
		return nil, errors.New("http would send the token unencrypted, use https")
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return nil, fmt.Errorf("scheme %q, want https://host:8006", parsed.Scheme)
	}
	host := parsed.Host
	if parsed.Port() == "" {
		host = net.JoinHostPort(parsed.Hostname(), defaultPort)
	}
	return &url.URL{Scheme: parsed.Scheme, Host: host}, nil
}
