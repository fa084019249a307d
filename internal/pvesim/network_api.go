package pvesim

import (
	"slices"
	"strings"
)

// interfaceTypes are the values of the parameter type, which filters the list of a node's network interfaces.
var interfaceTypes = strings.Fields("bridge bond eth alias vlan fabric OVSBridge OVSBond OVSPort OVSIntPort vnet any_bridge any_local_bridge include_sdn")

// networkList lists the interfaces of a node: its only network card, and the bridges that the caller may see or use. SDN has no zones other
// than the bridges of the hosts, and therefore no virtual networks.
//
// Source: PVE::API2::Network index.
func networkList(c *call) (reply, error) {
	var a array
	if want := c.params["type"]; slices.Contains([]string{"", "include_sdn", "eth"}, want) {
		card := interfaceOf("eth0", "eth")
		card.num("exists", 1)
		a.add(card)
	}
	for i, bridge := range c.sim.opts.Bridges {
		if !slices.Contains([]string{"", "include_sdn", "bridge", "any_bridge", "any_local_bridge"}, c.params["type"]) || !c.canSeeBridge(bridge) {
			continue
		}
		o := interfaceOf(bridge, "bridge")
		o.num("autostart", 1)
		o.num("priority", int64(3+i))
		o.str("bridge_ports", "")
		o.str("bridge_stp", "off")
		o.str("bridge_fd", "0")
		a.add(o)
	}
	return dataReply(a.bytes())
}

func interfaceOf(name, kind string) *object {
	o := &object{}
	o.str("iface", name)
	o.str("type", kind)
	o.raw("families", []byte(`["inet"]`))
	o.str("method", "manual")
	o.str("method6", "manual")
	o.num("active", 1)
	return o
}

// canSeeBridge reports whether the caller may audit a bridge, or use the bridge or one of its VLANs. The state is locked.
//
// Source: PVE::RPCEnvironment check_sdn_bridge.
func (c *call) canSeeBridge(bridge string) bool {
	path := "/sdn/zones/localnetwork/" + bridge
	paths := []string{path}
	for _, who := range []*credential{c.caller, c.sim.users[c.caller.user()]} {
		if who == nil {
			continue
		}
		for _, g := range who.grants {
			if strings.HasPrefix(g.path, path+"/") {
				paths = append(paths, g.path)
			}
		}
	}
	return slices.ContainsFunc(paths, func(p string) bool { return c.requireAny(p, "SDN.Audit", "SDN.Use") == nil })
}
