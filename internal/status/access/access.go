package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// Reason states why a request was refused. It is a label of metrics.
type Reason string

// Reasons for which a request is refused.
const (
	RefusedHost        Reason = "host"        // its Host header is not a name of this agent
	RefusedCredentials Reason = "credentials" // it has no valid token or password
	RefusedRate        Reason = "rate"        // the rate limit of the web config file is reached
)

// Reasons lists every reason, for metrics that start at zero.
func Reasons() []Reason { return []Reason{RefusedHost, RefusedCredentials, RefusedRate} }

// Options configures Access. The zero value serves plain HTTP on loopback to everyone on the host.
type Options struct {
	// Listen is the address on which the agent listens, host:port.
	Listen string
	// WebConfigFile is a file with TLS, users and headers in the format of Prometheus' exporters. "" is none.
	WebConfigFile string
	// Token returns the token that a request can contain instead of a user and a password. Each request calls it, so that it can be rotated. nil, or "",
	// is none.
	Token func() (string, error)
	// Hosts are further names that requests may use for this host, without ports.
	Hosts []string
	// Unauthenticated permits that everyone who reaches an address other than loopback reads the status.
	Unauthenticated bool
	// OnRefuse is called for every request that is refused. nil does nothing.
	OnRefuse func(Reason)
	// Logger logs refused requests at a bounded rate, and a file that cannot be used. Default: no log.
	Logger *slog.Logger
}

// Access decides which requests are answered. It is safe for concurrent use.
type Access struct {
	opts  Options
	hosts hosts
	file  *webConfigFile // nil without a file
	logs  *rate.Limiter
}

// New reads the files, and returns an error if one of them is not valid, or if everyone on the network could read the status and opts does not say
// that this is intended.
func New(opts Options) (*Access, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.OnRefuse == nil {
		opts.OnRefuse = func(Reason) {}
	}
	if opts.Token == nil {
		opts.Token = func() (string, error) { return "", nil }
	}
	a := &Access{opts: opts, logs: rate.NewLimiter(rate.Every(time.Minute), 3)}
	var hostErr, fileErr error
	a.hosts, hostErr = newHosts(opts.Listen, opts.Hosts)
	if opts.WebConfigFile != "" {
		a.file, fileErr = openWebConfigFile(opts.WebConfigFile, opts.Logger)
	}
	token, tokenErr := opts.Token()
	var openErr error
	if isKnown := fileErr == nil && tokenErr == nil; isKnown && !a.hosts.loopback && !opts.Unauthenticated && token == "" && !a.file.authenticates() {
		openErr = &OpenError{opts.Listen}
	}
	if err := errors.Join(openErr, hostErr, fileErr, tokenErr); err != nil {
		return nil, err
	}
	return a, nil
}

// OpenError means that everyone who reaches an address could read the status.
type OpenError struct{ Listen string }

func (e *OpenError) Error() string {
	return fmt.Sprintf("listen: everyone who reaches %s could read the status: set status.token_file or status.web_config_file, or listen on 127.0.0.1; "+
		"if only trusted hosts reach this address, status.unauthenticated: true permits it", e.Listen)
}

// Listener returns a listener that serves TLS on a listener, if the web config file says so.
func (a *Access) Listener(plain net.Listener) net.Listener { return a.file.listener(plain) }

// Exempt lists paths that Handler treats in another way than all others.
type Exempt struct {
	// Probes are answered for every Host header, since orchestrators use addresses. Without credentials they get the status alone, without the reasons.
	Probes []string
	// Own are answered for every Host header and without credentials: they have a check of their own.
	Own []string
}

// Handler returns a handler that answers what next answers, to requests that are allowed to read it. It answers 421 to a wrong Host header, 401
// without credentials, and 429 above the rate of the web config file.
func (a *Access) Handler(next http.Handler, exempt Exempt) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		settings := a.file.current()
		settings.setHeaders(w.Header())
		probe, own := slices.Contains(exempt.Probes, r.URL.Path), slices.Contains(exempt.Own, r.URL.Path)
		switch {
		case !settings.rate.Allow():
			a.refuse(r, RefusedRate)
			http.Error(w, "too many requests: rate_limit of the web config file", http.StatusTooManyRequests)
		case own:
			next.ServeHTTP(w, r)
		case !probe && !a.hosts.allow(r.Host):
			a.refuse(r, RefusedHost)
			http.Error(w, fmt.Sprintf("%q is not a name of this agent: add it to status.hosts in the config of the agent", r.Host), http.StatusMisdirectedRequest)
		case a.isAllowed(r, settings):
			next.ServeHTTP(w, r)
		case probe:
			next.ServeHTTP(&statusOnly{ResponseWriter: w}, r)
		default:
			a.refuse(r, RefusedCredentials)
			for _, scheme := range a.schemes(settings) {
				w.Header().Add("WWW-Authenticate", scheme)
			}
			http.Error(w, "a user and a password, or a token, are required", http.StatusUnauthorized)
		}
	})
}

// isAllowed reports whether the request contains valid credentials, or none are required.
func (a *Access) isAllowed(r *http.Request, settings *webConfig) bool {
	token, err := a.opts.Token()
	if err != nil && a.logs.Allow() {
		a.opts.Logger.WarnContext(r.Context(), "token of the status page not read", "error", err)
	}
	if err == nil && token == "" && len(settings.Users) == 0 {
		return true
	}
	if HasBearer(r.Header, token) {
		return true
	}
	user, password, given := r.BasicAuth()
	return given && settings.users.check(user, password)
}

// schemes returns the values of WWW-Authenticate.
func (a *Access) schemes(settings *webConfig) []string {
	var schemes []string
	if len(settings.Users) > 0 {
		schemes = append(schemes, `Basic realm="gitops-agent", charset="UTF-8"`)
	}
	if token, err := a.opts.Token(); token != "" || err != nil {
		schemes = append(schemes, `Bearer realm="gitops-agent"`)
	}
	return schemes
}

func (a *Access) refuse(r *http.Request, reason Reason) {
	a.opts.OnRefuse(reason)
	if a.logs.Allow() {
		a.opts.Logger.WarnContext(r.Context(), "request to the status page refused", "reason", reason, "host", r.Host, "remote", r.RemoteAddr)
	}
}

// HasBearer reports whether the header Authorization contains the token. Its duration does not depend on the token. No request contains the token "".
func HasBearer(header http.Header, token string) bool {
	scheme, given, _ := strings.Cut(header.Get("Authorization"), " ")
	return IsToken(given, token) && strings.EqualFold(scheme, "Bearer")
}

// IsToken reports whether a token that a request contains is the right one. Its duration does not depend on the token. No request contains the token "".
func IsToken(given, token string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && token != ""
}

// statusOnly replaces the body of a reply by "ok" or "not ok".
type statusOnly struct {
	http.ResponseWriter
	written bool
	failed  bool
}

func (s *statusOnly) WriteHeader(status int) {
	s.failed = status != http.StatusOK
	s.ResponseWriter.WriteHeader(status)
}

func (s *statusOnly) Write(data []byte) (int, error) {
	if s.written {
		return len(data), nil
	}
	s.written = true
	text := "ok\n"
	if s.failed {
		text = "not ok\n"
	}
	_, err := s.ResponseWriter.Write([]byte(text))
	return len(data), err
}
