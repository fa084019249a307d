package pvesim

import (
	"net/http"
	"strings"
)

// agentRoutes are the calls that ask the agent inside a VM.
func agentRoutes() []*route {
	return []*route{
		act(http.MethodPost, vmPath+"/agent/ping", pingAgent).permits(mayAskAgent),
		get(vmPath+"/agent/network-get-interfaces", agentInterfaces).permits(mayAskAgent).needsRoot(),
	}
}

// mayAskAgent wants the privilege that releases before 9 had under another name.
func mayAskAgent(c *call) error {
	path := "/vms/" + c.vars["vmid"]
	if c.sim.major() < 9 {
		return c.require(path, "VM.Monitor")
	}
	return c.requireAny(path, "VM.GuestAgent.Audit", "VM.GuestAgent.Unrestricted")
}

// withAgent finds a VM whose agent answers. The state is locked.
func (c *call) withAgent() (*guest, error) {
	g, err := c.vm()
	if err != nil {
		return nil, err
	}
	a, err := agentFormat.parse("agent", g.conf.values["agent"])
	switch {
	case err != nil || a["enabled"] != "1":
		return nil, die("No QEMU guest agent configured")
	case !g.running:
		return nil, die("VM %d is not running", g.vmid)
	case g.deaf || g.paused:
		return nil, die("QEMU guest agent is not running")
	}
	return g, nil
}

func pingAgent(c *call) (reply, error) {
	err := c.sim.locked(func() error { _, err := c.withAgent(); return err })
	if err != nil {
		return reply{}, err
	}
	return data([]byte(`{"result":{}}`))
}

// agentInterfaces shows the loopback device and the VM's network devices with the addresses that their ipconfig says.
func agentInterfaces(c *call) (reply, error) {
	g, err := c.withAgent()
	if err != nil {
		return reply{}, err
	}
	var a array
	a.add(agentDevice("lo", "00:00:00:00:00:00", []address{{"127.0.0.1", 8, "ipv4"}, {"::1", 128, "ipv6"}}))
	for _, k := range slotsOf(g.conf.values, isNet) {
		_, index, _ := splitIndex(k)
		n, err := qemuNetFormat.parse(k, g.conf.values[k])
		if err != nil {
			continue
		}
		mac := strings.ToLower(n["macaddr"])
		a.add(agentDevice("eth"+itoa(index), mac, append(g.addresses(index), linkLocal(mac))))
	}
	var o object
	o.raw("result", a.bytes())
	return data(o.bytes())
}

func agentDevice(name, mac string, addresses []address) *object {
	o := &object{}
	o.str("name", name)
	o.str("hardware-address", mac)
	var stats object
	for _, dir := range []string{"rx", "tx"} {
		for _, what := range []string{"bytes", "packets", "errs", "dropped"} {
			stats.num(dir+"-"+what, 0)
		}
	}
	o.raw("statistics", stats.bytes())
	o.raw("ip-addresses", addressList(addresses))
	return o
}
