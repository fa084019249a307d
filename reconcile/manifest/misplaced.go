package manifest

import (
	"strings"

	"gitops-agent/reconcile/guest"
)

// Hints for names that are unknown at their position but known elsewhere.

// pathInRoot returns the path of the decoder relative to its root.
func (d decoder) pathInRoot() string {
	return strings.TrimPrefix(strings.TrimPrefix(d.path, d.base), ".")
}

// counterparts are the fields that a kind of guest has in place of a field of the other kind.
var counterparts = map[guest.Kind]map[string]string{
	guest.VirtualMachine: {"rootfs": "disks", "mounts": "disks", "hostname": "name"},
	guest.Container:      {"disks": "rootfs and mounts", "name": "hostname"},
}

// otherKindHint returns a hint for a name that is a field of the other kind of guest at the same path.
func (d decoder) otherKindHint(name string) string {
	var own, other guest.Kind
	switch d.root.(type) {
	case *machine:
		own, other = guest.VirtualMachine, guest.Container
	case *container:
		own, other = guest.Container, guest.VirtualMachine
	default:
		return ""
	}
	path, there := strings.TrimPrefix(d.pathInRoot()+"."+name, "."), false
	walkObject(newSpec(other), "", func(pattern string, row field) {
		there = there || row.name == name && matches(pattern, path)
	})
	instead := counterparts[own][path]
	switch {
	case !there:
		return ""
	case instead == "":
		return "that is a field of " + string(other)
	default:
		return "that is a field of " + string(other) + "; a " + string(own) + " has " + instead
	}
}

// belowSpecHint returns a hint for a name beside spec that belongs below spec or metadata.
func (d decoder) belowSpecHint(rows []field, name string) string {
	if d.path != "" || find(rows, "spec") == nil {
		return ""
	}
	if find((&metadata{}).fields(), name) != nil {
		return didYouMean("metadata." + name)
	}
	kind, _, _ := strings.Cut(d.label, "/")
	if o := objectOf(kind); o != nil && find(o.fields(), name) != nil {
		return didYouMean("spec." + name)
	}
	return ""
}

// objectOf returns the spec of a kind, or nil for an unknown kind.
func objectOf(kind string) object {
	switch kind {
	case kindCluster:
		return &clusterSpec{}
	case kindClass:
		return &classSpec{}
	case string(guest.VirtualMachine), string(guest.Container):
		return newSpec(guest.Kind(kind))
	default:
		return nil
	}
}
