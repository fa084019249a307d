package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/reason"
)

// withBackup adds whether a guest is backed up whose manifest requires it, and which of its volumes no backup contains; and what its steps would take it out of: a pool or a
// node whose guests a job backs up. A job that is to be removed or changed backs it up until then, and the step of the job says what that takes.
func withBackup(p Guest, want Desired, d *guest.Desired, got cluster.Snapshot, cover coverage) Guest {
	live := got.Guests[d.VMID]
	at, isNeeded := placeToCover(d, got)
	if !isNeeded {
		return p
	}
	err := jobsUnknown(got)
	var missing, hints []string
	switch {
	case err == notReadYet:
	case err != "":
		p.Conditions = append(p.Conditions, Condition{
			Type: Warned, Reason: reason.NoBackup, Message: "it is not known whether a backup job covers it, as its manifest requires: " + err, Hint: reason.GrantJobAudit.Text,
		})
	case len(cover.gaps(at)) > 0:
		text := "no enabled backup job covers it"
		if at.HA {
			text += " on " + nodesOf(cover.gaps(at)) + ", where the HA manager may run it"
		}
		if starved := starvedJobs(got); starved != "" {
			text += " (" + starved + ")"
		}
		missing, hints = append(missing, text), append(hints, reason.AddToJob.Text)
	default:
		if why := want.derived.editedJobOf(at, cover); why != "" {
			missing = append(missing, "the backup job that covers it was changed in Proxmox, so that it backs up less: "+why)
			hints = append(hints, reason.UndoJobEdit.Text)
		}
		if why := lostByMove(want, d, got, at); why != "" {
			missing, hints = append(missing, why), append(hints, reason.CorrectNode.Text)
		}
	}
	if left := guest.NotInBackups(d, live); len(left) > 0 && isSameGuest(p, d) {
		missing, hints = append(missing, "no backup contains "+namesOf(left)), append(hints, leftOutHint(d.Kind))
	}
	if len(missing) > 0 {
		p.Conditions = append(p.Conditions, Condition{
			Type: Warned, Reason: reason.NoBackup, Message: "its manifest requires backups, and " + strings.Join(missing, "; and "), Hint: strings.Join(hints, "; "),
		})
	}
	return withMoveLosses(p, want, d, got, at, err)
}

// lostByMove says what a guest loses by a move that somebody made to another node than its manifest wants, "" if it loses nothing.
func lostByMove(want Desired, d *guest.Desired, got cluster.Snapshot, at kind.Place) string {
	from := at
	if from.Node = d.Node; d.Node == "" || at.HA || from.Node == at.Node {
		return ""
	}
	jobs, _ := kinds.Of(kinds.BackupJobs)
	losses := kinds.BackupMove(kind.World{Others: want.derived.lasting(jobs), Observed: got}, nil, from, at)
	if len(losses) == 0 {
		return ""
	}
	return fmt.Sprintf("it is on %s, and not on %s, so that less is kept: %s -> %s", at.Node, d.Node, losses[0].Old, losses[0].New)
}

// withMoveLosses adds what steps take a guest out of by a move.
func withMoveLosses(p Guest, want Desired, d *guest.Desired, got cluster.Snapshot, at kind.Place, unknown string) Guest {
	for i := range p.Steps {
		step := &p.Steps[i]
		step.Loses = append(step.Loses, moveLosses(step, want, d, got, at, unknown)...)
	}
	return p
}

// moveLosses returns what a step takes a guest that requires backups out of: by a move to another node or pool, or by the HA manager, which may move it to any node and never shuts it
// down for a backup.
func moveLosses(step *Step, want Desired, d *guest.Desired, got cluster.Snapshot, at kind.Place, unknown string) []kind.Weakening {
	next := placeAfter(step, at, got)
	if next.SameAs(at) {
		return nil
	}
	by := "a move to the node " + next.Node
	switch {
	case next.Pool != at.Pool:
		by = "a move to the pool " + next.Pool
	case next.HA != at.HA:
		by = "the HA manager"
	}
	losses := []kind.Weakening{{Old: "in a backup job", New: "in no enabled job"}}
	if unknown == "" {
		jobs, _ := kinds.Of(kinds.BackupJobs)
		losses = kinds.BackupMove(kind.World{Others: want.derived.lasting(jobs), Observed: got}, wantedJobs(want, got), at, next)
	}
	for i := range losses {
		losses[i].Guest, losses[i].Field, losses[i].New = d.Ref, guest.GuardBackup, losses[i].New+", by "+by
	}
	return losses
}

// orderLosses returns what the step of an order takes from a guest that requires backups: volumes that a rollback leaves out of its backups, a job that it leaves by a move, and the
// restore points whose places a further backup takes.
func orderLosses(step *Step, want Desired, d *guest.Desired, got cluster.Snapshot) []kind.Weakening {
	at, isNeeded := placeToCover(d, got)
	if !isNeeded || step.Order.Scheduled != nil {
		return nil
	}
	unknown := jobsUnknown(got)
	losses := append(rollbackLosses(step.Order.Request, d.Ref, got.Guests[d.VMID]), moveLosses(step, want, d, got, at, unknown)...)
	if step.Op != cluster.OpBackup || step.Order.Params[order.KeyProtected] == order.Yes { // Proxmox does not count a protected backup
		return losses
	}
	storage := step.Order.Params[order.KeyStorage]
	taken := []kind.Weakening{{Old: "the backups on storage " + storage}}
	if unknown == "" {
		taken = kinds.BackupAdded(kind.World{Observed: got}, storage, at)
	}
	for _, w := range taken {
		w.Guest, w.Field, w.New = d.Ref, guest.GuardBackup, "also the backup of the order, which is not protected"
		losses = append(losses, w)
	}
	return losses
}

