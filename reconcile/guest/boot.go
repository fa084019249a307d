package guest

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/guest/form"
)

// checkBoot marks the change of the boot order as impossible if the order names a device that does not exist when it is written. Proxmox
// refuses the whole call then. A device may be added in the same call.
//
// Source: PVE::API2::Qemu, update_vm_api.
func (c *comparison) checkBoot() {
	i := slices.IndexFunc(c.changes, func(change Change) bool { return change.Key == "boot" && change.Write == WriteSet })
	if i < 0 || c.creating || c.want.Kind != VirtualMachine {
		return
	}
	var missing []string
	order := bootSyntax.parse(nil, c.changes[i].Value).text("order")
	for device, rest := form.CutWord(order); device != ""; device, rest = form.CutWord(rest) {
		if !c.bootable(device) {
			missing = append(missing, device)
		}
	}
	if len(missing) > 0 {
		boot := &c.changes[i]
		boot.Class, boot.Write, boot.Value = Impossible, WriteNone, ""
		boot.Note = bootDeviceNote + ": " + strings.Join(missing, ", ")
	}
}

const bootDeviceNote = "the boot order names a device that does not exist"

// bootable reports whether Proxmox has a device when the changes are written.
func (c *comparison) bootable(device string) bool {
	there := false
	if value, known := c.live.Keys[device]; known {
		now, next := nowAndNext(value)
		there = now != "" || next != ""
	}
	for _, change := range c.changes {
		switch {
		case change.Key != device:
		case change.Write == WriteDelete:
			return false
		case change.Write == WriteSet:
			there = true
		}
	}
	return there
}

// WithoutBootDevices returns a native boot order without some devices. A text without a list of devices stays as it is.
func WithoutBootDevices(text string, devices []string) string {
	list, found := strings.CutPrefix(text, "order=")
	if !found {
		return text
	}
	list = strings.Join(slices.DeleteFunc(strings.Split(list, ";"), func(d string) bool { return slices.Contains(devices, d) }), ";")
	if list == "" {
		return ""
	}
	return "order=" + list
}
