package remote

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// A Config is one place that serves the branch. The files are read at each fetch, so that secrets can be rotated while the
// agent runs. Their content is never logged.
type Config struct {
	// URL is https://host/path, ssh://user@host[:port]/path, user@host:path, file:///path or an absolute path. It must
	// not contain a password. A file remote needs the git program.
	URL string
	// Username is the user for the token (default "x-access-token"), or the ssh user (default "git"). The user in an ssh
	// URL overrides it.
	Username string
	// TokenFile contains the password or access token for https, on one line.
	TokenFile string
	// SSHKeyFile contains the private key for ssh, without a passphrase. Required for ssh.
	SSHKeyFile string
	// KnownHostsFile contains the host keys that ssh accepts, in OpenSSH's format. Required for ssh.
	KnownHostsFile string
	// CAFile contains PEM certificates of authorities that https accepts in addition to those of the system.
	CAFile string
	// AllowInsecure permits http:// to the loopback addresses of this machine. Tests and port forwards need it.
	AllowInsecure bool
}

// A Remote is a validated Config.
type Remote struct {
	conf   Config
	scheme string   // https, http, ssh or file
	url    *url.URL // without user information for http and https
	Name   string   // the URL without secrets, for messages

	// UploadPack serves a file remote; nil is the git program.
	UploadPack UploadPack
}

// UploadPack serves the repository in a directory as git upload-pack does: it writes the refs to out, reads one request from in and writes the pack, in
// protocol version 0.
type UploadPack func(ctx context.Context, dir string, in io.Reader, out io.Writer) error

// scpLike matches the short form of ssh URLs, user@host:path.
var scpLike = regexp.MustCompile(`^(?:([A-Za-z0-9._-]+)@)?([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(.*)$`)

// Parse parses a remote's URL and refuses unsafe ones. Its errors never contain the URL, which may contain a secret.
func Parse(conf Config) (Remote, error) {
	u, err := parseURL(conf.URL)
	if err != nil {
		return Remote{}, err
	}
	r := Remote{conf: conf, scheme: u.Scheme, url: u}
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
	r.Name = redactURL(u)
	return r, err
}

// parseURL reads URLs, the short form of ssh and absolute paths.
func parseURL(s string) (*url.URL, error) {
	switch {
	case s == "":
		return nil, errors.New("URL is required")
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
	if m == nil || strings.HasPrefix(m[3], ":") { // in git, ext::command and similar forms run programs
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
		return errors.New("credentials in the URL: use the remote's username and a token file instead")
	case u.Hostname() == "":
		return errors.New("no host in the URL")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("query or fragment in the URL")
	}
	return nil
}

func checkLoopback(conf Config, u *url.URL) error {
	host := u.Hostname()
	ip := net.ParseIP(host)
	loopback := host == "localhost" || ip != nil && ip.IsLoopback()
	if !conf.AllowInsecure || !loopback {
		return errors.New("http:// is not encrypted and not authenticated: use https, ssh or file")
	}
	return nil
}

func (r *Remote) checkSSH() error {
	_, hasPassword := r.url.User.Password()
	switch {
	case hasPassword:
		return errors.New("credentials in the URL: use a private key in an ssh key file instead")
	case r.url.Hostname() == "":
		return errors.New("no host in the URL")
	case strings.Trim(r.url.Path, "/") == "":
		return errors.New("no path in the URL")
	case r.conf.KnownHostsFile == "":
		return errors.New("ssh needs a known hosts file: ssh-keyscan prints its lines; compare them with the keys on the host")
	case r.conf.SSHKeyFile == "":
		return errors.New("ssh needs a private key file")
	}
	return nil
}

func checkFile(u *url.URL) error {
	switch {
	case u.Host != "" && u.Host != "localhost":
		return errors.New("a file URL must not name a host: want file:///path")
	case !path.IsAbs(u.Path):
		return errors.New("a file remote needs an absolute path")
	}
	return nil
}

// redactURL returns the URL without passwords, query and fragment. It also removes user names of https, which can be tokens.
func redactURL(u *url.URL) string {
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if u.Scheme == "ssh" && u.User != nil {
		shown.User = url.User(u.User.Username())
	}
	if u.Scheme == "ssh" && !path.IsAbs(u.Path) { // relative to the home directory, as in git@host:path
		shown.Path = "/~/" + u.Path
	}
	return shown.String()
}

// ErrPassphrase means that the private key for ssh has a passphrase, which the agent cannot type.
var ErrPassphrase = errors.New("the key has a passphrase: use a key without a passphrase")
