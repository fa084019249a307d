package guest

import (
	"errors"
	"fmt"
	"strconv"
)

// CreateParams returns the native parameters of the call that makes the guest: vmid (if it is assigned), name or hostname,
// pool, the source, and every intent; new volumes in allocation syntax, tags with the marker. The guest is not started, and
// secrets are not among them, see CreateSecrets. It fails for a guest that is cloned or has no source, and names every key that
// cannot be set at creation and why.
//
// A restored guest is given what it is to be known by, its name and its tags in place of the backup's, and what can only be set
// at creation. Like a clone's, the rest of what the manifest wants is a Diff's to tell.
//
// Source: PVE API, POST /nodes/{node}/qemu and /nodes/{node}/lxc.
func CreateParams(d Desired) (map[string]string, error) {
	return CreateParamsOn(d, Version{})
}

// CreateParamsOn is CreateParams for a node that runs the given release: a key that it does not know is an error, too.
func CreateParamsOn(d Desired, node Version) (map[string]string, error) {
	if err := checkSource(d); err != nil {
		return nil, err
	}
	params := map[string]string{}
	setUnlessEmpty(params, nameKey(d.Kind), d.Name)
	var problems []error
	live := beforeCreation(d)
	live.Version = node
	for _, change := range (&comparison{want: &d, live: live, creating: true}).run() {
		r, _ := find(d.Kind, change.Key)
		switch {
		case d.Source.Backup != nil && !d.restores(change.Key, r):
			continue
		case change.Class == Impossible:
			problems = append(problems, fmt.Errorf("set %s: %s", change.Key, change.Note))
		case r.form == secretForm:
			problems = append(problems, fmt.Errorf("set %s: a secret is kept in a file, and named", change.Key))
		default:
			setUnlessEmpty(params, change.Key, change.Value) // a wish of defaults alone comes to nothing
		}
	}
	problems = append(problems, d.Source.add(params, d)...)
	setUnlessEmpty(params, "pool", d.Pool)
	if d.VMID != 0 {
		params["vmid"] = strconv.Itoa(d.VMID)
	}
	return params, errors.Join(problems...)
}

// CloneParams returns the native parameters of the call that clones the guest's template: newid (if it is assigned), name or
// hostname, pool, the snapshot, full, and for a full clone its storage and, of a virtual machine, its format. Clones are made on the template's node: only the caller knows which
// that is and whether a target has to be named. What else the manifest wants, a Diff of the clone tells.
//
// Source: PVE API, POST /nodes/{node}/{qemu,lxc}/{vmid}/clone.
func CloneParams(d Desired) map[string]string {
	params := map[string]string{}
	name := d.Name
	for _, in := range d.Intents {
		if in.Key == nameKey(d.Kind) && in.Verb == Want && in.Text != "" {
			name = in.Text
		}
	}
	setUnlessEmpty(params, nameKey(d.Kind), name)
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

// beforeCreation is the guest before its creation, as far as costs and obstacles ask: containers are unprivileged unless they are
// wanted otherwise.
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

// nameKey is the native key of a guest's name.
func nameKey(kind Kind) string {
	if kind == Container {
		return "hostname"
	}
	return "name"
}

func setUnlessEmpty(params map[string]string, key, value string) {
	if value != "" {
		params[key] = value
	}
}
