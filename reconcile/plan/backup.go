package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/reason"
)

// withBackup adds whether a guest is backed up whose manifest requires it, and which of its volumes no backup contains; and what its steps would take it out of: a pool or a
// node whose guests a job backs up. A job that is to be removed or changed backs it up until then, and the step of the job says what that takes.
func withBackup(p Guest, want Desired, d *guest.Desired, got cluster.Snapshot) Guest {
	live, exists := got.Guests[d.VMID]
	if !d.Backup || !exists {
		return p
	}
	row, _ := got.Inventory.Row(d.VMID)
	node := cmp.Or(live.Node, row.Node)
	err := jobsUnknown(got)
	var missing, hints []string
	switch {
	case err == notReadYet:
	case err != "":
		p.Conditions = append(p.Conditions, Condition{
			Type: Warned, Reason: reason.NoBackup, Message: "it is not known whether a backup job covers it, as its manifest requires: " + err, Hint: reason.GrantJobAudit.Text,
		})
	case !want.derived.backedUp()(d.VMID, node, row.Pool):
		missing, hints = append(missing, "no enabled backup job covers it"), append(hints, reason.AddToJob.Text)
	default:
		if why := want.derived.editedJobOf(d, node, row.Pool); why != "" {
			missing = append(missing, "the backup job that covers it was changed in Proxmox, so that it backs up less: "+why)
			hints = append(hints, reason.UndoJobEdit.Text)
		}
	}
	if left := guest.NotInBackups(d, live); len(left) > 0 && isSameGuest(p) {
		missing, hints = append(missing, "no backup contains "+namesOf(left)), append(hints, leftOutHint(d.Kind))
	}
	if len(missing) > 0 {
		p.Conditions = append(p.Conditions, Condition{
			Type: Warned, Reason: reason.NoBackup, Message: "its manifest requires backups, and " + strings.Join(missing, "; and "), Hint: strings.Join(hints, "; "),
		})
	}
	for i := range p.Steps {
		step := &p.Steps[i]
		nextNode, nextPool := node, row.Pool
		for _, call := range step.Calls {
			if call.Op == cluster.OpPool {
				nextPool = call.Params["poolid"]
			}
			if call.Op == cluster.OpMigrate {
				nextNode = call.Params["target"]
			}
		}
		if nextNode == node && nextPool == row.Pool {
			continue
		}
		if stays := want.derived.staysBacked(); err == "" && (!stays(d.VMID, node, row.Pool) || stays(d.VMID, nextNode, nextPool)) {
			continue
		}
		to := "node " + nextNode
		if nextPool != row.Pool {
			to = "pool " + nextPool
		}
		step.Loses = append(step.Loses, kind.Weakening{Guest: d.Ref, Field: guest.GuardBackup, Old: "in a backup job", New: "in no enabled job, by a move to the " + to})
	}
	return p
}

// maxLeftOut bounds the volumes that a condition names.
const maxLeftOut = 5

// namesOf names volumes: "mp0 (local-lvm:vm-210-disk-1), mp1 (/srv/media)".
func namesOf(left []guest.NotInBackup) string {
	var names []string
	for i, volume := range left {
		if i == maxLeftOut {
			names = append(names, fmt.Sprintf("%d more", len(left)-i))
			break
		}
		names = append(names, volume.String())
	}
	return strings.Join(names, ", ")
}

// leftOutHint says how volumes get into backups, or out of the condition.
func leftOutHint(of guest.Kind) string {
	hint := reason.PutInBackups.Text
	if of == guest.Container {
		return hint + "; Proxmox backs up no folder and no device of the host"
	}
	return hint + "; Proxmox backs up an EFI disk only with the firmware OVMF"
}

// markBackupLosses notes which changes take a volume out of the backups of a guest that requires them.
func markBackupLosses(changes []guest.Change, d *guest.Desired, live guest.Observed) []guest.Change {
	if !d.Backup {
		return changes
	}
	marked := slices.Clone(changes)
	for i := range marked {
		if left := guest.LeavesBackups(live, marked[i]); len(left) > 0 {
			marked[i].LeavesBackups = namesOf(left)
		}
	}
	return marked
}

// backupLoss returns what a guest loses of which a volume is taken out of its backups.
func backupLoss(ref guest.Ref, volume string) kind.Weakening {
	return kind.Weakening{Guest: ref, Field: guest.GuardBackup, Old: volume + " in its backups", New: "in no backup"}
}

// rollbackLosses returns what a rollback takes out of the backups of a guest that requires them.
func rollbackLosses(r order.Request, d *guest.Desired, live guest.Observed) []kind.Weakening {
	section, exists := live.Snapshots.Section(r.Params[order.KeyName])
	if !d.Backup || !exists || r.Op != cluster.OpRollback {
		return nil
	}
	var list []kind.Weakening
	for _, volume := range guest.RollbackLeavesBackups(live, section) {
		list = append(list, backupLoss(d.Ref, volume.String()))
	}
	return list
}

const notReadYet = "the jobs were not read yet"

// jobsUnknown returns why the backup jobs are not known, "" if they are.
func jobsUnknown(got cluster.Snapshot) string {
	list := got.Objects[kinds.BackupJobs]
	switch {
	case list.Err != "":
		return list.Err
	case list.ReadAt.IsZero():
		return notReadYet
	}
	return ""
}