// wantedJobs returns the backup jobs of the manifests as these want them, by id. A guest and a job are changed at the same time.
func wantedJobs(want Desired, got cluster.Snapshot) map[string]cluster.Object {
	k, _ := kinds.Of(kinds.BackupJobs)
	next := make(map[string]cluster.Object)
	for _, d := range want.Objects.whole().Wanted {
		if d.Kind != k.Name {
			continue
		}
		now := got.Objects[k.Name].ByID[d.ID]
		if resolved, blocked := resolveGuests(k, d, want, got, now); blocked == nil {
			job := asWanted(now, resolved)
			job.ID = d.ID
			next[d.ID] = job
		}
	}
	return next
}

// coverage is which guests backup jobs back up, by the jobs as they are: edges from jobs to guests, in the order of the ids of the jobs.
type coverage struct{ now *edge.Graph }

// gaps returns the places of a guest in which no job covers it.
func (c coverage) gaps(at kind.Place) []kind.Place {
	return slices.DeleteFunc(at.Each(), func(p kind.Place) bool { return c.now.HasTo(p.Key, edge.Covers) })
}

// newCoverage returns the coverage of the guests that require backups. Planned are the guests of the manifests, in their order.
func newCoverage(want Desired, planned []Guest, got cluster.Snapshot) (cover coverage) {
	if jobsUnknown(got) != "" {
		return cover
	}
	var places []kind.Place
	for i := range planned {
		if at, isNeeded := placeToCover(&want.Guests[i], got); isNeeded {
			places = append(places, at.Each()...)
		}
	}
	if len(places) == 0 {
		return cover
	}
	jobs, _ := kinds.Of(kinds.BackupJobs)
	live := got.Objects[jobs.Name].ByID
	var edges []edge.Edge
	for _, id := range slices.Sorted(maps.Keys(live)) {
		want := kind.Want{Desired: kind.Desired{Kind: jobs.Name, ID: id}, Live: live[id]}
		edges = append(edges, jobs.Edges(want, kind.World{Places: places})...)
	}
	cover.now = edge.New(edges)
	return cover
}

// starvedJobs returns why enabled backup jobs do not count as cover, for people, "" if all of them count.
func starvedJobs(got cluster.Snapshot) string {
	var parts []string
	live := got.Objects[kinds.BackupJobs].ByID
	for _, id := range slices.Sorted(maps.Keys(live)) {
		if why := kinds.BackupStarved(live[id].Keys); why != "" {
			parts = append(parts, fmt.Sprintf("the job %s does not count, because %s", id, why))
		}
	}
	return strings.Join(parts, "; ")
}

// placeToCover returns where a guest is that requires backups, and whether it exists and requires them.
func placeToCover(d *guest.Desired, got cluster.Snapshot) (at kind.Place, isNeeded bool) {
	if !d.Backup {
		return at, false
	}
	live, exists := got.Guests[d.VMID]
	at = kind.PlaceOf(d.VMID, got)
	at.Node, at.Unknown = cmp.Or(live.Node, at.Node), false
	return at, exists
}

// placeAfter returns where a guest is after a step.
func placeAfter(step *Step, at kind.Place, got cluster.Snapshot) kind.Place {
	next := at
	for _, call := range step.Calls {
		if call.Op == cluster.OpPool {
			next.Pool = call.Params["poolid"]
		}
		if call.Op == cluster.OpMigrate {
			next.Node = call.Params["target"]
		}
		state, isSet := call.Params["state"]
		switch manages := (guest.HA{State: state}).Manages(); {
		case call.Op == cluster.OpHAAdd && manages, call.Op == cluster.OpHASet && isSet && manages:
			next = next.UnderHA(got)
		case call.Op == cluster.OpHARemove, call.Op == cluster.OpHAAdd, call.Op == cluster.OpHASet && isSet:
			next = next.WithoutHA()
		}
	}
	return next
}

// nodesOf names the nodes of places.
func nodesOf(places []kind.Place) string {
	var nodes []string
	for _, p := range places {
		nodes = append(nodes, p.Node)
	}
	return strings.Join(nodes, ", ")
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
func rollbackLosses(r order.Request, ref guest.Ref, live guest.Observed) []kind.Weakening {
	if r.Op != cluster.OpRollback || live.Snapshots == nil {
		return nil
	}
	section, exists := live.Snapshots.Section(r.Params[order.KeyName])
	if !exists {
		return nil
	}
	var list []kind.Weakening
	for _, volume := range guest.RollbackLeavesBackups(live, section) {
		list = append(list, backupLoss(ref, volume.String()))
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
