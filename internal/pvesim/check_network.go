package pvesim

import (
	"errors"
	"net/netip"
)

func checkMAC(s string) error {
	if !unicastMAC.MatchString(s) {
		return errors.New("value does not look like a valid unicast MAC address")
	}
	return nil
}

func checkBridge(s string) error {
	if !bridgeID.MatchString(s) {
		return errors.New("invalid bridge ID '" + s + "'")
	}
	return nil
}

func checkIPv4(s string) error {
	if a, err := netip.ParseAddr(s); err != nil || !a.Is4() {
		return errors.New("value is not a valid IPv4 address")
	}
	return nil
}

func checkIPv6(s string) error {
	if a, err := netip.ParseAddr(s); err != nil || !a.Is6() {
		return errors.New("value is not a valid IPv6 address")
	}
	return nil
}

func checkIPv4Config(s string) error {
	if s == "dhcp" || s == "manual" {
		return nil
	}
	if p, err := netip.ParsePrefix(s); err != nil || !p.Addr().Is4() {
		return errors.New("value does not look like a valid ipv4 network configuration")
	}
	return nil
}

func checkIPv6Config(s string) error {
	if s == "dhcp" || s == "manual" || s == "auto" {
		return nil
	}
	if p, err := netip.ParsePrefix(s); err != nil || !p.Addr().Is6() {
		return errors.New("value does not look like a valid ipv6 network configuration")
	}
	return nil
}

func checkAddressList(s string) error {
	for _, a := range listSeparators.Split(s, -1) {
		if a == "" {
			continue
		}
		if _, err := netip.ParseAddr(a); err != nil && !dnsName.MatchString(a) {
			return errors.New("value does not look like a valid address: " + a)
		}
	}
	return nil
}

func checkIPList(s string) error {
	for _, a := range listSeparators.Split(s, -1) {
		if a == "" || a == "host" {
			continue
		}
		if _, err := netip.ParseAddr(a); err != nil {
			return errors.New("value does not look like a valid IP address")
		}
	}
	return nil
}

func checkDNSNameList(s string) error {
	for _, a := range listSeparators.Split(s, -1) {
		if a == "" {
			continue
		}
		if err := checkDNSName(a); err != nil {
			return err
		}
	}
	return nil
}
