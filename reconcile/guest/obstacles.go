package guest

import "strings"

// unusedWanted: the keys of unused volumes are written by Proxmox, and only taken away by others.
func unusedWanted(e edit) string {
	switch {
	case e.to != "":
		return "Proxmox keeps it itself"
	case e.protected():
		return protectedNote
	default:
		return ""
	}
}

const protectedNote = "protection is on"

// protected reports whether Proxmox refuses to take volumes from the guest.
func (e edit) protected() bool { return truth(e.live.Keys["protection"].Text) == "1" }

// hostSerial: a serial port that is not a socket is a device of the host.
func hostSerial(e edit) string {
	if strings.HasPrefix(e.from, "/dev/") || strings.HasPrefix(e.to, "/dev/") {
		return rootOnlyNote
	}
	return ""
}

// hostUSB: a USB device is root's unless it comes from a resource mapping or from SPICE.
func hostUSB(e edit) string {
	from, to := e.parts()
	for _, p := range []properties{from, to} {
		if host := p.text("host"); host != "" && !strings.EqualFold(host, "spice") {
			return rootOnlyNote
		}
	}
	return ""
}

// hostPCI: a PCI device is root's unless it comes from a resource mapping.
func hostPCI(e edit) string {
	from, to := e.parts()
	if from.text("host") != "" || to.text("host") != "" {
		return rootOnlyNote
	}
	return ""
}

// rootFeatures: of a container's features, nesting alone is not root's, and only while the container is unprivileged.
func rootFeatures(e edit) string {
	if e.differs("keyctl", "fuse", "mknod", "force_rw_sys", "mount") || e.live.Keys["unprivileged"].Text != "1" {
		return rootOnlyNote
	}
	return ""
}
