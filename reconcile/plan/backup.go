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
	jobs, err := backupJobs(want, got)
	covered := len(kinds.BackedUpBy(jobs, d.VMID, node, row.Pool)) > 0
	coveredNow := len(kinds.BackedUpBy(asTheyAre(got.Objects[kinds.BackupJobs]), d.VMID, node, row.Pool)) > 0
	switch {
	case err == notReadYet:
	case err != "":
		p.Conditions = append(p.Conditions, Condition{
			Type: Warned, Reason: ReasonNoBackup, Message: "it is not known whether a backup job covers it, as its manifest requires: " + err, Hint: "the token needs Sys.Audit on /",
		})
	case !coveredNow:
		p.Conditions = append(p.Conditions, Condition{
			Type: Warned, Reason: ReasonNoBackup, Message: "its manifest requires backups, and no enabled backup job covers it", Hint: "add it to a BackupJob, or enable one",
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
		if nextNode == node && nextPool == row.Pool || err == "" && (!covered || len(kinds.BackedUpBy(jobs, d.VMID, nextNode, nextPool)) > 0) {
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

// asTheyAre returns objects as if no manifest changed them.
func asTheyAre(list cluster.Objects) []kind.Lasting {
	var objects []kind.Lasting
	for _, o := range list.ByID {
		objects = append(objects, kind.Lasting{Now: o, Next: o})
	}
	return objects
}

const notReadYet = "the jobs were not read yet"

// backupJobs returns the backup jobs that stay, or why they are not known.
func backupJobs(want Desired, got cluster.Snapshot) (jobs []kind.Lasting, err string) {
	k, _ := kinds.Of(kinds.BackupJobs)
	list := got.Objects[kinds.BackupJobs]
	switch {
	case list.Err != "":
		return nil, list.Err
	case list.ReadAt.IsZero():
		return nil, notReadYet
	}
	return lasting(k, "", want, got), ""
}
