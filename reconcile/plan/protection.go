package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/order"
)

// protectionKey is the key of Proxmox's protection flag.
const protectionKey = "protection"

// DetailProtected is the key of journal.Begun.Detail that is "1" if the guest was protected before the step, and the step may take the flag away: it lifts
// it for its calls, or rolls the guest back.
const DetailProtected = "protected"

// LiftedProtection returns the guests that count as protected although they may not be, by vmid: open steps of the agent took their flag away, and have not
// ended.
func LiftedProtection(state journal.State) map[int]bool {
	var lifted map[int]bool
	for _, open := range state.Open {
		if open.Detail[DetailProtected] != "1" {
			continue
		}
		if lifted == nil {
			lifted = make(map[int]bool)
		}
		lifted[open.VMID] = true
	}
	return lifted
}

// withLifted returns the readings with the protection of the guests from which an open step has lifted it.
func withLifted(got cluster.Snapshot, lifted map[int]bool) cluster.Snapshot {
	if len(lifted) == 0 {
		return got
	}
	got.Guests = maps.Clone(got.Guests)
	for vmid := range lifted {
		live, seen := got.Guests[vmid]
		if !seen || live.IsProtected() {
			continue
		}
		live.Keys = maps.Clone(live.Keys)
		live.Keys[protectionKey] = guest.Value{Text: "1", Set: true}
		got.Guests[vmid] = live
	}
	return got
}

// liftCall returns the call that takes the protection from a guest. It is always a call of its own: Proxmox works off the deletes of a request in order, and
// if it refuses a later one, the protection stays away.
func liftCall(live guest.Observed) cluster.Call {
	call := newCall(cluster.OpConfig, live)
	call.Delete = []string{protectionKey}
	return call
}

// ProtectCall returns the call that protects a guest again.
func ProtectCall(live guest.Observed) cluster.Call {
	call := newCall(cluster.OpConfig, live)
	call.Params = map[string]string{protectionKey: "1"}
	return call
}

// RevertCall returns the call that drops the pending changes of keys of a guest.
//
// Source: PVE API, parameter revert of PUT /nodes/{node}/qemu/{vmid}/config and PUT /nodes/{node}/lxc/{vmid}/config.
func RevertCall(live guest.Observed, keys []string) cluster.Call {
	call := newCall(cluster.OpConfig, live)
	call.Params = map[string]string{"revert": strings.Join(keys, ",")}
	return call
}

// IsLift reports whether a call does nothing but take the protection from a guest.
func IsLift(c cluster.Call) bool {
	return c.Op == cluster.OpConfig && len(c.Params)+len(c.Secrets) == 0 && len(c.Delete) == 1 && c.Delete[0] == protectionKey
}

// IsProtect reports whether a call does nothing but protect a guest.
func IsProtect(c cluster.Call) bool {
	return c.Op == cluster.OpConfig && len(c.Delete)+len(c.Secrets) == 0 && len(c.Params) == 1 && c.Params[protectionKey] == "1"
}

// Lifts reports whether the step takes the protection from its guest for its other calls. If the guest is there when the step ends, it is protected again.
func (s Step) Lifts() bool { return s.Protected && len(s.Calls) > 1 && IsLift(s.Calls[0]) }

// lowersProtection reports whether a change takes the protection from a guest for good.
func lowersProtection(live guest.Observed, c guest.Change) bool {
	return c.Key == protectionKey && live.IsProtected() && (c.Write == guest.WriteDelete || c.Write == guest.WriteSet && !isOn(c.Value))
}

// keepProtection returns the steps of a guest, with one before them that keeps its protection if the end of it waits. Proxmox leaves such an end behind when it
// refuses a request that removes the protection and then a disk. The next call of the agent that writes the configuration, starts or stops the guest would bring
// it into effect.
func keepProtection(p Guest, live guest.Observed) []Step {
	if len(p.Steps) == 0 || !losesProtection(live) {
		return p.Steps
	}
	return append([]Step{keepStep(p, live)}, p.Steps...)
}

// losesProtection reports whether the protection of a guest is on, and its end waits.
func losesProtection(live guest.Observed) bool {
	next, _ := live.Keys[protectionKey].Next()
	return live.IsProtected() && !isOn(next)
}

