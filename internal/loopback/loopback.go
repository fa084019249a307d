// Package loopback tells addresses of this machine from others, because what is sent to them needs no encryption, and finds free ones.
package loopback

import (
	"net/netip"
	"strings"
)

// IsHost reports whether a host without a port is this machine: localhost, 127.0.0.0/8 or ::1, with or without brackets. It resolves no names.
func IsHost(host string) bool {
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.Unmap().IsLoopback()
}
