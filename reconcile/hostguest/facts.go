package hostguest

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// Facts are what a machine shows of the guest that it is. The zero value matches no guest.
type Facts struct {
	VMID      int        // as the config of the host states it; decides alone if it is not 0
	Kind      guest.Kind // of a machine that is a guest; "" if it is none, or if that is not certain
	UUID      string     // of a virtual machine, in lower case; "" if it cannot be read
	Addresses []string   // hardware addresses of the network interfaces, in lower case
}

// Known reports whether a guest may match.
func (f Facts) Known() bool { return f.VMID != 0 || f.Kind != "" }

// Matches reports whether the agent runs in the guest.
func (f Facts) Matches(o guest.Observed) bool {
	switch {
	case f.VMID != 0:
		return o.VMID == f.VMID
	case f.Kind == "" || f.Kind != o.Kind:
		return false
	case f.UUID != "":
		return strings.EqualFold(guest.SMBIOSUUID(o), f.UUID)
	}
	return slices.ContainsFunc(guest.HardwareAddresses(o), func(a string) bool { return slices.Contains(f.Addresses, a) })
}
