package guest

import "gitops-agent/reconcile/guest/form"

// GuardField is a field of a guest's manifest that protects the guest, or one of the guards in the Cluster manifest. Its text is the path of
// the field below spec.
type GuardField string

// The fields of a guest that are guards. To weaken one of them is a step of its own.
const (
	GuardDestroy         GuardField = "lifecycle.destroy"
	GuardRecreate        GuardField = "lifecycle.recreate"
	GuardRebootPolicy    GuardField = "lifecycle.rebootPolicy" // together with the window
	GuardWindow          GuardField = "lifecycle.window"       // only the place of a Setting: the window is compared as a part of the policy
	GuardShutdownTimeout GuardField = "lifecycle.shutdownTimeout"
	GuardForceStop       GuardField = "lifecycle.forceStop"
	GuardProtection      GuardField = "lifecycle.protection" // also if ignoreFields names it
	GuardMode            GuardField = "mode"
	GuardSuspend         GuardField = "suspend"
	GuardAdopt           GuardField = "adopt"
	GuardBackup          GuardField = "backup"   // a backup job has to cover the guest
	GuardFirewall        GuardField = "firewall" // if it is guarded: the whole firewall, and the network cards that have it
	GuardRollout         GuardField = "rollout"  // of a class or the Cluster: how a change reaches the guest
	GuardVMID            GuardField = "vmid"     // of a guest that is owned under another vmid
)

// Fields that are neither guards nor native keys, and in which a name may be wrong.
const (
	FieldNode   GuardField = "node"
	FieldPool   GuardField = "pool"
	FieldSource GuardField = "source"
)

// Setting is the place at which a manifest, a class or the defaults set a field that is a guard, or that no native key has. A field without a Setting has its default.
type Setting struct {
	Field  GuardField
	Origin Origin
}

// Protection is whether a manifest wants Proxmox's protection flag.
type Protection string

// The values of Protection. The flag is unmanaged if the manifest does not mention it or ignores it.
const (
	ProtectionOn        Protection = "on"
	ProtectionOff       Protection = "off"
	ProtectionUnmanaged Protection = "unmanaged"
)

const protectionKey = "protection"

// WantedProtection returns what the manifest wants of the protection flag, however it says so.
func (d *Desired) WantedProtection() Protection {
	if len(d.Ignore) > 0 && ignores(d.Ignore, protectionKey, "") {
		return ProtectionUnmanaged
	}
	for i := range d.Intents {
		in := &d.Intents[i]
		switch {
		case in.Key != protectionKey:
		case in.Verb == Want && form.Truth(in.Text) == "1":
			return ProtectionOn
		default:
			return ProtectionOff
		}
	}
	return ProtectionUnmanaged
}

// WithProtection returns the guest with the protection flag on, whatever its manifest says.
func (d Desired) WithProtection() Desired {
	on := Intent{Key: protectionKey, Verb: Want, Text: "1", Origin: d.Origin}
	intents, placed := make([]Intent, 0, len(d.Intents)+1), false
	for _, in := range d.Intents {
		if !placed && in.Key >= protectionKey {
			if in.Key == protectionKey {
				on.Origin = in.Origin
			}
			intents, placed = append(intents, on), true
		}
		if in.Key != protectionKey {
			intents = append(intents, in)
		}
	}
	if !placed {
		intents = append(intents, on)
	}
	d.Intents = intents
	var ignored []string
	for _, entry := range d.Ignore {
		if entry != protectionKey {
			ignored = append(ignored, entry)
		}
	}
	d.Ignore = ignored
	return d
}

// IsProtected reports whether the protection flag of a live guest is on.
func (o Observed) IsProtected() bool { return form.Truth(o.Keys[protectionKey].Text) == "1" }

// SetAt returns where a field is set, the zero Origin if it has its default.
func (d *Desired) SetAt(field GuardField) Origin {
	for _, s := range d.Settings {
		if s.Field == field {
			return s.Origin
		}
	}
	if field == GuardFirewall && d.Firewall != nil {
		return d.Firewall.Origin
	}
	if field == GuardProtection {
		for i := range d.Intents {
			if d.Intents[i].Key == protectionKey {
				return d.Intents[i].Origin
			}
		}
	}
	return Origin{}
}

// PlaceOf returns where a field or a native key is set, the place of the manifest if nothing sets it.
func (d *Desired) PlaceOf(key string) Origin {
	if at := d.SetAt(GuardField(key)); at != (Origin{}) {
		return at
	}
	for i := range d.Intents {
		if d.Intents[i].Key == key {
			return d.Intents[i].Origin
		}
	}
	return d.Origin
}

// GuardsOfObjects returns the guards of the guest that changes of other objects can weaken.
func (d *Desired) GuardsOfObjects() []GuardField {
	return GuardsOfObjects(d.Backup, d.Firewall != nil && d.Firewall.Guarded)
}

// GuardsOfObjects returns the guards that changes of other objects can weaken, of a guest that requires backups or not, and whose firewall is guarded or not.
func GuardsOfObjects(backup, firewall bool) []GuardField {
	var guards []GuardField
	if backup {
		guards = append(guards, GuardBackup)
	}
	if firewall {
		guards = append(guards, GuardFirewall)
	}
	return guards
}
