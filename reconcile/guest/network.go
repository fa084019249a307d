package guest

import (
	"net/netip"
	"strings"
)

// IsNetwork accepts an address, or a network without host bits, in the form in which Proxmox stores it.
func IsNetwork(text string) bool {
	return StoredNetwork(text) == text && !strings.HasSuffix(text, "/0")
}

// StoredNetwork returns an address or a network in the form in which Proxmox stores it, "" if it is neither.
func StoredNetwork(text string) string {
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		return a.String()
	}
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return ""
	case p.IsSingleIP():
		return p.Addr().String()
	}
	return p.Masked().String()
}
