package guest

// The rules that rows name, each with what it says of a running guest. What costs them, cost.go and drive_cost.go decide;
// what stands in the way of a change, block.go.
var (
	protectionRule = &costRule{"on: live; off: disruptive, running or not, since it is a guard that goes", protectionCost}
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
	notWanted       = &obstacle{"cannot be set; protection keeps it", unusedWanted}
	notHostSerial   = &obstacle{"a device of the host is root@pam's", hostSerial}
	notHostUSB      = &obstacle{"a device of the host is root@pam's, a mapping and spice are not", hostUSB}
	notHostPCI      = &obstacle{"a device of the host is root@pam's, a mapping is not", hostPCI}
	notRootFeatures = &obstacle{"all but nesting are root@pam's, and nesting too while the container is privileged", rootFeatures}
)
