package pvesim

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

var (
	firewallAlias = newPattern(`^(guest/|dc/)?([A-Za-z][A-Za-z0-9\-_]+)$`)
	firewallIPSet = newPattern(`^\+(guest/|dc/)?([A-Za-z][A-Za-z0-9\-_]+)$`)
)

// addressFamily parses the addresses of a rule: a list of addresses and networks, or one range. The result is 4, 6, or 0 for an alias or a set.
//
// Source: PVE::Firewall parse_address_list; the texts of wrong addresses are those of Net::IP.
func addressFamily(text string) (int, error) {
	if strings.HasPrefix(text, "+") && !strings.ContainsAny(text, " \t") || firewallAlias.MatchString(text) {
		return 0, nil
	}
	if strings.HasSuffix(text, ",") {
		return 0, errors.New("extraneous commas in list")
	}
	family, isRange := 0, false
	parts := strings.Split(text, ",")
	for _, part := range parts {
		f, err := elementFamily(part)
		switch {
		case err != nil:
			return 0, fmt.Errorf("invalid IP address: %w", err)
		case family != 0 && f != family:
			return 0, fmt.Errorf("detected mixed ipv4/ipv6 addresses in address list '%s'", text)
		}
		family = f
		isRange = isRange || strings.Contains(part, "-")
	}
	if isRange && len(parts) > 1 {
		return 0, errors.New("you can't use a range in a list")
	}
	return family, nil
}

var addressBytes = newPattern(`^[0-9a-fA-F.:]+$`)

func elementFamily(part string) (int, error) {
	if begin, end, found := strings.Cut(part, "-"); found {
		a, err := parseAddress(begin)
		if err != nil {
			return 0, err
		}
		b, err := parseAddress(end)
		if err != nil {
			return 0, err
		}
		if b.Less(a) {
			return 0, fmt.Errorf("Begin address is greater than End address %s - %s", begin, end) //nolint:staticcheck // Net::IP's text
		}
		return familyOf(a), nil
	}
	address, bits, found := strings.Cut(part, "/")
	a, err := parseAddress(address)
	if err != nil || !found {
		return familyOf(a), err
	}
	p, err := a.Prefix(atoi(bits))
	if err != nil || !integerText.MatchString(bits) {
		return 0, fmt.Errorf("Invalid prefix length %s", bits) //nolint:staticcheck // Net::IP's text
	}
	if p.Addr() != a {
		var binary strings.Builder
		for _, b := range a.AsSlice() {
			fmt.Fprintf(&binary, "%08b", b)
		}
		return 0, fmt.Errorf("Invalid prefix %s/%s", binary.String(), bits) //nolint:staticcheck // Net::IP's text
	}
	return familyOf(a), nil
}

func parseAddress(text string) (netip.Addr, error) {
	if !addressBytes.MatchString(text) {
		return netip.Addr{}, fmt.Errorf("Invalid chars in IP %s", text) //nolint:staticcheck // Net::IP's text
	}
	a, err := netip.ParseAddr(text)
	if err == nil {
		return a, nil
	}
	for quad := range strings.SplitSeq(text, ".") {
		if atoi(quad) > 255 {
			return netip.Addr{}, fmt.Errorf("Invalid quad in IP address %s - %s", text, quad) //nolint:staticcheck // Net::IP's text
		}
	}
	return netip.Addr{}, fmt.Errorf("Invalid IP %s", text) //nolint:staticcheck // Net::IP's text
}

func familyOf(a netip.Addr) int {
	switch {
	case !a.IsValid():
		return 0
	case a.Is4():
		return 4
	}
	return 6
}

// checkCIDR accepts an address or a network, whose host bits may be set.
func checkCIDR(text string) error {
	if _, err := netip.ParseAddr(text); err == nil {
		return nil
	}
	if _, err := netip.ParsePrefix(text); err == nil {
		return nil
	}
	address, bits, _ := strings.Cut(text, "/")
	if a, err := netip.ParseAddr(address); err == nil && portNumber.MatchString(bits) && atoi(bits) > a.BitLen() {
		return fmt.Errorf("Prefix length %s is longer than IP address (%d)", bits, a.BitLen()) //nolint:staticcheck // Net::IP's text
	}
	return errors.New("value does not look like a valid IP address or CIDR network")
}

func checkCIDROrAlias(text string) error {
	if firewallAlias.MatchString(text) {
		return nil
	}
	return checkCIDR(text)
}

// withoutFullPrefix cuts off the prefix length of a single address.
func withoutFullPrefix(cidr string) string {
	if p, err := netip.ParsePrefix(cidr); err == nil && p.IsSingleIP() {
		return p.Addr().String()
	}
	return cidr
}

func cidrFamily(cidr string) int {
	address, _, _ := strings.Cut(cidr, "/")
	a, err := netip.ParseAddr(address)
	if err != nil {
		return 0
	}
	return familyOf(a)
}

// networkOf returns an entry of a set as it is stored: a network without host bits.
func networkOf(cidr string) string {
	p, err := netip.ParsePrefix(cidr)
	if err != nil {
		return cidr
	}
	return withoutFullPrefix(p.Masked().String())
}
