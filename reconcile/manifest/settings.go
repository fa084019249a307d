package manifest

import (
	"slices"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// settings returns where the manifest, a class or the defaults set the fields that are guards. Protection is an intent with a place of its
// own, unless it is ignored.
func (c *common) settings(l *lowering) []guest.Setting {
	var out []guest.Setting
	add := func(field guest.GuardField, set bool, p place) {
		if set {
			out = append(out, guest.Setting{Field: field, Origin: guest.Origin(p.at)})
		}
	}
	add(guest.GuardDestroy, c.lifecycle.destroy.set, c.lifecycle.destroy.place)
	add(guest.GuardRecreate, c.lifecycle.recreate.set, c.lifecycle.recreate.place)
	add(guest.GuardRebootPolicy, c.lifecycle.rebootPolicy.set, c.lifecycle.rebootPolicy.place)
	add(guest.GuardWindow, c.lifecycle.window.set, c.lifecycle.window.place)
	add(guest.GuardShutdownTimeout, c.lifecycle.shutdownTimeout.set, c.lifecycle.shutdownTimeout.place)
	add(guest.GuardForceStop, c.lifecycle.forceStop.set, c.lifecycle.forceStop.place)
	add(guest.GuardMode, c.mode.set, c.mode.place)
	add(guest.GuardBackup, c.backup.set, c.backup.place)
	add(guest.GuardSuspend, c.suspend.set, c.suspend.place)
	add(guest.GuardAdopt, c.adopt.set, c.adopt.place)
	add(guest.GuardVMID, c.vmid.set, c.vmid.place)
	for _, path := range c.ignore.value {
		add(guest.GuardProtection, slices.Contains(l.nativesOf(path.value), "protection"), path.place)
	}
	return out
}

// namesIn returns where the spec of a guest has the names of a node, a pool, and what it is made from.
func namesIn(spec *tree.Node) []guest.Setting {
	return slices.DeleteFunc([]guest.Setting{
		{Field: guest.FieldNode, Origin: placeOf(spec, "node", "placement")},
		{Field: guest.FieldPool, Origin: placeOf(spec, "pool")},
		{Field: guest.FieldSource, Origin: placeOf(spec, "source")},
	}, func(s guest.Setting) bool { return s.Origin == guest.Origin{} })
}
