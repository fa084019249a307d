package pvesim

import "strings"

// ctInterfaces lists the devices inside a running container. For a stopped container it returns null.
func ctInterfaces(c *call) (reply, error) {
	g, err := c.ct()
	if err != nil {
		return reply{}, err
	}
	if !g.running {
		return nullReply()
	}
	var a array
	a.add(ctDevice("lo", "00:00:00:00:00:00", nil))
	for _, k := range slotsOf(g.conf.Values, isNet) {
		n, err := lxcNetFormat.parse(k, g.conf.Values[k])
		if err != nil {
			continue
		}
		a.add(ctDevice(n["name"], strings.ToLower(n["hwaddr"]), guestAddresses(g.vmid, n, [2]string{"inet", "inet6"})))
	}
	return dataReply(a.bytes())
}

// ctDevice describes one device. Some values appear twice, under an older and a newer name.
func ctDevice(name, mac string, addresses []address) *object {
	o := &object{}
	o.str("name", name)
	o.str("hwaddr", mac)
	o.str("hardware-address", mac)
	for _, x := range addresses {
		o.str(x.family, x.ip+"/"+itoa64(x.prefix))
	}
	o.raw("ip-addresses", addressList(addresses))
	return o
}
