package manifest

import (
	"fmt"
	"net/netip"
	"strings"

	"gitops-agent/reconcile/guest"
)

// link contains the fields that network interfaces of both kinds of guest share.
type link struct {
	removal
	bridge             opt[string]
	vlan, mtu          opt[int]
	mac                opt[string]
	firewall, linkDown opt[bool]
	rate               opt[float64]
	natives            textMap
}

// rows returns the rows. Its parameters differ between the kinds: the sub-key of the MAC address, and the minimum MTU.
func (n *link) rows(mac string, leastMTU int) []field {
	return []field{
		n.row(),
		{"bridge", ".bridge", "Bridge or vnet that the interface is plugged into.", text(&n.bridge, bridgeName)},
		{"vlan", ".tag", "VLAN tag.", integer(&n.vlan, 1, 4094)},
		{"mac", mac, "MAC address; auto keeps the address that Proxmox generated. Default: auto.", macField(&n.mac)},
		{"firewall", ".firewall", "Apply Proxmox's firewall.", flag(&n.firewall)},
		{"mtu", ".mtu", "MTU; for virtual machines, 1 means the MTU of the bridge.", integer(&n.mtu, leastMTU, 65520)},
		{"rate", ".rate", "Limit in megabytes a second.", number(&n.rate, 10240)},
		{"linkDown", ".link_down", "Take the link down.", flag(&n.linkDown)},
	}
}

// macField is a MAC address in upper case, as Proxmox writes it; auto is not managed.
func macField(into *opt[string]) value { return scalarValue[string]{into, macCodec{macAddress}} }

type macCodec struct{ *textRule }

func (macCodec) format(s string) string {
	if s == "auto" {
		return ""
	}
	return strings.ToUpper(s)
}

var networkSlots = slotsOf(guest.VirtualMachine, "net")

// machineNetwork is an interface of a virtual machine.
type machineNetwork struct {
	link
	model  opt[string]
	queues opt[int]
}

func (n *machineNetwork) fields() []field {
	return withRaw(&n.natives, ".", `{"trunks": "20;30"}`, append(n.rows(".macaddr", 1), []field{
		{"model", ".model", "Adapter that the guest sees. Default for a new interface: virtio.", nativeChoice(&n.model, "net0", "model")},
		{"queues", ".queues", "Packet queues of a virtio interface.", integer(&n.queues, 0, 64)},
	}...))
}

// containerNetwork is an interface of a container. Proxmox also configures it inside the container.
type containerNetwork struct {
	link
	name, ip4, gw4, ip6, gw6 opt[string]
}

func (n *containerNetwork) fields() []field {
	return withRaw(&n.natives, ".", `{"trunks": "20;30"}`, append(n.rows(".hwaddr", 64), []field{
		{"name", ".name", "Name inside the container, such as eth0. Default for a new interface: eth and the slot's number.", text(&n.name, linkName)},
		{"ip4", ".ip", "IPv4 address with its prefix length, dhcp or manual.", text(&n.ip4, ip4LinkConfig)},
		{"gw4", ".gw", "IPv4 gateway.", text(&n.gw4, ip4Address)},
		{"ip6", ".ip6", "IPv6 address with its prefix length, auto, dhcp or manual.", text(&n.ip6, ip6LinkConfig)},
		{"gw6", ".gw6", "IPv6 gateway.", text(&n.gw6, ip6Address)},
	}...))
}

func (n *containerNetwork) lower(l *lowering) {
	checkGateway(l, n.ip4, n.gw4)
	checkGateway(l, n.ip6, n.gw6)
}

// checkGateway refuses a gateway without a static address: Proxmox refuses it too, and a DHCP lease has its own gateway.
func checkGateway(l *lowering, ip, gateway opt[string]) {
	const message = "got a gateway without a static address"
	switch {
	case !gateway.set || strings.Contains(ip.value, "/"):
	case ip.set:
		l.problem(gateway.place, message, "")
	default:
		l.missing(gateway.place, message, "")
	}
}

// checkGateways warns of a gateway outside of the interface's network. Proxmox accepts it, and it works only with a route that the guest adds by itself. A network of one
// address has its gateway elsewhere on purpose, and so has a link-local gateway.
func (p *parser) checkGateways(warnings *report) {
	for _, g := range p.set.Guests {
		for _, in := range g.desired.Intents {
			for _, family := range [][2]string{{"ip", "gw"}, {"ip6", "gw6"}} {
				network, err := netip.ParsePrefix(in.Sub[family[0]])
				if err != nil || network.IsSingleIP() {
					continue
				}
				gateway, err := netip.ParseAddr(in.Sub[family[1]])
				if err != nil || gateway.IsLinkLocalUnicast() || network.Contains(gateway) {
					continue
				}
				warnings.add(Problem{
					Origin: in.Origin, Guest: g.Label(), Field: in.Key,
					Message: fmt.Sprintf("got the gateway %s, which is outside of the network %s", gateway, network.Masked()), Hint: "the guest cannot reach it without a route of its own",
				})
			}
		}
	}
}
