package gitsource

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// A Remote is one place that serves the branch. Files are read at each fetch, so that secrets can be rotated under a
// running agent; they are never logged.
type Remote struct {
	// URL is https://host/path, ssh://user@host[:port]/path, user@host:path, file:///path or an absolute path. It
	// holds no password. A file remote needs the git program.
	URL string
	// Username goes with the token (default "x-access-token") or is the ssh user, unless the URL names one (default
	// "git").
	Username string
	// TokenFile holds the password or access token for https, on one line.
	TokenFile string
	// SSHKeyFile holds the private key for ssh, without a passphrase. ssh needs it.
	SSHKeyFile string
	// KnownHostsFile holds the host keys that ssh accepts, as OpenSSH writes them. ssh needs it.
	KnownHostsFile string
	// CAFile holds PEM certificates of authorities that https accepts besides the system's.
	CAFile string
	// AllowInsecure permits http:// to this machine's loopback addresses; tests and port forwards need it.
	AllowInsecure bool
}

// A remote is a Remote whose URL was understood.
type remote struct {
	conf   Remote
	scheme string   // https, http, ssh or file
	url    *url.URL // without user information for http and https
	name   string   // the URL as it may be shown
}

var scpLike = regexp.MustCompile(`^(?:([A-Za-z0-9._-]+)@)?([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(.*)$`)

// parseRemote understands a remote's URL and refuses what would be unsafe. Its errors never hold the URL, which may
// hold a secret.
func parseRemote(conf Remote) (remote, error) {
	u, err := parseURL(conf.URL)
	if err != nil {
		return remote{}, err
	}
	r := remote{conf: conf, scheme: u.Scheme, url: u}
	switch u.Scheme {
	case "https":
		err = checkHTTP(u)
	case "http":
		err = errors.Join(checkHTTP(u), checkLoopback(conf, u))
	case "ssh":
		err = r.checkSSH()
	case "file":
		err = checkFile(u)
	case "git":
		err = errors.New("git:// is not authenticated: use https, ssh or file")
	default:
		err = errors.New("unknown scheme: use https, ssh or file")
	}
	r.name = showURL(u)
	return r, err
}

// parseURL reads URLs, the short form of ssh and absolute paths.
func parseURL(s string) (*url.URL, error) {
	switch {
	case s == "":
		return nil, errors.New("no URL")
	case strings.HasPrefix(s, "/"):
		return &url.URL{Scheme: "file", Path: s}, nil
	case strings.Contains(s, "://"):
		u, err := url.Parse(s)
		if err != nil { // the error would repeat the URL
			return nil, errors.New("malformed URL")
		}
		u.Scheme = strings.ToLower(u.Scheme)
		return u, nil
	}
	m := scpLike.FindStringSubmatch(s)
	if m == nil || strings.HasPrefix(m[3], ":") { // ext::command and its like run programs
		return nil, errors.New("neither a URL nor an absolute path")
	}
	u := &url.URL{Scheme: "ssh", Host: m[2], Path: m[3]}
	if m[1] != "" {
		u.User = url.User(m[1])
	}
	return u, nil
}

func checkHTTP(u *url.URL) error {
	switch {
	case u.User != nil:
		return errors.New("credentials in the URL: put the user name into the remote's username and the token into a token file")
	case u.Hostname() == "":
		return errors.New("no host in the URL")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("query or fragment in the URL")
	}
	return nil
}

func checkLoopback(conf Remote, u *url.URL) error {
	host := u.Hostname()
	ip := net.ParseIP(host)
	loopback := host == "localhost" || ip != nil && ip.IsLoopback()
	if !conf.AllowInsecure || !loopback {
		return errors.New("http:// is neither private nor authenticated: use https, ssh or file")
	}
	return nil
}

func (r *remote) checkSSH() error {
	_, hasPassword := r.url.User.Password()
	switch {
	case hasPassword:
		return errors.New("credentials in the URL: put the private key into an ssh key file")
	case r.url.Hostname() == "":
		return errors.New("no host in the URL")
	case strings.Trim(r.url.Path, "/") == "":
		return errors.New("no path in the URL")
	case r.conf.KnownHostsFile == "":
		return errors.New("ssh needs a known hosts file (ssh-keyscan prints lines for one: compare them with the host's)")
	case r.conf.SSHKeyFile == "":
		return errors.New("ssh needs a private key file")
	}
	return nil
}

func checkFile(u *url.URL) error {
	switch {
	case u.Host != "" && u.Host != "localhost":
		return errors.New("a file URL names no host: file:///path")
	case !path.IsAbs(u.Path):
		return errors.New("a file remote needs an absolute path")
	}
	return nil
}

// showURL is the URL without passwords, query and fragment; https user names go as well, since tokens stand there too.
func showURL(u *url.URL) string {
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if u.Scheme == "ssh" && u.User != nil {
		shown.User = url.User(u.User.Username())
	}
	if u.Scheme == "ssh" && !path.IsAbs(u.Path) { // relative to the home directory, as in git@host:path
		shown.Path = "/~/" + u.Path
	}
	return shown.String()
}

// A RemoteError says which remote could not serve the branch. It matches ErrUnreachable.
type RemoteError struct {
	Remote string // the URL without secrets
	Err    error
}

// ErrUnreachable says that no remote could serve the branch, for whatever reason: network, credentials, a missing
// branch, a malformed or incomplete reply. What was fetched before is as good as ever. Errors that do not match it are
// this machine's: the disk, the store, a cancelled context.
var ErrUnreachable = errors.New("no remote can serve the branch")

// Error is the message on one line: remotes put text of their choice into it.
func (e *RemoteError) Error() string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, fmt.Sprintf("fetch %s: %v", e.Remote, e.Err))
}

// Unwrap gives both the cause and ErrUnreachable to errors.Is and errors.As.
func (e *RemoteError) Unwrap() []error { return []error{e.Err, ErrUnreachable} }
