package access

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"gitops-agent/internal/loopback"
)

// hosts decides which Host headers are accepted. A web page of another site can make a browser send requests to this agent under a name of that site
// (DNS rebinding), but not under a name of this agent.
type hosts struct {
	loopback bool     // the agent listens on a loopback address
	names    []string // of the config, in lower case
}

// newHosts returns the hosts of an agent that listens on an address, and an error for each name that cannot be in a Host header.
func newHosts(listen string, names []string) (hosts, error) {
	h := hosts{loopback: loopback.IsHost(hostOf(listen))}
	var problems []error
	for _, name := range names {
		plain := normal(name)
		if plain == "" || strings.ContainsAny(plain, "/@ *") || strings.Contains(plain, ":") && !isAddress(plain) {
			problems = append(problems, fmt.Errorf("status.hosts: %q: want a name without scheme, port and path, such as agent.example.org", name))
		}
		h.names = append(h.names, plain)
	}
	return h, errors.Join(problems...)
}

// allow reports whether a Host header is accepted: a loopback name, a name of the config, and an address if the agent does not listen on loopback only.
func (h hosts) allow(header string) bool {
	host := hostOf(header)
	return loopback.IsHost(host) || host != "" && slices.Contains(h.names, host) || !h.loopback && isAddress(host)
}

// hostOf returns the host of host or host:port, in lower case, without the brackets of IPv6 and a final dot.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	return normal(address)
}

func normal(host string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}
