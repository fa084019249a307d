package remote

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"gitops-agent/gitsource/fault"
)

const infoRefs = "/info/refs"

// An httpSession speaks the smart HTTP protocol: one GET for the refs, one POST for the pack.
type httpSession struct {
	client      *http.Client
	base        *url.URL // of the repository; a redirect on the same host changes it
	user, token string
	remaining   *int64
	meter       meter
	bodies      []io.ReadCloser
}

func dialHTTP(r Remote, remaining *int64) (Session, error) {
	roots, err := r.rootCAs()
	if err != nil {
		return nil, fault.New(fault.Local, err)
	}
	token, err := r.token()
	if err != nil {
		return nil, fault.New(fault.Local, err)
	}
	s := &httpSession{base: r.url, user: cmp.Or(r.conf.Username, "x-access-token"), token: token, remaining: remaining}
	s.client = &http.Client{
		CheckRedirect: checkRedirect,
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            s.meter.dial,
			TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    connectTimeout,
			MaxResponseHeaderBytes: 64 << 10,
			ForceAttemptHTTP2:      true,
		},
	}
	return s, nil
}

// rootCAs returns the authorities of the system and of the CA file. Nil means only those of the system.
func (r Remote) rootCAs() (*x509.CertPool, error) {
	if r.conf.CAFile == "" {
		return nil, nil
	}
	pem, err := ReadSmallFile(r.conf.CAFile)
	if err != nil {
		return nil, fmt.Errorf("read certificate authorities: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read certificate authorities: %s contains no PEM certificate", r.conf.CAFile)
	}
	return pool, nil
}

// token returns the one line of the token file, or "" if there is no file.
func (r Remote) token() (string, error) {
	if r.conf.TokenFile == "" {
		return "", nil
	}
	data, err := ReadSmallFile(r.conf.TokenFile)
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	token := strings.TrimRight(string(data), "\r\n")
	if token == "" || strings.ContainsAny(token, "\r\n") {
		return "", fmt.Errorf("read token: %s must contain exactly one line", r.conf.TokenFile)
	}
	return token, nil
}

// checkRedirect allows redirects only for the refs and only within one origin. Forges redirect renamed repositories so.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case first.Method != http.MethodGet:
		return errors.New("the request for the pack was redirected, which is not allowed")
	case len(via) > 5:
		return errors.New("more than 5 redirects")
	case req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host:
		return fmt.Errorf("redirected to another host, %s: configure that host if it is correct", req.URL.Host)
	case !strings.HasSuffix(req.URL.Path, infoRefs):
		return errors.New("redirected to a URL that is not a git repository")
	}
	return nil
}

func (s *httpSession) refs(ctx context.Context) (io.Reader, error) {
	u := s.base.JoinPath(infoRefs)
	u.RawQuery = "service=git-upload-pack"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	body, from, err := s.do(req, "advertisement")
	if err != nil {
		return nil, err
	}
	if moved := *from; moved.Path != u.Path {
		moved.Path, moved.RawPath, moved.RawQuery = strings.TrimSuffix(moved.Path, infoRefs), "", ""
		s.base = &moved
	}
	return body, nil
}

func (s *httpSession) send(ctx context.Context, request []byte, _ bool) (io.Reader, error) {
	s.finish()
	u := s.base.JoinPath("git-upload-pack")
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(request))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-git-upload-pack-request")
	body, _, err := s.do(req, "result")
	return body, err
}

// do sends req and checks that the reply is from a git server. It returns the body and the URL after redirects.
func (s *httpSession) do(req *http.Request, kind string) (io.Reader, *url.URL, error) {
	req.Header.Set("User-Agent", "git/gitops-agent") // some servers serve git only to clients whose name begins with git
	req.Header.Set("Git-Protocol", protocol)
	if s.token != "" {
		req.SetBasicAuth(s.user, s.token)
	}
	res, err := s.client.Do(req) //nolint:bodyclose // end closes it
	if err != nil {
		return nil, nil, cmp.Or(s.meter.err(), withoutURL(err))
	}
	s.bodies = append(s.bodies, res.Body)
	if res.StatusCode != http.StatusOK {
		return nil, nil, statusError(res.StatusCode, s.token != "")
	}
	got, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if want := "application/x-git-upload-pack-" + kind; got != want {
		return nil, nil, fmt.Errorf("the reply is not from a git repository: got content type %q, want %q", got, want)
	}
	return &budgetReader{res.Body, s.remaining, &s.meter}, res.Request.URL, nil
}

// withoutURL removes the request's URL from an error of net/http. RemoteError names the remote.
func withoutURL(err error) error {
	var inner *url.Error
	if errors.As(err, &inner) {
		return inner.Err
	}
	return err
}

// statusError returns the error for an HTTP status other than 200, with the likely cause.
func statusError(code int, withToken bool) error {
	hint := ""
	switch {
	case (code == http.StatusUnauthorized || code == http.StatusForbidden) && !withToken:
		hint = ": the server requires credentials and no token file is configured"
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		hint = ": the server does not accept the token, or the token may not read this repository"
	case code == http.StatusNotFound:
		hint = ": the repository does not exist, or these credentials may not read it"
	}
	return fault.New(fault.OfStatus(code), fmt.Errorf("HTTP status %d %s%s", code, http.StatusText(code), hint))
}

// maxRest bounds what is read of a reply behind its last packet, in bytes. A server sends nothing there.
const maxRest = 1 << 10

// finish reads the replies to their ends and closes them, so that the next request takes the same connection.
func (s *httpSession) finish() {
	for _, b := range s.bodies {
		_, _ = io.CopyN(io.Discard, b, maxRest) // of a reply with an error or with more, the connection is closed
		_ = b.Close()
	}
	s.bodies = nil
}

func (s *httpSession) End() string {
	for _, b := range s.bodies {
		_ = b.Close()
	}
	s.client.CloseIdleConnections()
	return ""
}
