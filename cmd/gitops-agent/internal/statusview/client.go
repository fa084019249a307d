package statusview

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"
	"gitops-agent/internal/bounds"
	"gitops-agent/internal/loopback"
	"gitops-agent/internal/status/access"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
)

// maxStatus bounds the size of a status document. It is enough for more than 10,000 guests.
const maxStatus = 64 << 20 // bytes

// maxBeside bounds a document that is read beside those of other agents. It is enough for some hundred guests.
const maxBeside = 1 << 20 // bytes

// limits are those of a status document of 10,000 guests with 100 values each; a guest in sync has about 14, and each change 6. They keep the decoded document small: an
// empty object takes two bytes, and as a guest 440.
var limits = bounds.JSON{Bytes: maxStatus, Values: 1_000_000, Elements: 50_000, Depth: 64, Text: 1 << 20}

// Turns are shared by the clients of several agents, which are read at the same time: one of them after the other reads a large document, and decodes a document. So
// all of them together take about as much memory as the client of one agent.
type Turns struct{ turn chan struct{} }

// NewTurns returns turns that no client has.
func NewTurns() *Turns { return &Turns{make(chan struct{}, 1)} }

// take waits for a turn, and returns the function that ends it.
func (t *Turns) take(ctx context.Context) (end func(), err error) {
	select {
	case t.turn <- struct{}{}:
		return func() { <-t.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Target names an agent, and how to log in. The zero value is the agent of the config.
type Target struct {
	URL          string // http://host:port; "" is the agent of the config, without any of the others
	TokenFile    string // a file with the token
	User         string // a user of the web config file
	PasswordFile string // a file with the user's password
	CAFile       string // certificates that are trusted instead of those of the system
	CertFile     string // a client certificate
	KeyFile      string // its key
}

// A Client reads the status of a running agent.
type Client struct {
	url      string
	http     *http.Client
	token    string
	user     string
	password string
	turns    *Turns
}

// Sharing returns the client with turns that it shares with other clients.
func (c Client) Sharing(turns *Turns) Client {
	c.turns = turns
	return c
}

// NewClient returns a client for an agent. If the target has no URL, it reads the config and uses the socket in the state directory.
func NewClient(target Target, readConfig func() (agent.Config, error)) (Client, error) {
	config, err := target.clientTLS()
	if err != nil {
		return Client{}, err
	}
	client := Client{user: target.User}
	if target.URL == "" {
		err = client.setLocal(target, readConfig)
	} else {
		err = client.setURL(target, config)
	}
	if err != nil {
		return Client{}, err
	}
	if target.TokenFile != "" {
		client.token, err = agent.ReadToken("--token-file", target.TokenFile)
	}
	var passwordErr error
	client.password, passwordErr = agent.ReadToken("--password-file", target.PasswordFile)
	return client, errors.Join(err, passwordErr)
}

// clientTLS returns the TLS configuration of the flags, or nil without flags.
func (t Target) clientTLS() (*tls.Config, error) {
	if (t.CertFile == "") != (t.KeyFile == "") || (t.User == "") != (t.PasswordFile == "") {
		return nil, term.UsageErrorf("--cert-file and --key-file, and --user and --password-file, are required together")
	}
	if t.CAFile == "" && t.CertFile == "" {
		return nil, nil //nolint:nilnil // the defaults of the system
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		text, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("--ca-file: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("--ca-file: %s contains no certificate in PEM", t.CAFile)
		}
	}
	if t.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("--cert-file: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// setURL sets the address of --url. Credentials are sent in the clear only to this machine.
func (c *Client) setURL(target Target, config *tls.Config) error {
	address := target.URL
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return term.UsageErrorf("--url %q: want http://host:port", address)
	}
	if parsed.User != nil {
		return term.UsageErrorf("--url must not contain a password, which other users see in the list of processes: use --user and --password-file")
	}
	if hasCredentials := target.User != "" || target.TokenFile != ""; hasCredentials && parsed.Scheme == "http" && !loopback.IsHost(parsed.Hostname()) {
		return term.UsageErrorf("%s would get the token or password unencrypted: use https://, with a CA file if its certificate is of a private authority", address)
	}
	c.setServer(strings.TrimSuffix(strings.TrimSuffix(address, "/"), "/status.json"), config)
	return nil
}

// localHost stands for the agent of this host in the requests to its socket.
const localHost = "agent"

// setLocal sets the agent whose config is on this host: it is reached through the socket in its state directory, which needs no credentials.
func (c *Client) setLocal(target Target, readConfig func() (agent.Config, error)) error {
	if target != (Target{}) {
		return term.UsageErrorf("flags with credentials or certificates need --url: the agent of this host needs none")
	}
	config, err := readConfig()
	if errors.Is(err, fs.ErrNotExist) {
		return term.WithHint(err, "no config is needed with --url http://host:port of the agent")
	}
	if err != nil {
		return err
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dialLocal(ctx, config) }}
	c.url, c.http = "http://"+localHost, &http.Client{Transport: transport, CheckRedirect: sameHost}
	return nil
}

// dialLocal connects to the agent of a config on this host. Its errors have a remedy.
func dialLocal(ctx context.Context, config agent.Config) (net.Conn, error) {
	conn, err := access.DialSocket(ctx, config.StateDir)
	switch {
	case errors.Is(err, access.ErrNoAgent) && journal.InUse(config.JournalDir()):
		err = term.WithHint(err, "a program uses the state directory: an agent that starts answers soon, one that runs without the socket says why in its log and answers at --url, and run --once has none")
	case errors.Is(err, access.ErrNoAgent):
		err = term.WithHint(err, "start the agent of this host, or name an agent on another host with --url")
	case errors.Is(err, fs.ErrPermission):
		err = term.WithHint(err, "run this as root or as the owner of the state directory")
	}
	return conn, err
}

// setServer sets the address of the agent and how connections to it are encrypted.
func (c *Client) setServer(address string, config *tls.Config) {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSClientConfig: config, MaxResponseHeaderBytes: 64 << 10, IdleConnTimeout: 90 * time.Second,
	}
	c.url, c.http = address, &http.Client{Transport: transport, CheckRedirect: sameHost}
}

// Close closes the connections that no request uses.
func (c Client) Close() { c.http.CloseIdleConnections() }

// sameHost follows redirects to the same host alone, so that credentials reach no other one.
func sameHost(r *http.Request, via []*http.Request) error {
	if r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme || len(via) > 3 {
		return fmt.Errorf("%s redirects to %s, which is another server", via[0].URL.Host, r.URL.Host)
	}
	return nil
}

// Read returns the agent's newest report, parsed and as the agent sent it.
func (c Client) Read(ctx context.Context) (report.Document, []byte, error) {
	var document report.Document
	body, err := c.read(ctx, "/status.json", &document)
	return document, body, err
}

// ReadGuest returns a guest in full, parsed and as the agent sent it. The name is a vmid or KIND/NAME.
func (c Client) ReadGuest(ctx context.Context, name string) (report.GuestDocument, []byte, error) {
	var document report.GuestDocument
	body, err := c.read(ctx, "/status.json?"+url.Values{"guest": {name}}.Encode(), &document)
	switch {
	case errors.Is(err, errNotFound):
		return document, nil, term.WithHint(fmt.Errorf("the agent knows no guest %s", term.Printable(name)), "gitops-agent status lists the guests; name one as KIND/NAME, by its vmid, or by a name that no other guest has")
	case err == nil && document.Guest.Name == "":
		return document, nil, errors.New("the agent is older than this program and shows no single guest; its status page may have one: guests/VMID")
	}
	return document, body, err
}

// errNotFound means that the agent answered 404.
var errNotFound = errors.New("404 Not Found")

// maxTime bounds the time of one request, in which a client waits for no other client.
const maxTime = 10 * time.Second

// read reads a document. Its errors name what was done and a remedy. A large document is requested again when it is the turn of this client.
func (c Client) read(ctx context.Context, path string, document any) ([]byte, error) {
	body, err := c.readInTurn(ctx, path, document)
	if err == nil {
		return body, nil
	}
	err = fmt.Errorf("read the status of the agent: %w", err)
	if _, hinted := term.Hint(err); hinted {
		return nil, err
	}
	return nil, term.WithHint(err, "check that the agent is running at this address")
}

func (c Client) readInTurn(ctx context.Context, path string, document any) ([]byte, error) {
	if c.turns == nil {
		body, err := c.get(ctx, path, maxStatus)
		if err != nil {
			return nil, err
		}
		return body, c.decode(body, path, document)
	}
	body, err := c.get(ctx, path, maxBeside)
	isLarge := errors.Is(err, errLarge)
	if err != nil && !isLarge {
		return nil, err
	}
	end, err := c.turns.take(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	if isLarge {
		if body, err = c.get(ctx, path, maxStatus); err != nil {
			return nil, err
		}
	}
	return body, c.decode(body, path, document)
}

// errLarge means that a document is larger than the limit.
var errLarge = fmt.Errorf("the reply is %w", bounds.ErrExceeded)

// get requests a document of at most limit bytes.
func (c Client) get(ctx context.Context, path string, limit int64) ([]byte, error) {
	return c.request(ctx, http.MethodGet, path, limit)
}

// request sends a request, and returns its reply of at most limit bytes.
func (c Client) request(ctx context.Context, method, path string, limit int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept-Encoding", "gzip") // and not by net/http, which reads compressed data of no length without a bound
	switch {
	case c.token != "":
		request.Header.Set("Authorization", "Bearer "+c.token)
	case c.user != "":
		request.SetBasicAuth(c.user, c.password)
	}
	reply, err := c.http.Do(request)
	if local := new(url.Error); errors.As(err, &local) && request.URL.Host == localHost {
		err = local.Err // the address means nothing to people
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = reply.Body.Close() }()
	switch reply.StatusCode {
	case http.StatusOK, http.StatusAccepted:
	case http.StatusUnauthorized:
		return nil, term.WithHint(fmt.Errorf("%s returned %s", request.URL, reply.Status), "log in with --token-file, or with --user and --password-file")
	case http.StatusNotFound:
		return nil, fmt.Errorf("%s returned %w", request.URL, errNotFound)
	default:
		return nil, fmt.Errorf("%s returned %s", request.URL, reply.Status)
	}
	content := io.LimitReader(reply.Body, limit+1)
	if reply.Header.Get("Content-Encoding") == "gzip" {
		if content, err = gzip.NewReader(io.LimitReader(reply.Body, limit)); err != nil {
			return nil, fmt.Errorf("unpack the reply: %w", err)
		}
	}
	body, err := io.ReadAll(io.LimitReader(content, limit+1))
	if err == nil && int64(len(body)) > limit {
		err = errLarge
	}
	if err != nil {
		return nil, err
	}
	return body, nil
}

// decode reads a document within the limits.
func (c Client) decode(body []byte, path string, document any) error {
	var version struct {
		SchemaVersion int `json:"schemaVersion"`
	}
	if err := errors.Join(limits.Unmarshal(body, document), limits.Unmarshal(body, &version)); err != nil {
		return fmt.Errorf("%s is not a status of a gitops-agent: %w", c.url+path, err)
	}
	if version.SchemaVersion != report.SchemaVersion {
		return fmt.Errorf("%s has schemaVersion %d, and this program reads %d", c.url+path, version.SchemaVersion, report.SchemaVersion)
	}
	return nil
}
