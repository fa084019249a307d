// Package outbound sends requests to services outside the cluster, such as a forge or a chat. A request may carry a token: it follows no redirect, which
// would take the token to another host, and reads a bounded part of the reply.
package outbound

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	"gitops-agent/internal/loopback"
)

// Bounds of what is read, in bytes.
const (
	maxAuthorities = 1 << 20
	maxReply       = 64 << 10
	maxHeaders     = 64 << 10
)

// Authorities returns the certificate authorities of the system and those of a file, or nil, which means those of the system, without a file.
func Authorities(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // nil is the authorities of the system
	}
	opened, err := os.Open(file) //nolint:gosec // the operator chooses the path
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }()
	text, err := io.ReadAll(io.LimitReader(opened, maxAuthorities+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxAuthorities {
		return nil, fmt.Errorf("%s is larger than 1 MiB, want certificates in PEM form", file)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("read the authorities of the system: %w", err)
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s contains no certificate in PEM form, as in -----BEGIN CERTIFICATE-----", file)
	}
	return pool, nil
}

// TLS returns the configuration of a connection that trusts the authorities of the system and of a file, "" for none.
func TLS(caFile string) (*tls.Config, error) {
	pool, err := Authorities(caFile)
	if err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}, nil
}

// IsExposed reports whether others on the network could read what is sent to a URL.
func IsExposed(u *url.URL) bool { return u.Scheme == "http" && !loopback.IsHost(u.Hostname()) }

// Send sends a request over a new connection, and returns the status of the reply.
func Send(r *http.Request, caFile string) (status int, err error) {
	reply, err := Exchange(r, caFile, maxReply)
	if reply.Status != 0 { // the rest of the reply does not matter
		err = nil
	}
	return reply.Status, err
}

// ErrTooLong is returned for a reply that is longer than its bound.
var ErrTooLong = errors.New("the reply is too long")

// Reply is the answer of a service.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// Exchange sends a request over a new connection, and returns the reply. It fails with ErrTooLong, and the beginning of the reply, if the reply has more bytes
// than limit.
func Exchange(r *http.Request, caFile string, limit int64) (Reply, error) {
	config, err := TLS(caFile)
	if err != nil {
		return Reply{}, err
	}
	transport := &http.Transport{TLSClientConfig: config, Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeaders}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(r)
	if err != nil {
		return Reply{}, err
	}
	defer func() { _ = response.Body.Close() }()
	reply := Reply{Status: response.StatusCode, Header: response.Header}
	reply.Body, err = io.ReadAll(io.LimitReader(response.Body, limit+1))
	switch {
	case err != nil:
		return reply, fmt.Errorf("read the reply: %w", err)
	case int64(len(reply.Body)) > limit:
		reply.Body = reply.Body[:limit]
		return reply, ErrTooLong
	}
	return reply, nil
}

// Succeeded reports whether a status is 2xx.
func Succeeded(status int) bool { return status >= 200 && status < 300 }

// IsTemporary reports whether another attempt may help after a status: 408, 429 and 5xx.
func IsTemporary(status int) bool {
	return status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooManyRequests
}
