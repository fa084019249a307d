package plan

import (
	"cmp"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kinds"
)

// withBackup adds whether a guest is backed up whose manifest requires it, and what its steps would take it out of: a pool or a node whose guests a job backs up. A job
// that is to be removed or changed backs it up until then, and the step of the job says what that takes.
func withBackup(p Guest, want Desired, d *guest.Desired, got cluster.Snapshot) Guest {
	live, exists := got.Guests[d.VMID]
	if !d.Backup || !exists {
		return p
	}
	row, _ := got.Inventory.Row(d.VMID)
	node := cmp.Or(live.Node, row.Node)
	err := jobsUnknown(got)
	switch {
	case err == notReadYet:
	case err != "":
		p.Conditions = append(p.Conditions, Condition{
			Type: Warned, Reason: ReasonNoBackup, Message: "it is not known whether a backup job covers it, as its manifest requires: " + err, Hint: "the token needs Sys.Audit on /",
		})
	case !want.derived.backedUp()(d.VMID, node, row.Pool):
		p.Conditions = append(p.Conditions, Condition{
			Type: Warned, Reason: ReasonNoBackup, Message: "its manifest requires backups, and no enabled backup job covers it", Hint: "add it to a BackupJob, or enable one",
		})
	default:
		if why := want.derived.editedJobOf(d, node, row.Pool); why != "" {
			p.Conditions = append(p.Conditions, Condition{
				Type: Warned, Reason: ReasonNoBackup, Message: "its manifest requires backups, and the backup job that covers it was changed in Proxmox, so that it backs up less: " + why,
				Hint: "the agent repairs what the manifest of the job says and no hold prevents; undo the rest in Proxmox, or write it into the manifest",
			})
		}
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
