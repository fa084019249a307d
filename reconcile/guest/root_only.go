package guest

import (
	"slices"

	"gitops-agent/reconcile/guest/form"
)

// RootOnlyAtCreation returns the changes that only root@pam may make to a new guest, sorted by key. The call that creates the guest leaves them
// out. Version is the release of the node.
func RootOnlyAtCreation(d Desired, node Version) []Change {
	live := beforeCreation(d)
	live.Version = node
	changes := (&comparison{want: &d, live: live, creating: true}).run()
	return slices.DeleteFunc(changes, func(c Change) bool { return !leftToRoot(d.Kind, c) })
}

// leftToRoot reports whether a guest is created without a change, because only root@pam may make it. A container cannot be created without its root volume.
func leftToRoot(kind Kind, c Change) bool {
	r, _ := find(kind, c.Key)
	return c.RootOnly && !r.required
}

// withoutBootFrom removes the boot order from the parameters that create a guest if it names a device that is left to root@pam. Proxmox refuses
// an order that names a device that does not exist.
func withoutBootFrom(params map[string]string, omitted []string) {
	order := bootSyntax.parse(nil, params["boot"]).text("order")
	for device, rest := form.CutWord(order); device != ""; device, rest = form.CutWord(rest) {
		if slices.Contains(omitted, device) {
			delete(params, "boot")
			return
		}
	}
}
