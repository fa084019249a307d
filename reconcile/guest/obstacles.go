package guest

import "strings"

// unusedWanted returns why a key of an unused volume cannot be set: only Proxmox writes such keys, others can only delete them.
func unusedWanted(e edit) block {
	if e.to != "" {
		return block{note: "only Proxmox writes it"}
	}
	return block{}
}

// hostSerial returns an obstacle for a serial port that is a device of the host, and not a socket.
func hostSerial(e edit) block {
	if strings.HasPrefix(e.from, "/dev/") || strings.HasPrefix(e.to, "/dev/") {
		return byRoot()
	}
	return block{}
}

// hostUSB returns an obstacle for a USB device of the host. Resource mappings and SPICE are allowed.
func hostUSB(e edit) block {
	from, to := e.parts()
	for _, p := range []properties{from, to} {
		if host := p.text("host"); host != "" && !strings.EqualFold(host, "spice") {
			return byRoot()
		}
	}
	return block{}
}

// hostPCI returns an obstacle for a PCI device of the host. Resource mappings are allowed.
func hostPCI(e edit) block {
	from, to := e.parts()
	if from.text("host") != "" || to.text("host") != "" {
		return byRoot()
	}
	return block{}
}

// rootFeatures returns an obstacle for all features of a container except nesting, and for nesting too if the container is privileged.
func rootFeatures(e edit) block {
	if e.differs("keyctl", "fuse", "mknod", "force_rw_sys", "mount") || e.live.Keys["unprivileged"].Text != "1" {
		return byRoot()
	}
	return block{}
}
