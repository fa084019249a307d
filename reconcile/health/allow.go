package health

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"gitops-agent/reconcile/guest"
)

// Allow is which addresses checks may reach. The zero value allows none.
type Allow []allowed

type allowed struct {
	network netip.Prefix
	port    uint16 // 0 is every port
}

// ParseAllow reads entries such as 10.0.0.0/24, 10.0.0.5:5432, 10.0.0.0/24:80 and [fd00::/8]:443. Names are refused: whoever answers for a name could
// direct checks to any address.
func ParseAllow(entries []string) (Allow, error) {
	list := make(Allow, 0, len(entries))
	for _, entry := range entries {
		a, err := parseAllowed(entry)
		if err != nil {
			return nil, fmt.Errorf("got %q, want an address or a network, and perhaps a port, such as 10.0.0.0/24, 10.0.0.5:5432 or [fd00::/8]:443", entry)
		}
		list = append(list, a)
	}
	return list, nil
}

func parseAllowed(entry string) (allowed, error) {
	if network, err := parseNetwork(entry); err == nil {
		return allowed{network, 0}, nil
	}
	at := strings.LastIndexByte(entry, ':')
	if at < 0 {
		return allowed{}, strconv.ErrSyntax
	}
	host, isBracketed := strings.CutPrefix(entry[:at], "[")
	host, isClosed := strings.CutSuffix(host, "]")
	port, err := strconv.ParseUint(entry[at+1:], 10, 16)
	if err != nil || port == 0 || isBracketed != isClosed || strings.Contains(host, ":") != isBracketed {
		return allowed{}, strconv.ErrSyntax
	}
	network, err := parseNetwork(host)
	return allowed{network, uint16(port)}, err
}

func parseNetwork(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		return address.Prefix(address.BitLen())
	}
	return netip.ParsePrefix(text)
}

// Refuses reports whether a check certainly cannot reach its addresses. Of a name this is known only once it is resolved.
func (a Allow) Refuses(check guest.Health) bool {
	for _, hostPort := range []string{check.TCP, hostPortOf(check.HTTP)} {
		if to, err := netip.ParseAddrPort(hostPort); err == nil && !a.Permits(to) {
			return true
		}
	}
	return false
}

// hostPortOf returns host and port of the address of a web page, "" if it cannot be read.
func hostPortOf(page string) string {
	u, err := url.Parse(page)
	if err != nil || page == "" {
		return ""
	}
	port := u.Port()
	if port == "" && u.Scheme == "https" {
		port = "443"
	}
	return net.JoinHostPort(u.Hostname(), cmp.Or(port, "80"))
}

// Permits reports whether a check may reach an address. An IPv4 address in the form of IPv6 counts as IPv4.
func (a Allow) Permits(to netip.AddrPort) bool {
	address := to.Addr().Unmap().WithZone("")
	for _, entry := range a {
		if (entry.port == 0 || entry.port == to.Port()) && entry.network.Contains(address) {
			return true
		}
	}
	return false
}
