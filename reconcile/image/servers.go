package image

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// Servers are servers from which nodes may download files: "cloud.debian.org", "10.0.0.5:8080", or "*.example.org" for the names below a domain. A server
// without a port is allowed only under the port of its protocol.
type Servers []string

var serverForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^((\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(:[0-9]{1,5})?$`)
})

// ParseServers reads the list of the host's config. The error names every entry that is no server.
func ParseServers(list []string) (Servers, error) {
	var servers Servers
	var wrong []string
	for _, entry := range list {
		server := strings.ToLower(entry)
		if !serverForm().MatchString(server) {
			wrong = append(wrong, fmt.Sprintf("%q", entry))
		}
		servers = append(servers, server)
	}
	if len(wrong) > 0 {
		return nil, fmt.Errorf("got %s, want names of servers with or without a port, such as cloud.debian.org, 10.0.0.5:8080 or *.example.org", strings.Join(wrong, ", "))
	}
	return servers, nil
}

// Allow reports whether nodes may download from a server, as Desired.Server names it.
func (s Servers) Allow(server string) bool {
	for _, allowed := range s {
		domain, below := strings.CutPrefix(allowed, "*")
		if server == allowed || below && strings.HasSuffix(server, domain) && !strings.HasPrefix(server, ".") {
			return true
		}
	}
	return false
}

// Server returns the server of the Image's URL in lower case, with its port unless that is the port of the protocol.
func (d Desired) Server() string {
	u, err := url.Parse(d.URL)
	if err != nil {
		return ""
	}
	server := strings.ToLower(u.Host)
	switch u.Scheme {
	case "https":
		server = strings.TrimSuffix(server, ":443")
	case "http":
		server = strings.TrimSuffix(server, ":80")
	}
	return server
}
