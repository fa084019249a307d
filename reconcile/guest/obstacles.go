package guest

import (
	"slices"
	"strings"
)

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

// hostPCI returns an obstacle for a PCI device of the host. Resource mappings are allowed without a romfile.
func hostPCI(e edit) block {
	from, to := e.parts()
	for _, p := range []properties{from, to} {
		if p.text("host") != "" || p.text("romfile") != "" {
			return byRoot()
		}
	}
	return block{}
}

// rootFeatures returns an obstacle for all features of a container except nesting, and for nesting too if the container is privileged.
func rootFeatures(e edit) block {
	if e.isPrivileged() || e.to != nestingPart(e) {
		return byRoot()
	}
	return block{}
}

// nestingPart returns the features with nesting as the edit wants it and the other features as they are, text by text: Proxmox takes a feature that is
// written with its default for a change of it. While another feature waits for the next start, it returns the text that waits, which a token cannot repeat.
//
// Source: PVE::LXC check_ct_modify_config_perm.
func nestingPart(e edit) string {
	_, next := nowAndNext(e.live.Keys[e.key])
	if e.isPrivileged() {
		return next
	}
	const name = "nesting"
	others := func(text string) properties {
		return slices.DeleteFunc(e.row.syntax.parse(nil, text), func(p pair) bool { return p.name == name })
	}
	same := func(a, b properties) bool {
		return len(a) == len(b) && !slices.ContainsFunc(a, func(p pair) bool { return !slices.Contains(b, p) })
	}
	if !same(others(e.from), others(next)) {
		return next
	}
	_, to := e.parts()
	part, wanted := e.row.syntax.parse(nil, next), to.text(name)
	switch i := part.find(name); {
	case wanted == part.text(name):
		return next
	case i < 0:
		part = append(part, pair{name, wanted})
	case wanted == "":
		part = slices.Delete(part, i, i+1)
	default:
		part[i].text = wanted
	}
	return e.row.syntax.native(part)
}

// isPrivileged reports whether the container is privileged.
func (e edit) isPrivileged() bool { return e.live.Keys["unprivileged"].Text != "1" }
