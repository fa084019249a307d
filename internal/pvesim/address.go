package pvesim

import (
	"encoding/hex"
	"net/netip"
	"strings"
)

// address is one IP address of a guest's device.
type address struct {
	ip     string
	prefix int64
	family string // ipv4 or ipv6 in replies of the guest agent, inet or inet6 in replies about containers
}

func addressList(list []address) []byte {
	var a array
	for _, x := range list {
		var o object
		o.str("ip-address", x.ip)
		o.num("prefix", x.prefix)
		o.str("ip-address-type", x.family)
		a.add(&o)
	}
	return a.bytes()
}

// addresses returns the IP addresses that a VM's ipconfig assigns to the network device with the index. An address from DHCP is
// derived from the vmid.
func (g *guest) addresses(index int) []address {
	v, err := ipconfigFormat.parse("ipconfig", g.conf.Values["ipconfig"+itoa(index)])
	if err != nil {
		return nil
	}
	return guestAddresses(g.vmid, v, [2]string{"ipv4", "ipv6"})
}

func guestAddresses(vmid int, v values, family [2]string) []address {
	var out []address
	for i, key := range []string{"ip", "ip6"} {
		text := v[key]
		if text == "dhcp" && key == "ip" {
			text = "198.18." + itoa(vmid>>8&255) + "." + itoa(vmid&255) + "/15"
		}
		if p, err := netip.ParsePrefix(text); err == nil {
			out = append(out, address{p.Addr().String(), int64(p.Bits()), family[i]})
		}
	}
	return out
}

// linkLocal returns the IPv6 link-local address that a device derives from its MAC address.
func linkLocal(mac string) address {
	b, err := hex.DecodeString(strings.ReplaceAll(mac, ":", ""))
	if err != nil || len(b) != 6 {
		return address{"fe80::", 64, "ipv6"} // no config holds a MAC address of another form
	}
	ip := netip.AddrFrom16([16]byte{0xfe, 0x80, 8: b[0] ^ 2, b[1], b[2], 0xff, 0xfe, b[3], b[4], b[5]})
	return address{ip.String(), 64, "ipv6"}
}
