package plan

import (
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// runStateStep returns the step that brings the guest to the wanted run state. It returns false for a paused guest and for a guest whose state
// is unknown.
func runStateStep(p Guest, d *guest.Desired, live guest.Observed) (Step, bool) {
	if live.Template {
		return Step{}, false
	}
	call := newCall("", live)
	class := guest.Live
	switch {
	case d.State == guest.Running && live.Status == guest.StatusStopped:
		call.Op = cluster.OpStart
	case d.State == guest.Stopped && live.Status == guest.StatusRunning:
		call.Op, class = cluster.OpShutdown, guest.Disruptive
		call.Params = map[string]string{"timeout": strconv.Itoa(shutdownSeconds(d.Lifecycle))}
		if d.Lifecycle.ForceStop {
			call.Params["forceStop"] = "1"
		}
	default:
		return Step{}, false
	}
	step := newStep(p, live, call.Op, class, "state: "+string(d.State))
	step.Calls = []cluster.Call{call}
	return step, true
}

// rebootStep returns the restart that brings written changes into effect, if the manifest's rebootPolicy allows a restart. The gate decides
// when. The step uses Proxmox's own reboot, since a reboot from inside the guest does not apply pending changes.
func rebootStep(p Guest, d *guest.Desired, live guest.Observed) (Step, bool) {
	policy := d.Lifecycle.RebootPolicy
	if policy == "" || policy == guest.RebootNever || live.Template || live.Status != guest.StatusRunning || d.State == guest.Stopped {
		return Step{}, false
	}
	step := newStep(p, live, cluster.OpReboot, guest.Disruptive, "rebootPolicy: "+string(policy))
	for _, c := range p.Changes {
		if needsRestart(c) {
			step.Pending = append(step.Pending, c.Key+"="+c.To)
		}
	}
	if len(step.Pending) == 0 {
		return Step{}, false
	}
	if foreign := foreignPending(d, p.Changes, live); len(foreign) > 0 {
		// The text is part of the step's digest, so it never changes.
		step.Doubt = "it also brings into effect what somebody else wrote: " + strings.Join(foreign, ", ")
		for _, key := range foreign {
			step.Pending = append(step.Pending, pendingText(key, live.Keys[key]))
		}
	}
	slices.Sort(step.Pending)
	call := newCall(cluster.OpReboot, live)
	call.Params = map[string]string{"timeout": strconv.Itoa(shutdownSeconds(d.Lifecycle))}
	step.Calls = []cluster.Call{call}
	return step, true
}

// needsRestart reports whether a change certainly takes effect only after a restart, whether it is written already or not.
func needsRestart(c guest.Change) bool {
	if c.Waits {
		return !c.Unsure
	}
	written := c.Write == guest.WriteSet || c.Write == guest.WriteDelete || c.Write == guest.WriteSecret
	return c.Class == guest.Restart && written
}

// foreignPending returns the keys with pending values that the manifest did not cause, sorted. A pending value of a key in the manifest is
// foreign too if it is not a change that the manifest asks for, for example another volume in a slot of which only the size is wanted.
func foreignPending(d *guest.Desired, changes []guest.Change, live guest.Observed) []string {
	var keys []string
	for key, value := range live.Keys {
		if value.Pending == nil && !value.Delete {
			continue
		}
		managed := slices.ContainsFunc(d.Secrets, func(s guest.Secret) bool { return s.Key == key }) ||
			slices.ContainsFunc(changes, func(c guest.Change) bool { return c.Key == key && needsRestart(c) })
		if !managed {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// pendingText returns the pending value of a key: "key=value", or "key" if the key will be removed.
func pendingText(key string, value guest.Value) string {
	if next, there := value.Next(); there {
		return key + "=" + next
	}
	return key
}
