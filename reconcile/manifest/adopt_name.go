package manifest

import (
	"strconv"
	"strings"

	"gitops-agent/reconcile/guest"
)

// AdoptName returns a name for the manifest of a live guest that is unique in its kind: the guest's own in lower case, with its vmid
// behind it where the label is taken, "vm-105" where it has none that manifests take. Taken are labels, "VirtualMachine/erp".
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
