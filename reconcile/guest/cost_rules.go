package guest

// Cost rules of rows. Each has a description for a guest that runs. The functions are in cost.go and drive_cost.go; obstacles are
// computed in obstacles.go.
var (
	protectionRule = &costRule{"on: live; off: disruptive, running or not, since a guard is removed", protectionCost}
	cloudInitRule  = &costRule{"restart if the guest has a cloud-init drive, which reruns at the next boot; else live", cloudInitCost}
	nameRule       = &costRule{"restart if the guest has a cloud-init drive, which reruns at the next boot; else live", nameCost}
	bootRule       = &costRule{"restart, and an installed system may not boot on it", bootCost}
	hotplugRule    = &costRule{"live; restart if memory or cpu are among the features", hotplugCost}
	agentRule      = &costRule{"restart; live if fstrim_cloned_disks alone changes", agentCost}
	memoryRule     = &costRule{"restart; with hotplug of memory and NUMA, more is live and less disruptive", memoryCost}
	balloonRule    = &costRule{"more: live; less: disruptive; from or to 0: restart", balloonCost}
	shrinkRule     = &costRule{"more: live; less: disruptive", shrinkCost}
	cardRule       = &costRule{"a new card, rate, link_down: live; bridge, tag, trunks, firewall: disruptive, the link flaps; " +
		"model, macaddr, queues, mtu, with or without a bridge, and removal: disruptive; these and new cards: restart without hotplug of network", cardCost}
	vethRule = &costRule{"a new card, rate, link_down: live; bridge, tag, firewall, addresses, name, hwaddr, removal: disruptive; " +
		"mtu, trunks, host-managed, removal of net10 and above: restart", vethCost}
	usbRule = &costRule{"a new device: live, a change or removal disruptive; restart without hotplug of usb, or if ostype is " +
		"none of l26, win8, win10, win11", usbCost}
	unusedRule = &costRule{"removal: destructive, the volume is deleted", unusedCost}
)

var (
	notWanted       = &obstacle{description: "cannot be set", reason: unusedWanted}
	notHostSerial   = &obstacle{description: "a device of the host needs root@pam", reason: hostSerial}
	notHostUSB      = &obstacle{description: "a device of the host needs root@pam, a mapping and spice do not", reason: hostUSB}
	notHostPCI      = &obstacle{description: "a device of the host needs root@pam, a mapping does not unless it has a romfile", reason: hostPCI}
	notRootFeatures = &obstacle{"all except nesting need root@pam, and nesting as well while the container is privileged", rootFeatures, nestingPart}
)
