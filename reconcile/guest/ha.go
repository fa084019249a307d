package guest

import (
	"strconv"
)

// Values of a Change with WriteHA.
const (
	HAAdd    = "add"
	HASet    = "set"
	HARemove = "remove"
)

// haIgnored is the state of an entry that the HA manager leaves alone, as if there was none.
const haIgnored = "ignored"

// Manages reports whether an entry lets the HA manager start and move its guest.
//
// Source: PVE::HA::Config, vm_is_ha_managed.
func (h HA) Manages() bool { return h.State != haIgnored }

// Manages reports whether a manifest lets the HA manager start and move its guest. It may be called without an entry.
func (w *HAWanted) Manages() bool { return w != nil && !w.Absent && w.State != haIgnored }

// haDefault is the entry that the HA manager creates by default.
var haDefault = HA{State: "started", MaxRestart: 1, MaxRelocate: 1}

// HAParams returns the native parameters of the call that adds the guest to the HA manager (verb HAAdd) or changes its entry (HASet). It
// returns only wanted fields; a change leaves out ignored fields.
//
// Source: PVE API, POST /cluster/ha/resources and PUT /cluster/ha/resources/{sid}.
func HAParams(d Desired, verb string) map[string]string {
	params := map[string]string{}
	if d.HA == nil {
		return params
	}
	wanted := *d.HA
	if verb == HASet {
		wanted = wanted.withoutIgnored(d.Ignore)
	}
	setUnlessEmpty(params, "state", wanted.State)
	if wanted.MaxRestart != nil {
		params["max_restart"] = strconv.Itoa(*wanted.MaxRestart)
	}
	if wanted.MaxRelocate != nil {
		params["max_relocate"] = strconv.Itoa(*wanted.MaxRelocate)
	}
	if wanted.Failback != nil {
		params["failback"] = map[bool]string{false: "0", true: "1"}[*wanted.Failback]
	}
	return params
}

// withoutIgnored returns the wanted entry without the fields that are not compared.
func (w HAWanted) withoutIgnored(ignore []string) HAWanted {
	if len(ignore) == 0 {
		return w
	}
	if ignores(ignore, "ha", "state") {
		w.State = ""
	}
	if ignores(ignore, "ha", "max_restart") {
		w.MaxRestart = nil
	}
	if ignores(ignore, "ha", "max_relocate") {
		w.MaxRelocate = nil
	}
	if ignores(ignore, "ha", "failback") {
		w.Failback = nil
	}
	return w
}

// appliedTo returns the entry h with the wanted fields set.
func (w HAWanted) appliedTo(h HA) HA {
	if w.State != "" {
		h.State = w.State
	}
	if w.MaxRestart != nil {
		h.MaxRestart = *w.MaxRestart
	}
	if w.MaxRelocate != nil {
		h.MaxRelocate = *w.MaxRelocate
	}
	if w.Failback != nil {
		h.NoFailback = !*w.Failback
	}
	return h
}

// compareHA adds the change of the guest's entry with the HA manager. It adds nothing if the guest has an entry that was not read.
func (c *comparison) compareHA() {
	wanted, have := c.want.HA, c.live.Resource
	if wanted == nil || c.ignoresKey("ha") || have == nil && c.live.HA {
		return
	}
	change := Change{Key: "ha", Write: WriteHA, Origin: wanted.Origin}
	if have != nil {
		change.From = have.String()
	}
	switch {
	case wanted.Absent && have == nil:
		return
	case wanted.Absent:
		change.Value = HARemove
		change.Class, change.Note = Disruptive, "HA removed: no failover to other nodes"
	case have == nil:
		next := wanted.appliedTo(haDefault)
		change.To, change.Value = next.String(), HAAdd
		change.Class, change.Note = c.haCost("", next.State)
	default:
		next := wanted.withoutIgnored(c.want.Ignore).appliedTo(*have)
		if next == *have {
			return
		}
		change.To, change.Value = next.String(), HASet
		change.Class, change.Note = c.haCost(have.State, next.State)
	}
	if why := since90.unsupportedBy(c.live.Version); why != "" && !wanted.Absent && wanted.withoutIgnored(c.want.Ignore).Failback != nil {
		change.Class, change.Write, change.Value, change.Note = Impossible, WriteNone, "", "failback: "+why+"; leave it out"
	}
	c.add(change)
}

// AskedOfHA returns the run state that the guest's entry with the HA manager asks for, StatusRunning or StatusStopped, and to which the manager brings the guest in its own
// time; "" if the manifest leaves that open, if it wants another entry first, or if the entry leaves the run state alone.
func AskedOfHA(d *Desired, o *Observed) Status {
	wanted, have := d.HA, o.Resource
	if wanted == nil || wanted.Absent || have == nil || o.Template || ignores(d.Ignore, "ha", "state") {
		return ""
	}
	asked := have.Asks()
	switch {
	case wanted.appliedTo(*have).Asks() != asked:
		return "" // the entry is changed first
	case wanted.State == "" && (d.State == Running && asked != StatusRunning || d.State == Stopped && asked != StatusStopped):
		return "" // the manifest names the run state itself, and not the state of the entry
	}
	return asked
}

// RunsUnderHA reports whether the manifest wants the HA manager to keep the guest running. Without a state, a new entry is started.
func RunsUnderHA(d *Desired) bool {
	return d.HA != nil && !d.HA.Absent && d.HA.appliedTo(haDefault).Asks() == StatusRunning
}

// WaitsAt reports whether the entry asks for another run state than a guest has, to which the HA manager will bring it. To the manager a paused guest runs.
func (h HA) WaitsAt(now Status) bool {
	switch h.Asks() {
	case StatusRunning:
		return now == StatusStopped
	case StatusStopped:
		return now == StatusRunning || now == StatusPaused
	case StatusPaused, StatusUnknown:
	}
	return false
}

// HAUnread reports whether the guest has an entry with the HA manager that its manifest is about and that was not read.
func HAUnread(d *Desired, o *Observed) bool {
	return d.HA != nil && o.HA && o.Resource == nil && !ignores(d.Ignore, "ha", "")
}

// Asks returns the run state that the entry asks for, "" if it leaves that alone.
func (h HA) Asks() Status {
	switch h.State {
	case "started", "enabled":
		return StatusRunning
	case "stopped", "disabled":
		return StatusStopped
	}
	return ""
}

// haCost returns what the HA manager does to the guest when the wanted state changes. The HA manager acts on its own.
func (c *comparison) haCost(from, to string) (Class, string) {
	runs := edit{live: c.live}.running()
	switch {
	case from == to:
		return Live, ""
	case (to == "stopped" || to == "disabled") && runs:
		return Disruptive, "the HA manager shuts the guest down"
	case to == "started" && !runs:
		return Live, "the HA manager starts the guest"
	case to == "ignored" && from != "":
		return Disruptive, "HA suspended: no failover to other nodes"
	default:
		return Live, "the HA manager manages the guest"
	}
}
