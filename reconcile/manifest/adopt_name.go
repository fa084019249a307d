package manifest

import (
	"strconv"
	"strings"

	"gitops-agent/reconcile/guest"
)

// AdoptName returns a name for the manifest of a live guest that is unique within its kind: the guest's own name in lower case, followed by its vmid
// if the label is taken, or "vm-105" if the guest has no name that manifests accept. Taken contains labels, "VirtualMachine/erp".
func AdoptName(o guest.Observed, taken map[string]bool) string {
	name := strings.ToLower(o.Name)
	if !dnsName.ok(name) {
		name = map[guest.Kind]string{guest.VirtualMachine: "vm-", guest.Container: "ct-"}[o.Kind] + strconv.Itoa(o.VMID)
	}
	free := func(name string) bool { return !taken[guest.Ref{Kind: o.Kind, Name: name}.Label()] }
	if !free(name) {
		name += "-" + strconv.Itoa(o.VMID)
	}
	for base, n := name, 2; !free(name); n++ {
		name = base + "-" + strconv.Itoa(n)
	}
	return name
}
