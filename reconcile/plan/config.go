package plan

import (
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// changeSteps returns the steps for the changes of a live guest: config steps, and one step for each change that needs a separate call.
func changeSteps(p Guest, d *guest.Desired, live guest.Observed) []Step {
	steps := configSteps(p, d, live)
	for _, c := range p.Changes {
		if step, ok := separateStep(p, d, live, c); ok {
			step.Protected = live.IsProtected() && overridesProtection(step)
			steps = append(steps, step)
		}
	}
	return sortSteps(steps)
}

// sortSteps sorts a guest's steps by operation. A disk is resized and moved before its text is written: a text that waits for the next start
// contains volume and size, and Proxmox does not correct it afterwards.
func sortSteps(steps []Step) []Step {
	written := map[string]bool{}
	for _, s := range steps {
		for _, c := range s.Changes {
			written[c.Key] = written[c.Key] || s.Op == cluster.OpConfig
		}
	}
	rank := func(s Step) int {
		if (s.Op == cluster.OpResize || s.Op == cluster.OpMove) && written[s.Changes[0].Key] {
			return 2*cluster.OpConfig.Position() - 1
		}
		return 2 * s.Op.Position()
	}
	slices.SortStableFunc(steps, func(a, b Step) int { return rank(a) - rank(b) })
	return steps
}

// configSteps groups the writable changes into calls. Changes that interrupt the guest get a separate step, so that holding them does not
// hold the others. So do the begin and the end of the protection, since Proxmox keeps a part of a call that it refuses, the changes that the protection stands
// against, and those that take a volume out of its backups.
func configSteps(p Guest, d *guest.Desired, live guest.Observed) []Step {
	if len(p.Changes) == 0 {
		return nil
	}
	var steps []Step
	for _, class := range []guest.Class{guest.Live, guest.Disruptive, guest.Destructive} {
		for _, set := range []configSet{lowering, raising, ordinary, guarded} {
			for _, leavesBackups := range []bool{false, true} {
				if step, ok := configStep(p, d, live, class, set, leavesBackups); ok {
					steps = append(steps, step)
				}
			}
		}
	}
	return steps
}

// configSet is a part of the changes of one class that get a step of their own.
type configSet int

const (
	lowering configSet = iota // the end of the protection
	raising                   // its begin, before anything else is written
	ordinary
	guarded // what the protection stands against, if it is on; also without it if the step needs an approval, so that it names the same calls
)

func setOf(live guest.Observed, c guest.Change) configSet {
	switch {
	case lowersProtection(live, c):
		return lowering
	case c.Key == protectionKey:
		return raising
	case c.Guarded && (live.IsProtected() || writeClass(c.Class) != guest.Live || c.LeavesBackups != ""):
		return guarded
	}
	return ordinary
}

// configStep returns the step for the changes of one class and set that take volumes out of their backups, or that take out none; false if there are none.
func configStep(p Guest, d *guest.Desired, live guest.Observed, class guest.Class, set configSet, leavesBackups bool) (Step, bool) {
	step := newStep(p, live, cluster.OpConfig, class, "configuration differs")
	call := newCall(cluster.OpConfig, live)
	call.Params = map[string]string{}
	for _, c := range p.Changes {
		if writeClass(c.Class) != class || setOf(live, c) != set || (c.LeavesBackups != "") != leavesBackups || !addConfig(&call, c) {
			continue
		}
		step.Changes = append(step.Changes, c)
		step.DetachedVolumes = append(step.DetachedVolumes, detachedVolumes(live, c)...)
		step.Class = worseClass(step.Class, c.Class)
		if leavesBackups {
			step.Loses = append(step.Loses, backupLoss(d.Ref, c.LeavesBackups))
		}
	}
	if len(step.Changes) == 0 {
		return Step{}, false
	}
	slices.Sort(step.DetachedVolumes)
	step.Calls = []cluster.Call{call}
	if needsCloudInit(d, live, step.Changes) {
		step.Calls = append(step.Calls, newCall(cluster.OpCloudInit, live))
	}
	step.Protected = live.IsProtected() && (set == lowering || set == guarded)
	if step.Protected && set == guarded {
		step.Calls = slices.Concat([]cluster.Call{liftCall(live)}, step.Calls, []cluster.Call{ProtectCall(live)})
	}
	return step, true
}

// addConfig adds a change to a config call. It returns false for a change that is not written by a config call.
func addConfig(call *cluster.Call, c guest.Change) bool {
	switch c.Write {
	case guest.WriteSet:
		call.Params[c.Key] = c.Value
	case guest.WriteDelete:
		call.Delete = append(call.Delete, c.Key)
	case guest.WriteSecret:
		if call.Secrets == nil {
			call.Secrets = make(map[string]string)
		}
		call.Secrets[c.Key] = c.Value
	case guest.WriteResize, guest.WriteMove, guest.WriteMigrate, guest.WritePool, guest.WriteTemplate, guest.WriteHA, guest.WriteFirewall, guest.WriteNone:
		return false
	}
	return true
}

// detachedVolumes returns the volumes that a change removes from their slot, as "SLOT=VOLUME". The call names only the slot, and another
// volume may be in the slot when the step is approved. It includes the volume that the slot held before, if a new empty volume replaces it.
func detachedVolumes(live guest.Observed, c guest.Change) []string {
	if c.Replaces != "" {
		return []string{c.Key + "=" + c.Replaces}
	}
	if c.Write != guest.WriteDelete && c.Write != guest.WriteMove && guest.AddedVolume(live, c) == "" {
		return nil
	}
	var list []string
	for _, volume := range guest.VolumesInSlot(live, c.Key) {
		list = append(list, c.Key+"="+volume)
	}
	return list
}

// needsCloudInit reports whether the changes require that the guest's cloud-init drive is written again. A stopped guest gets a new drive when
// it starts.
func needsCloudInit(d *guest.Desired, live guest.Observed, changes []guest.Change) bool {
	return d.Refresh && live.Kind == guest.VirtualMachine && live.Status == guest.StatusRunning && guest.HasCloudInit(live) &&
		slices.ContainsFunc(changes, func(c guest.Change) bool { return guest.IsCloudInit(c.Key) })
}

// separateStep returns the step of a change that needs a separate call. It returns false for a change that a config call writes.
func separateStep(p Guest, d *guest.Desired, live guest.Observed, c guest.Change) (Step, bool) {
	switch c.Write {
	case guest.WriteResize:
		call := newCall(cluster.OpResize, live)
		call.Params = map[string]string{"disk": c.Key, "size": c.Value}
		return singleCallStep(p, live, c, call, "disk is smaller than wanted"), true
	case guest.WriteMove:
		call := newCall(cluster.OpMove, live)
		call.Params = map[string]string{"disk": c.Key, "storage": c.Value, "delete": "0"}
		step := singleCallStep(p, live, c, call, "disk is on another storage")
		step.CopyTargets, step.DetachedVolumes = []string{c.Value}, detachedVolumes(live, c)
		if left := guest.UnusedVolumesOn(live, c.Value); len(left) > 0 && step.Class == guest.Live {
			// Each move back and forth leaves one more whole volume, until the storage is full.
			step.Class, step.Changes[0].Class = guest.Disruptive, guest.Disruptive
			step.Changes[0].Note += "; one is on " + c.Value + " already: " + strings.Join(left, ", ")
		}
		return step, true
	case guest.WriteMigrate:
		return singleCallStep(p, live, c, migrateCall(live, c.Value, d.Lifecycle), "guest is on another node"), true
	case guest.WritePool:
		call := newCall(cluster.OpPool, live)
		call.Params = map[string]string{"poolid": c.Value}
		return singleCallStep(p, live, c, call, "guest is in another pool"), true
	case guest.WriteTemplate:
		return singleCallStep(p, live, c, newCall(cluster.OpTemplate, live), "guest is to be a template"), true
	case guest.WriteHA:
		return singleCallStep(p, live, c, haCall(d, live, c.Value), "HA entry differs"), true
	case guest.WriteSet, guest.WriteDelete, guest.WriteSecret, guest.WriteFirewall, guest.WriteNone:
	}
	return Step{}, false
}

// RewriteSize returns the step that replaces a resize without effect. The volume has the size already, and its text contains a smaller size,
// because a start restored an old text. The returned step writes the text with the size of the volume. In a protected container it lifts the protection for that.
func RewriteSize(resize Step, live guest.Observed) Step {
	step, c := resize, resize.Changes[0]
	step.Op, step.Reason = cluster.OpConfig, "the disk is larger than its configuration states"
	c.Write, c.Value, c.Note = guest.WriteSet, guest.TextWithSize(live, c.Key, c.Value), "the volume has that size already"
	call := newCall(cluster.OpConfig, live)
	call.Params = map[string]string{c.Key: c.Value}
	step.Changes, step.Calls = []guest.Change{c}, []cluster.Call{call}
	if live.Kind == guest.Container && live.IsProtected() {
		step.Protected, step.Calls = true, []cluster.Call{liftCall(live), call, ProtectCall(live)}
	}
	return step
}

// migrateCall moves a guest to another node. Local disks are copied along.
func migrateCall(live guest.Observed, target string, lifecycle guest.Lifecycle) cluster.Call {
	call := newCall(cluster.OpMigrate, live)
	call.Params = map[string]string{"target": target}
	if live.Status == guest.StatusStopped {
		return call
	}
	if live.Kind == guest.Container {
		call.Params["restart"], call.Params["timeout"] = "1", strconv.Itoa(shutdownSeconds(lifecycle))
		return call
	}
	call.Params["online"], call.Params["with-local-disks"] = "1", "1"
	return call
}

// haCall changes the guest's resource of the HA manager. It sends only the fields that the manifest names.
func haCall(d *guest.Desired, live guest.Observed, verb string) cluster.Call {
	op := map[string]cluster.Op{guest.HAAdd: cluster.OpHAAdd, guest.HASet: cluster.OpHASet, guest.HARemove: cluster.OpHARemove}[verb]
	call := newCall(op, live)
	if op != cluster.OpHARemove {
		call.Params = guest.HAParams(*d, verb)
	}
	return call
}

// writeClass returns the class of the config step that writes a change. A restart change is written together with the live changes and takes
// effect at the next start.
func writeClass(c guest.Class) guest.Class {
	if c == guest.Restart {
		return guest.Live
	}
	return c
}

// worseClass returns the class that affects the guest more.
func worseClass(a, b guest.Class) guest.Class {
	order := guest.Classes()
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}
