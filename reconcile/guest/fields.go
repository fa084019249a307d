package guest

import (
	"maps"
	"reflect"
	"slices"
)

// ChangedFields returns what of a manifest differs between two versions, sorted: native keys, and fields that are no native key such as "spec.vmid".
// A key that is ignored in one version only differs too. Positions in files are not compared.
func ChangedFields(a, b Desired) []string {
	if reflect.DeepEqual(&a, &b) {
		return nil // at once for guests that share memory, which most guests of two trees do
	}
	changed := make(map[string]bool)
	note := func(field string, same bool) {
		if !same {
			changed[field] = true
		}
	}
	note("spec.vmid", a.VMID == b.VMID)
	note("spec.adopt", a.Adopt == b.Adopt)
	note("spec.source", reflect.DeepEqual(a.Source, b.Source))
	note("spec.node", a.Node == b.Node && slices.Equal(a.Nodes, b.Nodes) && a.Migrate == b.Migrate && reflect.DeepEqual(a.Placement, b.Placement))
	note("spec.pool", a.Pool == b.Pool)
	note("spec.template", a.Template == b.Template)
	note("spec.mode", a.Observe == b.Observe)
	note("spec.backup", a.Backup == b.Backup)
	note("spec.suspend", reflect.DeepEqual(a.Suspend, b.Suspend))
	note("metadata.labels", maps.Equal(a.Labels, b.Labels))
	noteLifecycle(note, a.Lifecycle, b.Lifecycle)
	note("spec.lifecycle.startWithout", slices.Equal(a.StartWithout, b.StartWithout))
	a, b = a.WithoutOrigins(), b.WithoutOrigins()
	note("spec.snapshots", reflect.DeepEqual(a.Snapshots, b.Snapshots))
	note("spec.firewall", reflect.DeepEqual(a.Firewall, b.Firewall))
	note("spec.ha", reflect.DeepEqual(a.HA, b.HA))
	differing(a.Intents, b.Intents, func(in Intent) string { return in.Key }, changed)
	differing(a.Secrets, b.Secrets, func(s Secret) string { return s.Key }, changed)
	differing(a.Ignore, b.Ignore, func(key string) string { return key }, changed)
	note("spec", reflect.DeepEqual(a.others(), b.others()))
	return slices.Sorted(maps.Keys(changed))
}

// noteLifecycle notes the fields of a lifecycle: each may be a guard that one commit weakens.
func noteLifecycle(note func(field string, same bool), a, b Lifecycle) {
	note("spec.lifecycle.destroy", a.Destroy == b.Destroy)
	note("spec.lifecycle.recreate", a.Recreate == b.Recreate)
	note("spec.lifecycle.rebootPolicy", a.RebootPolicy == b.RebootPolicy && a.Window == b.Window)
	note("spec.lifecycle.shutdownTimeout", a.ShutdownTimeout == b.ShutdownTimeout)
	note("spec.lifecycle.forceStop", a.ForceStop == b.ForceStop)
}

// others returns the fields that ChangedFields does not name.
func (d Desired) others() Desired {
	d.VMID, d.Adopt, d.Source, d.Node, d.Nodes, d.Migrate, d.Pool, d.Template = 0, false, Source{}, "", nil, "", "", false
	d.Placement, d.WhyNode = nil, ""
	d.Backup, d.Firewall = false, nil
	d.Observe, d.Suspend, d.Invalid, d.Labels, d.Snapshots = false, nil, nil, nil, nil
	d.StartWithout = nil
	d.Lifecycle, d.HA, d.Intents, d.Secrets, d.Ignore, d.Origin = Lifecycle{}, nil, nil, nil, nil, Origin{}
	return d
}

// differing notes the keys of the elements that differ between two lists. An element without an equal one in the other list differs.
func differing[T any](a, b []T, key func(T) string, changed map[string]bool) {
	before := make(map[string]T, len(a))
	for _, e := range a {
		before[key(e)] = e
	}
	for _, e := range b {
		old, found := before[key(e)]
		if !found || !reflect.DeepEqual(old, e) {
			changed[key(e)] = true
		}
		delete(before, key(e))
	}
	for k := range before {
		changed[k] = true
	}
}
