package pvesim

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// Serve answers calls on the listener until ctx ends, over TLS if config is not nil. It closes the listener. Calls in flight when ctx ends are
// cut off. Like the real server it supports only HTTP/1.1, and it closes a connection that is idle for 5 s or has carried a hundred calls.
func (s *Sim) Serve(ctx context.Context, l net.Listener, config *tls.Config) error {
	srv := &http.Server{
		Handler: http.HandlerFunc(s.serveConnection),
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, servedKey{}, new(atomic.Int32))
		},
		ReadHeaderTimeout: 30 * time.Second,
		IdleTimeout:       5 * time.Second,
		TLSConfig:         config,
		TLSNextProto:      map[string]func(*http.Server, *tls.Conn, http.Handler){}, // no HTTP/2
		ErrorLog:          log.New(io.Discard, "", 0),                               // dropped connections are intended
	}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	var err error
	if config != nil {
		err = srv.ServeTLS(l, "", "")
	} else {
		err = srv.Serve(l)
	}
	if errors.Is(err, http.ErrServerClosed) && ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("serve the API: %w", err)
}

// maxServed is the number of calls after which the server closes a connection.
const maxServed = 100

// servedKey is the context key of the number of calls that a connection has carried.
type servedKey struct{}

// serveConnection counts the calls of a connection and closes the connection after the last one.
func (s *Sim) serveConnection(w http.ResponseWriter, r *http.Request) {
	if n, ok := r.Context().Value(servedKey{}).(*atomic.Int32); ok && n.Add(1) >= maxServed {
		w.Header().Set("Connection", "close")
	}
	s.ServeHTTP(w, r)
}

// Certificate is a self-signed server certificate, created at start as on a new node.
type Certificate struct {
	Config      *tls.Config // for Serve
	PEM         []byte      // the certificate, for a client's pool of roots
	Fingerprint string      // SHA-256, upper-case hex with colons, as Proxmox shows it
}

// NewCertificate returns a certificate for localhost, the loopback addresses and the given names, valid for a day.
func NewCertificate(names ...string) (*Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate key: %w", err)
	}
	now := time.Now()
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "pvesim"}, NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(1, 0, 0),
		DNSNames: append([]string{"localhost"}, names...), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("create certificate: %w", err)
	}
	sum := sha256.Sum256(der)
	hexes := make([]string, len(sum))
	for i, b := range sum {
		hexes[i] = fmt.Sprintf("%02X", b)
	}
	return &Certificate{
		Config:      &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12},
		PEM:         pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Fingerprint: strings.Join(hexes, ":"),
	}, nil
}
