package guest

import (
	"net/netip"
	"strconv"
)

// maxInterfaces is how many network interfaces a guest may have.
const maxInterfaces = 32

// Addresses returns the static addresses of a guest's network interfaces, by the number of the interface, IPv4 before IPv6. An address that the guest gets by DHCP or router
// advertisement is in no configuration.
func (v Values) Addresses() []netip.Addr {
	family := "ipconfig"
	if v.kind == Container {
		family = "net"
	}
	var (
		list []netip.Addr
		room SlotRoom
	)
	for i := range maxInterfaces {
		slot := v.Slot(family+strconv.Itoa(i), &room)
		for _, sub := range []string{"ip", "ip6"} {
			if network, err := netip.ParsePrefix(slot.text(sub)); err == nil {
				list = append(list, network.Addr())
			}
		}
	}
	return list
}
