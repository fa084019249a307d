package pvesim

import (
	"errors"
	"net/http"
	"strings"
)

// agentRoutes returns the calls that the agent inside a VM answers.
func agentRoutes() []*route {
	routes := []*route{
		writeRoute(http.MethodPost, vmPath+"/agent/ping", pingAgent).withPermission(permitAgent),
		readRoute(vmPath+"/agent/network-get-interfaces", agentInterfaces).withPermission(permitAgent).needsRoot(),
		writeRoute(http.MethodPost, vmPath+"/agent", func(c *call) (reply, error) { return c.agentLacks(c.params["command"]) }).
			withParams(map[string]rule{"command": text().needed()}).withPermission(permitAgent),
		writeRoute(http.MethodPost, vmPath+"/agent/exec", func(c *call) (reply, error) { return c.agentLacks("exec") }).
			withParams(map[string]rule{"command": text(), "input-data": text()}).withGuestPrivilege("VM.GuestAgent.Unrestricted"),
	}
	for _, command := range []string{
		"get-fsinfo", "get-host-name", "get-memory-block-info", "get-memory-blocks", "get-osinfo", "get-time", "get-timezone", "get-users", "get-vcpus", "info",
	} {
		lacks := func(c *call) (reply, error) { return c.agentLacks(command) }
		routes = append(routes, writeRoute(http.MethodGet, vmPath+"/agent/"+command, lacks).withPermission(permitAgent))
	}
	return routes
}

// agentLacks is the reply to the commands of an agent that answers only to ping and network-get-interfaces, as one whose administrator has blocked
// the others does.
func (c *call) agentLacks(command string) (reply, error) {
	g, err := c.awaitAgent()
	if err != nil {
		return reply{}, err
	}
	if command == "ping" {
		return dataReply([]byte(`{"result":{}}`))
	}
	return reply{}, apiErrorf("VM %d qga command 'guest-%s' failed - Command guest-%s has been disabled", g.vmid, command, command)
}

// permitAgent requires the privilege to query the guest agent. Releases before 9 have another name for this privilege.
func permitAgent(c *call) error {
	path := "/vms/" + c.vars["vmid"]
	if c.sim.major() < 9 {
		return c.require(path, "VM.Monitor")
	}
	return c.requireAny(path, "VM.GuestAgent.Audit", "VM.GuestAgent.Unrestricted")
}

// vmWithAgent returns the VM of the path if its guest agent answers. The state is locked.
func (c *call) vmWithAgent() (*guest, error) {
	g, err := c.vm()
	if err != nil {
		return nil, err
	}
	a, err := agentFormat.parse("agent", g.conf.Values["agent"])
	switch {
	case err != nil || a["enabled"] != "1":
		return nil, apiErrorf("No QEMU guest agent configured")
	case !g.running:
		return nil, apiErrorf("VM %d is not running", g.vmid)
	case g.unresponsive || g.paused:
		return nil, errSilentAgent
	}
	return g, nil
}

var errSilentAgent = apiErrorf("QEMU guest agent is not running")

// awaitAgent is vmWithAgent without the lock. An agent that does not answer costs pingDelay, in which the call occupies a worker of the node.
func (c *call) awaitAgent() (g *guest, err error) {
	err = c.sim.locked(func() (err error) { g, err = c.vmWithAgent(); return err })
	if errors.Is(err, errSilentAgent) {
		c.sim.wait(pingDelay)
	}
	return g, err
}

func pingAgent(c *call) (reply, error) {
	if _, err := c.awaitAgent(); err != nil {
		return reply{}, err
	}
	return dataReply([]byte(`{"result":{}}`))
}

// agentInterfaces lists the loopback device and the VM's network devices, with the addresses from their ipconfig.
func agentInterfaces(c *call) (reply, error) {
	g, err := c.vmWithAgent()
	if err != nil {
		return reply{}, err
	}
	var a array
	a.add(agentDevice("lo", "00:00:00:00:00:00", []address{{"127.0.0.1", 8, "ipv4"}, {"::1", 128, "ipv6"}}))
	for _, k := range slotsOf(g.conf.Values, isNet) {
		_, index, _ := splitIndex(k)
		n, err := qemuNetFormat.parse(k, g.conf.Values[k])
		if err != nil {
			continue
		}
		mac := strings.ToLower(n["macaddr"])
		a.add(agentDevice("eth"+itoa(index), mac, append(g.addresses(index), linkLocal(mac))))
	}
	var o object
	o.raw("result", a.bytes())
	return dataReply(o.bytes())
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
