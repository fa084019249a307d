package guest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gitops-agent/reconcile/guest/form"
)

// CreateParams returns the native parameters of the call that creates the guest: vmid (if it is assigned), name or hostname, pool, the
// source, and every intent. New volumes are in allocation syntax, and the tags contain the marker. The call does not start the guest.
// Secrets are left out, see CreateSecrets, and so are settings of root@pam, see RootOnlyAtCreation. It fails for a guest that is cloned or has no source. The error names every key that cannot be
// set at creation, with the reason.
//
// A new virtual machine gets the uuid of d, unless an intent names one: Proxmox adds none to SMBIOS fields without a uuid.
//
// A restored guest gets its name and its tags in place of the backup's, and the keys that can only be set at creation. Diff returns the
// other changes afterwards, as for a clone.
//
// Source: PVE API, POST /nodes/{node}/qemu and /nodes/{node}/lxc.
func CreateParams(d Desired) (map[string]string, error) {
	return CreateParamsOn(d, Version{})
}

// CreateParamsOn is CreateParams for a node with the given release. A key that the release does not support is an error, too.
func CreateParamsOn(d Desired, node Version) (map[string]string, error) {
	if err := checkSource(d); err != nil {
		return nil, err
	}
	params := map[string]string{}
	setUnlessEmpty(params, nameKey(d.Kind), d.Name)
	var problems []error
	var omitted []string
	live := beforeCreation(d)
	live.Version = node
	for _, change := range (&comparison{want: &d, live: live, creating: true}).run() {
		r, _ := find(d.Kind, change.Key)
		switch {
		case d.Source.Backup != nil && !d.restores(change.Key, r):
			continue
		case leftToRoot(d.Kind, change):
			omitted = append(omitted, change.Key)
		case change.Class == Impossible:
			problems = append(problems, fmt.Errorf("set %s: %s", change.Key, change.Note))
		case r.Form == form.Secret:
			problems = append(problems, fmt.Errorf("set %s: a secret must be in a file; name the file instead", change.Key))
		default:
			setUnlessEmpty(params, change.Key, change.Value) // empty if only defaults are wanted
		}
	}
	withoutBootFrom(params, omitted)
	if d.UUID != "" && d.Source.Backup == nil {
		addUUID(params, d.UUID)
	}
	problems = append(problems, d.Source.add(params, d)...)
	setUnlessEmpty(params, "pool", d.Pool)
	if d.VMID != 0 {
		params["vmid"] = strconv.Itoa(d.VMID)
	}
	return params, errors.Join(problems...)
}

// NameInProxmox returns the name that the guest gets when it is created.
func (d *Desired) NameInProxmox() string {
	for _, in := range d.Intents {
		if in.Key == nameKey(d.Kind) && in.Verb == Want && in.Text != "" {
			return in.Text
		}
	}
	return d.Name
}

// addUUID adds the SMBIOS uuid to the parameters that create a virtual machine, if they contain none.
func addUUID(params map[string]string, uuid string) {
	switch fields := params["smbios1"]; {
	case fields == "":
		params["smbios1"] = "uuid=" + uuid
	case uuidOf(fields) == "":
		params["smbios1"] = "uuid=" + uuid + "," + fields
	}
}

// WantedUUID returns the SMBIOS uuid that the manifest names, in lower case; "" if it names none.
func (d *Desired) WantedUUID() string {
	for _, in := range d.Intents {
		switch {
		case in.Key != "smbios1" || in.Verb != Want:
		case in.Sub != nil:
			return strings.ToLower(in.Sub["uuid"])
		default:
			return uuidOf(in.Text)
		}
	}
	return ""
}

// CreationUUID returns the uuid that the parameters of a call give to a new virtual machine, in lower case; "" if they give none.
func CreationUUID(params map[string]string) string { return uuidOf(params["smbios1"]) }

// CloneParams returns the native parameters of the call that clones the guest's template: newid (if it is assigned), name or hostname,
// pool, the snapshot, full, and for a full clone its storage and, for a virtual machine, its format. A clone is created on the node of its
// template: only the caller knows this node and whether a target must be given. Diff returns the other changes for the clone.
//
// Source: PVE API, POST /nodes/{node}/{qemu,lxc}/{vmid}/clone.
func CloneParams(d Desired) map[string]string {
	params := map[string]string{}
	setUnlessEmpty(params, nameKey(d.Kind), d.NameInProxmox())
	setUnlessEmpty(params, "pool", d.Pool)
	if d.VMID != 0 {
		params["newid"] = strconv.Itoa(d.VMID)
	}
	params["full"] = "0"
	clone := d.Source.Clone
	if clone == nil {
		return params
	}
	setUnlessEmpty(params, "snapname", clone.Snap)
	if clone.Full {
		params["full"] = "1"
		setUnlessEmpty(params, "storage", clone.Storage)
	}
	if clone.Full && d.Kind == VirtualMachine {
		setUnlessEmpty(params, "format", clone.Format)
	}
	return params
}

// beforeCreation returns a guest that is not created yet, for the computation of costs and obstacles. A container is unprivileged unless the
// manifest states otherwise.
func beforeCreation(d Desired) *Observed {
	o := Observed{Ref: d.Ref, Status: StatusStopped, Keys: map[string]Value{}}
	if d.Kind == Container {
		o.Keys["unprivileged"] = Value{Text: "1", Set: true}
	}
	for _, in := range d.Intents {
		if in.Key == "unprivileged" && in.Verb == Want {
			o.Keys[in.Key] = Value{Text: in.Text, Set: true}
		}
	}
	return &o
}