// keepStep returns the step that takes back the waiting end of the protection.
func keepStep(p Guest, live guest.Observed) Step {
	step := newStep(p, live, cluster.OpConfig, guest.Live, "the end of the protection waits, without an approval")
	step.Changes = []guest.Change{{Key: protectionKey, From: "0", To: "1", Class: guest.Live, Write: guest.WriteSet, Value: "1", Note: "its end waits, and is taken back"}}
	step.Calls = []cluster.Call{ProtectCall(live)}
	return step
}

// withWaitingRemovals marks a step that brings into effect what waits in a protected guest, if that takes a volume out of its slot. Proxmox asks for the protection
// when a removal is written, and not when it takes effect, so the protection may be newer than the removal. An approval names the volumes.
func withWaitingRemovals(s Step, live guest.Observed) Step {
	if !CarriesOutRemovals(s, live) {
		return s
	}
	removed := waitingRemovals(live)
	s.Protected, s.Pending = true, slices.Concat(s.Pending, removed)
	s.Doubt = cmp.Or(s.Doubt, "it carries out a removal that waits: "+strings.Join(removed, ", ")) // part of the digest, so the text never changes
	return s
}

// CarriesOutRemovals reports whether a step can take a volume out of its slot because a removal waits in a protected guest. Proxmox tries to bring into effect what
// waits when it writes the configuration, and when it starts or stops the guest.
func CarriesOutRemovals(s Step, live guest.Observed) bool {
	stops := s.TakesDown() && s.Op != cluster.OpDestroy || s.Op == cluster.OpBackup && s.Calls[0].Params["mode"] == order.ModeStop
	return (stops || s.Starts() || s.Op.Boots() || s.Op == cluster.OpConfig) && live.IsProtected() && len(waitingRemovals(live)) > 0
}

// waitingRemovals returns the volumes that leave their slots when what waits takes effect, as "SLOT=VOLUME", sorted.
func waitingRemovals(live guest.Observed) []string {
	var list []string
	for key, value := range live.Keys {
		next, _ := value.Next()
		for _, volume := range guest.VolumesInSlot(live, key) {
			if !guest.InSlot(next, volume) {
				list = append(list, key+"="+volume)
			}
		}
	}
	slices.Sort(list)
	return list
}

// isOn reports whether a native text sets the protection.
func isOn(text string) bool {
	return guest.Observed{Keys: map[string]guest.Value{protectionKey: {Text: text, Set: true}}}.IsProtected()
}

// overridesProtection reports whether a step does what the protection of its guest stands against, although Proxmox lets it pass: it converts the guest to a
// template, rolls it back, or deletes a volume that it moves.
func overridesProtection(s Step) bool {
	return s.Op == cluster.OpTemplate || s.Op == cluster.OpRollback ||
		s.Op == cluster.OpMove && slices.ContainsFunc(s.Calls, func(c cluster.Call) bool { return c.Params["delete"] == "1" })
}

// IgnoresNewProtection reports whether a step that was planned for a guest without protection must not be carried out on a protected one. Proxmox refuses the
// other steps of this sort, by the digest of their call.
func (s Step) IgnoresNewProtection() bool {
	return !s.Protected && (s.Op == cluster.OpDestroy || overridesProtection(s))
}

// takenOver adds to the changes of a new clone that it gets the protection of its template, or of the snapshot that is cloned, which no manifest mentions.
// Template is the reading of the template, the zero value if it was not read.
func takenOver(changes []guest.Change, d *guest.Desired, template guest.Observed) []guest.Change {
	from, protected := "the clone takes it over from "+template.String(), template.IsProtected()
	if snap := d.Source.Clone.Snap; snap != "" {
		protected = false
		if template.Snapshots != nil {
			section, _ := template.Snapshots.Section(snap)
			protected = isOn(section.Keys[protectionKey])
		}
		from += " at snapshot " + snap
	}
	if !protected {
		return changes
	}
	changes = slices.Clone(changes)
	for i := range changes {
		c := &changes[i]
		if c.Key != protectionKey {
			continue
		}
		if !isOn(c.To) {
			c.From, c.Class, c.Note = "1", guest.Disruptive, from+": taking it away is held until it is approved"
		}
		return changes
	}
	return append(changes, guest.Change{Key: protectionKey, To: "1", Class: guest.Live, Write: guest.WriteNone, Note: from})
}
