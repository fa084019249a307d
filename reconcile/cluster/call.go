package cluster

import (
	"gitops-agent/reconcile/guest"
)

// Call is one complete request to the cluster: sending it reads nothing else.
//
//   - create: CloneOf 0 posts Params to the node's guest list; otherwise it posts them to the template's clone call.
//   - config: Params are set and the keys of Delete removed, under Digest. A virtual machine gets the asynchronous call.
//   - resize: Params are disk and size, under Digest.
//   - move: Params are disk, storage and delete for either kind, under Digest. The old volume stays unless delete is 1.
//   - cloudinit: no Params; Proxmox writes the drive again.
//   - pool: Params is poolid; the guest leaves its previous pool.
//   - ha-add, ha-set: Params are state, max_restart, max_relocate, failback; ha-remove: none.
//   - migrate: Params are target, and online or with-local-disks (virtual machine), restart or timeout (container).
//   - template: no Params; it cannot be undone.
//   - start, reboot, shutdown, stop, reset, suspend, resume: Params such as timeout and forceStop.
//   - snapshot: Params are snapname, description and vmstate; delete-snapshot and rollback: snapname.
//   - backup: Params are storage, mode, compress, protected, notes-template and remove.
//   - firewall: one change of the guest's firewall, which Firewall names; Params are the new values, and Delete the options or fields that are unset. Digest is
//     that of the list or object that is changed, "" for what is added.
//   - download: Params are storage, content, filename, url, checksum, checksum-algorithm and compression. It is about no guest: Kind and VMID are empty.
//   - delete-file: Params are storage, content and filename. It is about no guest either.
//   - object-add, object-set, object-remove: Params are set and the keys of Delete removed, of the Object of the Kind, which is no guest; see package kind. With
//     Firewall, object-set is about one rule or one entry that the object contains, and with Item about another object that it contains.
//   - destroy: Params are purge and destroy-unreferenced-disks, both optional.
type Call struct {
	Op       Op
	Kind     guest.Kind
	Node     string // where the guest is; for a clone, where the template is
	VMID     int    // the guest that the call changes or creates
	CloneOf  int    // vmid of the template; 0 if the call is not a clone
	Object   string // id of the object, of a kind that is no guest; "" for a guest
	Item     string // of a call about an object: what else it contains, such as the guest "vm:201" of a group
	Params   map[string]string
	Secrets  map[string]string // key to the name of the secret whose content is sent; plans and the journal never contain the content
	Delete   []string
	Firewall FirewallCall // of a firewall call, and of a call about an item of an object
	Digest   string       // of the configuration that the call was planned for; Proxmox rejects the call if it has changed. "" means no check
}

// Parameters of a call about a file.
const (
	ParamStorage = "storage"
	ParamContent = "content"
	ParamFile    = "filename"
)

// File returns the id of the file that a call about a file concerns.
func (c Call) File() string {
	return c.Params[ParamStorage] + ":" + c.Params[ParamContent] + "/" + c.Params[ParamFile]
}

// IsAboutItem reports whether a call about an object that is no guest concerns an item that the object contains.
func (c Call) IsAboutItem() bool {
	return c.Op == OpObjectSet && (c.Firewall.Object != "" || c.Item != "")
}

// ParamSnapshot is the parameter with the name of the snapshot that a call is about.
const ParamSnapshot = "snapname"

// TaskTypes returns the types of the tasks that Proxmox may run the call as. It returns nil for a call that never has a task.
func (c Call) TaskTypes() []string {
	switch row := c.Op.row(); {
	case c.CloneOf != 0 && c.Kind == guest.Container:
		return []string{"vzclone"}
	case c.CloneOf != 0:
		return []string{"qmclone"}
	case c.Kind == guest.Container:
		return row.containerTasks
	default:
		return row.vmTasks
	}
}
