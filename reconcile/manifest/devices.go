package manifest

import (
	"math"
	"strings"
)

// device is a device of the host, named by a resource mapping, so that the manifest works on every node that maps it.
type device struct {
	removal
	mapping, mediated     opt[string]
	pcie, primary, romBar opt[bool]
	usb3                  opt[bool]
	natives               textMap
}

func (d *device) fields() []field {
	return withRaw(&d.natives, ".", `{"legacy-igd": true}`, []field{
		d.row(),
		{"mapping", ".mapping", "Name of the resource mapping.", text(&d.mapping, mapping)},
		{"pcie", ".pcie", "Show a PCI device as PCI Express; needs machine q35.", flag(&d.pcie)},
		{"primaryGPU", ".x-vga", "The PCI device is the guest's first graphics adapter.", flag(&d.primary)},
		{"romBar", ".rombar", "Show the firmware of a PCI device to the guest. Proxmox's default: true.", flag(&d.romBar)},
		{"mdev", ".mdev", "Type of a mediated device, to share a PCI device between guests.", text(&d.mediated, mediatedType)},
		{"usb3", ".usb3", "Connect a USB device to a USB 3 port.", flag(&d.usb3)},
	})
}

func (d *device) lower(l *lowering) {
	only := func(p place, set bool, prefix, what string) {
		if set && !strings.HasPrefix(l.slot, prefix) {
			l.problem(p, "got it on slot "+l.slot+", want a "+prefix+" slot: it applies to "+what, "")
		}
	}
	only(d.pcie.place, d.pcie.set, "hostpci", "PCI devices")
	only(d.primary.place, d.primary.set, "hostpci", "PCI devices")
	only(d.romBar.place, d.romBar.set, "hostpci", "PCI devices")
	only(d.mediated.place, d.mediated.set, "hostpci", "PCI devices")
	only(d.usb3.place, d.usb3.set, "usb", "USB devices")
}

// directory is a folder of the host that a virtual machine mounts through virtiofs, named by a directory mapping.
type directory struct {
	removal
	mapping, cache opt[string]
	directIO       opt[bool]
	acl            opt[bool]
	natives        textMap
}

func (d *directory) fields() []field {
	return withRaw(&d.natives, ".", `{"expose-xattr": true}`, []field{
		d.row(),
		{"mapping", ".dirid", "Name of the directory mapping, which is also the mount tag inside the guest.", text(&d.mapping, mapping)},
		{"cache", ".cache", "What the guest may cache. Proxmox's default: auto.", nativeChoice(&d.cache, "virtiofs0", "cache")},
		{"directIO", ".direct-io", "Allow direct I/O if the guest requests it.", flag(&d.directIO)},
		{"acl", ".expose-acl", "Show POSIX ACLs to the guest.", flag(&d.acl)},
	})
}

// rng is a source of random numbers.
type rng struct {
	removal
	source             opt[string]
	maxBytes, periodMS opt[int]
}

func (r *rng) fields() []field {
	return []field{
		r.row(),
		{"source", ".source", "Device of the host that the numbers come from.", nativeChoice(&r.source, "rng0", "source")},
		{"maxBytes", ".max_bytes", "Bytes in one period; 0 means no limit. Proxmox's default: 1024.", integer(&r.maxBytes, 0, math.MaxInt32)},
		{"periodMs", ".period", "Length of a period in milliseconds. Proxmox's default: 1000.", integer(&r.periodMS, 0, math.MaxInt32)},
	}
}

// watchdog restarts a guest that hangs.
type watchdog struct {
	removal
	model, action opt[string]
}

func (w *watchdog) fields() []field {
	return []field{
		w.row(),
		{"model", ".model", "Device that the guest sees. Proxmox's default: i6300esb.", nativeChoice(&w.model, "watchdog", "model")},
		{"action", ".action", "What happens when the guest no longer answers to it. Proxmox's default: reset.", nativeChoice(&w.action, "watchdog", "action")},
	}
}

// audio is a sound card.
type audio struct {
	removal
	device, driver opt[string]
}

func (a *audio) fields() []field {
	return []field{
		a.row(),
		{"device", ".device", "Card that the guest sees.", nativeChoice(&a.device, "audio0", "device")},
		{"driver", ".driver", "Where the sound goes. Proxmox's default: spice.", nativeChoice(&a.driver, "audio0", "driver")},
	}
}

// smbios is what the firmware reports about the machine. The uuid belongs to Proxmox; the agent identifies the guest by it.
type smbios struct{ manufacturer, product, version, serial, sku, family opt[string] }

func (s *smbios) fields() []field {
	return []field{
		{"manufacturer", "smbios1.manufacturer", "Manufacturer of the machine.", text(&s.manufacturer, oneLine)},
		{"product", "smbios1.product", "Product name.", text(&s.product, oneLine)},
		{"version", "smbios1.version", "Version of the product.", text(&s.version, oneLine)},
		{"serial", "smbios1.serial", "Serial number, which some licences go by.", text(&s.serial, oneLine)},
		{"sku", "smbios1.sku", "SKU.", text(&s.sku, oneLine)},
		{"family", "smbios1.family", "Product family.", text(&s.family, oneLine)},
	}
}
