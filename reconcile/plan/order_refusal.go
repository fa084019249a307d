package plan

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/order"
)

// OrderRefusal returns why Proxmox would refuse an order, or why it would change nothing; "" if it would not. The guest was read with what the order needs.
func OrderRefusal(r order.Request, live guest.Observed) string {
	switch {
	case live.Template && !order.AllowsTemplate(r.Op):
		return "the guest is a template"
	case r.Op.NeedsSnapshots():
		return snapshotRefusal(r, live)
	case r.Op == cluster.OpMigrate:
		return migrateRefusal(r, live)
	case r.Op == cluster.OpBackup:
		return ""
	}
	return powerRefusal(r.Op, live)
}

func powerRefusal(op cluster.Op, live guest.Observed) string {
	stopped, paused, running := live.Status == guest.StatusStopped, live.Status == guest.StatusPaused, live.Status == guest.StatusRunning
	switch {
	case live.HA && (op.Reaches() != "" && op != cluster.OpReboot || op == cluster.OpSuspend):
		return "the HA manager keeps the run state of the guest: change spec.ha of its manifest"
	case op == cluster.OpStart && !stopped:
		return "the guest is not stopped: it is " + string(live.Status)
	case op != cluster.OpStart && stopped:
		return "the guest is stopped"
	case paused && (op == cluster.OpShutdown || op == cluster.OpReboot):
		return "the guest is paused, so it cannot shut down: resume it before, or stop it"
	case paused && (op == cluster.OpReset || op == cluster.OpSuspend):
		return "the guest is paused"
	case running && op == cluster.OpResume:
		return "the guest is not paused"
	}
	return ""
}

// snapshotRefusal judges an order about a snapshot. A rollback ends the guest. The HA manager would start it again before the agent has restored its marks,
// and a snapshot with another SMBIOS uuid would make it another guest.
func snapshotRefusal(r order.Request, live guest.Observed) string {
	name := r.Params[order.KeyName]
	section, exists := live.Snapshots.Section(name)
	switch {
	case r.Op == cluster.OpSnapshot && exists:
		return "the guest has a snapshot " + name + " already, of " + takenAt(section)
	case r.Op == cluster.OpSnapshot && r.Params[order.KeyMemory] == order.Yes && live.Status == guest.StatusStopped:
		return "the guest is stopped, so it has no memory to save: leave vmstate out"
	case r.Op == cluster.OpSnapshot:
		return ""
	case !exists:
		return "the guest has no snapshot " + name + ": it has " + cmp.Or(strings.Join(live.Snapshots.Names(), ", "), "none")
	case r.Op != cluster.OpRollback:
		return ""
	case section.Unfinished() != "":
		return "the snapshot " + name + " is incomplete (" + section.Unfinished() + ")"
	case live.HA:
		return "the HA manager would start the guest before the agent has restored its ownership tag: set spec.ha.state: ignored before"
	}
	if uuid := guest.SnapshotUUID(live.Kind, section); uuid != guest.SMBIOSUUID(live) {
		return fmt.Sprintf("the snapshot %s has another SMBIOS uuid than the guest (%q), by which the agent identifies it", name, uuid)
	}
	return ""
}

func migrateRefusal(r order.Request, live guest.Observed) string {
	target := r.Params[order.KeyTarget]
	if live.Node == target {
		return "the guest is on " + target + " already"
	}
	if key, bound := guest.HostDevice(live); bound {
		return "the guest uses " + key + ", a device of its host"
	}
	return ""
}

// takenAt returns when a snapshot was made, for people.
func takenAt(section guest.SnapshotSection) string {
	if section.Taken().IsZero() {
		return "an unknown time"
	}
	return section.Taken().Format(time.RFC3339)
}
