package plan

import (
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// changeSteps returns the steps that carry out a live guest's changes: its configuration, and what has a call of its own.
func changeSteps(p Guest, d *guest.Desired, live guest.Observed) []Step {
	steps := configSteps(p, d, live)
	for _, c := range p.Changes {
		if step, ok := separateStep(p, d, live, c); ok {
			steps = append(steps, step)
		}
	}
	return sortSteps(steps)
}

// inOrder sorts a guest's steps by operation. A disk is resized and moved before its text is written: what waits for the next start
// names volume and size, and Proxmox does not correct it afterwards.
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

// configSteps groups the writable changes into calls. What interrupts the guest is kept apart from what does not, so that
// holding the former does not hold the latter.
func configSteps(p Guest, d *guest.Desired, live guest.Observed) []Step {
	if len(p.Changes) == 0 {
		return nil
	}
	var steps []Step
	for _, class := range []guest.Class{guest.Live, guest.Disruptive, guest.Destructive} {
		step := newStep(p, live, cluster.OpConfig, class, "configuration differs")
		call := newCall(cluster.OpConfig, live)
		call.Params, call.Digest = map[string]string{}, live.Digest
		for _, c := range p.Changes {
			if writeClass(c.Class) != class || !addConfig(&call, c) {
				continue
			}
			step.Changes = append(step.Changes, c)
			step.DetachedVolumes = append(step.DetachedVolumes, detachedVolumes(live, c)...)
			step.Class = worseClass(step.Class, c.Class)
		}
		if len(step.Changes) == 0 {
			continue
		}
		slices.Sort(step.DetachedVolumes)
		step.Calls = []cluster.Call{call}
		if needsCloudInit(d, live, step.Changes) {
			step.Calls = append(step.Calls, newCall(cluster.OpCloudInit, live))
		}
		steps = append(steps, step)
	}
	return steps
}

// addConfig puts a change into a config call, if it is one of configuration.
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
	case guest.WriteResize, guest.WriteMove, guest.WriteMigrate, guest.WritePool, guest.WriteTemplate, guest.WriteHA, guest.WriteNone:
		return false
	}
	return true
}

// leaves returns the volumes that a change takes out of their slot: a call names the slot alone, and by the time that it is approved
// another volume may be there.
func detachedVolumes(live guest.Observed, c guest.Change) []string {
	if c.Write != guest.WriteDelete && c.Write != guest.WriteMove && guest.AddedVolume(live, c) == "" {
		return nil
	}
	var list []string
	for _, volume := range guest.VolumesInSlot(live, c.Key) {
		list = append(list, c.Key+"="+volume)
	}
	return list
}

// refreshes reports whether the guest's cloud-init drive has to be written anew for the changes: a stopped guest gets a new one
// when it starts.
func needsCloudInit(d *guest.Desired, live guest.Observed, changes []guest.Change) bool {
	return d.Refresh && live.Kind == guest.VirtualMachine && live.Status == guest.StatusRunning && guest.HasCloudInit(live) &&
		slices.ContainsFunc(changes, func(c guest.Change) bool { return guest.IsCloudInit(c.Key) })
}

// ownCall returns the step of a change that has a call of its own.
func separateStep(p Guest, d *guest.Desired, live guest.Observed, c guest.Change) (Step, bool) {
	switch c.Write {
	case guest.WriteResize:
		call := newCall(cluster.OpResize, live)
		call.Digest, call.Params = live.Digest, map[string]string{"disk": c.Key, "size": c.Value}
		return singleCallStep(p, live, c, call, "disk is smaller than wanted"), true
	case guest.WriteMove:
		call := newCall(cluster.OpMove, live)
		call.Digest, call.Params = live.Digest, map[string]string{"disk": c.Key, "storage": c.Value, "delete": "0"}
		step := singleCallStep(p, live, c, call, "disk is on another storage")
		step.CopyTargets, step.DetachedVolumes = []string{c.Value}, detachedVolumes(live, c)
		if left := guest.UnusedVolumesOn(live, c.Value); len(left) > 0 && step.Class == guest.Live {
			// Each move back and forth leaves one more whole volume behind, until the storage is full.
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
	case guest.WriteSet, guest.WriteDelete, guest.WriteSecret, guest.WriteNone:
	}
	return Step{}, false
}

// Remeasured returns what is done instead of a resize that left the guest as it was: the volume is as large already, and its text says
// less, since a start brought an old text back. Written again, it tells the size that the volume has.
func RewriteSize(resize Step, live guest.Observed) Step {
	step, c := resize, resize.Changes[0]
	step.Op, step.Reason = cluster.OpConfig, "the disk is larger than its text says"
	c.Write, c.Value, c.Note = guest.WriteSet, guest.TextWithSize(live, c.Key, c.Value), "the volume has that size already"
	call := newCall(cluster.OpConfig, live)
	call.Digest, call.Params = live.Digest, map[string]string{c.Key: c.Value}
	step.Changes, step.Calls = []guest.Change{c}, []cluster.Call{call}
	return step
}

func newStep(p Guest, live guest.Observed, op cluster.Op, class guest.Class, reason string) Step {
	step := Step{Guest: live.Ref, Op: op, Class: class, Wave: p.Wave, Reason: reason}
	step.Guest.Name = p.Ref.Name
	return step
}

func newCall(op cluster.Op, live guest.Observed) cluster.Call {
	return cluster.Call{Op: op, Kind: live.Kind, Node: live.Node, VMID: live.VMID}
}

func singleCallStep(p Guest, live guest.Observed, c guest.Change, call cluster.Call, reason string) Step {
	step := newStep(p, live, call.Op, c.Class, reason)
	step.Changes, step.Calls = []guest.Change{c}, []cluster.Call{call}
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

// haCall changes the guest's entry with the HA manager. Only what the manifest names is sent.
func haCall(d *guest.Desired, live guest.Observed, verb string) cluster.Call {
	op := map[string]cluster.Op{guest.HAAdd: cluster.OpHAAdd, guest.HASet: cluster.OpHASet, guest.HARemove: cluster.OpHARemove}[verb]
	call := newCall(op, live)
	if op != cluster.OpHARemove {
		call.Params = guest.HAParams(*d, verb)
	}
	return call
}

// writeClass returns the group that a change is written with: a restart change is written at once and waits.
func writeClass(c guest.Class) guest.Class {
	if c == guest.Restart {
		return guest.Live
	}
	return c
}

func worseClass(a, b guest.Class) guest.Class {
	order := guest.Classes()
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}
