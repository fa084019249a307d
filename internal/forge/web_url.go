// Package forge knows what forges differ in: how a request to their API names a repository and carries a token, and where they show a repository.
package forge

import (
	"net/url"
	"strings"
)

// sshHosts are hosts that serve ssh on the port of https for forges with another name.
var sshHosts = map[string]string{"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com", "altssh.bitbucket.org": "bitbucket.org"}

// WebURL returns the web address of a repository that a remote names: forges show it at the same host and path as they serve it. It is "" for a
// remote that no forge serves.
func WebURL(remote string) string {
	if !strings.Contains(remote, "://") { // user@host:path, or host:path
		host, path, found := strings.Cut(remote, ":")
		if !found || strings.Contains(host, "/") {
			return ""
		}
		host = host[strings.LastIndex(host, "@")+1:]
		remote = "ssh://" + host + "/" + strings.TrimPrefix(path, "/")
	}
	u, err := url.Parse(remote)
	if err != nil || u.Host == "" {
		return ""
	}
	web := url.URL{Scheme: "https", Host: u.Host, Path: strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), ".git")}
	switch u.Scheme {
	case "https", "http":
		web.Scheme = u.Scheme
	case "ssh", "git+ssh":
		web.Host = u.Hostname()
		if name, found := sshHosts[web.Host]; found {
			web.Host = name
		}
	default:
		return ""
	}
	return web.String()
}
