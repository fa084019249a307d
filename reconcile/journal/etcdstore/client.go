package etcdstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"gitops-agent/reconcile/journal"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// Times of requests.
const (
	dialTimeout    = 5 * time.Second
	requestTimeout = 5 * time.Second        // of a reading; a change is tried again as long as the lease lasts
	attemptTimeout = 2 * time.Second        // of one try of a change, or of the renewal of the lease
	pause          = 200 * time.Millisecond // between two tries
)

// Options are the address of an etcd and how to enter. Endpoints and Prefix are required.
type Options struct {
	Endpoints    []string // https://10.0.0.11:2379
	Prefix       string   // of all keys, "/gitops-agent/home"
	CAFile       string   // authorities of the servers; "" trusts those of the system
	CertFile     string   // certificate of this client, with KeyFile
	KeyFile      string
	Username     string
	PasswordFile string
}

// Client is a connection to etcd. It may be used from several goroutines.
type Client struct {
	etcd   *clientv3.Client
	login  *clientv3.Client // asks for tokens; nil without a user
	prefix string
}

// Open returns a client. It needs no answer of etcd, and connects when it is used.
func Open(opts Options) (*Client, error) {
	config := clientv3.Config{
		Endpoints: opts.Endpoints, DialTimeout: dialTimeout, DialKeepAliveTime: 5 * time.Second, DialKeepAliveTimeout: 3 * time.Second,
		Username: opts.Username, Logger: zap.NewNop(), RejectOldCluster: false,
	}
	var err error
	if config.TLS, err = opts.tls(); err != nil {
		return nil, err
	}
	if opts.PasswordFile != "" {
		password, err := os.ReadFile(opts.PasswordFile)
		if err != nil {
			return nil, fmt.Errorf("read the password of etcd: %w", err)
		}
		config.Password = strings.TrimRight(string(password), "\r\n")
	}
	c := &Client{prefix: strings.TrimRight(opts.Prefix, "/") + "/"}
	if config.Username != "" {
		err = c.openAs(config)
	} else {
		c.etcd, err = clientv3.New(config)
	}
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	return c, nil
}

// tls returns the settings for endpoints that begin with https, nil if no option needs them.
func (o Options) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read the authorities of etcd: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read the authorities of etcd: %s contains no certificate", o.CAFile)
		}
	}
	if o.CertFile != "" {
		// Read again at each connection, so that a renewed certificate counts.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
			return &pair, err
		}
		if _, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile); err != nil {
			return nil, fmt.Errorf("read the certificate for etcd: %w", err)
		}
	}
	for _, endpoint := range o.Endpoints {
		if strings.HasPrefix(endpoint, "https://") {
			return config, nil
		}
	}
	return nil, nil //nolint:nilnil // no TLS is no error
}

// Close ends the connections.
func (c *Client) Close() error {
	if c.login != nil {
		return errors.Join(c.etcd.Close(), c.login.Close())
	}
	return c.etcd.Close()
}

func (c *Client) key(name string) string { return c.prefix + name }

// get reads one key.
func (c *Client) get(ctx context.Context, name string) (value string, found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	reply, err := c.etcd.Get(ctx, c.key(name))
	if err != nil {
		return "", false, requestError("read "+name, err)
	}
	if len(reply.Kvs) == 0 {
		return "", false, nil
	}
	return string(reply.Kvs[0].Value), true, nil
}

// requestError wraps an error of a request. All of them mean that etcd did not do what was asked: no connection, no quorum, no permission, no space.
func requestError(what string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("no answer in time; is there a quorum?")
	}
	return fmt.Errorf("%w: %s: %w", meaning(err), what, err)
}

// meaning returns what a failed request says about etcd.
func meaning(err error) error {
	switch {
	case errors.Is(err, rpctypes.ErrNoSpace):
		return journal.ErrStoreFull
	case errors.Is(err, rpctypes.ErrPermissionDenied), errors.Is(err, rpctypes.ErrAuthFailed), errors.Is(err, rpctypes.ErrUserEmpty):
		return journal.ErrStoreDenied
	}
	return journal.ErrUnreachable
}
