package backupjob

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/object"
)

// edges returns which guests of a world a job backs up, and what it reaches if that is asked for.
func edges(want kind.Want, world kind.World) []edge.Edge {
	if want.Reach {
		return reaches(want)
	}
	if len(world.Places) == 0 {
		return nil
	}
	var list []edge.Edge
	job, s := want.Key(), scopeOf(want.Live)
	for _, p := range world.Places {
		if s.covers(p, false) {
			list = append(list, edge.Edge{From: job, To: p.Key, Why: edge.Covers})
		}
	}
	return list
}

// reaches returns what a job may back up, whether it is enabled or not, and on any node. An enabled job may shut the guests down, or pause them.
func reaches(want kind.Want) []edge.Edge {
	var ends []object.Key
	switch pool := want.Text(keyPool); {
	case pool != "":
		ends = append(ends, edge.Object(string(poolKind), pool))
	case want.Text(keyVMID) != "":
		for _, vmid := range listOf(want.Text(keyVMID)) {
			ends = append(ends, object.Guest(vmid))
		}
	case want.Text(keyAll) == "1":
		ends = append(ends, edge.Everything)
	}
	var list []edge.Edge
	for _, to := range ends {
		list = append(list, edge.Edge{From: want.Key(), To: to, Why: edge.Reaches})
		if interruption[want.Text(keyMode)] > 0 && want.Text(keyEnabled) != "0" {
			list = append(list, edge.Edge{From: want.Key(), To: to, Why: edge.Forces})
		}
	}
	return list
}

// scope is which guests a job backs up, parsed.
type scope struct {
	runs       bool   // it is enabled, which is the default, and a calendar has a day of its schedule
	never      bool   // Proxmox has no next time for it
	starved    string // why it does not count as cover although it runs, "" if it counts
	stops      bool   // it shuts guests down
	node, pool string // "" if the job names none
	listed     bool   // it lists guests
	all        bool   // it backs up all guests
	vmids      []int  // that it lists or, if it backs up all guests, leaves out
}

func scopeOf(job cluster.Object) scope {
	keys := job.Keys
	s := scope{
		runs: keys[keyEnabled] != "0" && kind.HasDay(keys[keySchedule]), never: job.Never, starved: Starved(keys), stops: keys[keyMode] == modeStop,
		node: keys[keyNode], pool: keys[keyPool], listed: keys[keyVMID] != "", all: keys[keyAll] == "1", vmids: listOf(keys[keyVMID]),
	}
	if !s.listed {
		s.vmids = listOf(keys[keyExclude])
	}
	return s
}

// reaches reports whether a job names a guest, enabled or not. What depends on an unknown place counts as assumed. Of a guest under HA, each node is a place of its own.
//
// Source: PVE::VZDump get_included_guests, which prefers a pool to a list, and a list to all guests.
func (s scope) reaches(p kind.Place, assumed bool) bool {
	switch {
	case s.node != "" && !p.Unknown && s.node != p.Node, s.node != "" && p.Unknown && !assumed:
		return false
	case s.pool != "":
		return p.Unknown && assumed || !p.Unknown && s.pool == p.Pool
	case s.listed:
		return slices.Contains(s.vmids, p.VMID)
	}
	return s.all && !slices.Contains(s.vmids, p.VMID)
}

// isRun reports whether a job runs for a guest, however slowly. What depends on an unknown place counts as assumed.
func (s scope) isRun(p kind.Place, assumed bool) bool {
	return s.runs && !s.never && s.reaches(p, assumed)
}

// staysFor reports whether a job runs for a guest, as an earlier version of it does: certainly, or because both back up guests of the same nodes and pools, wherever the guest is.
func (s scope) staysFor(p kind.Place, earlier scope) bool {
	return s.isRun(p, false) || s.isRun(p, true) && s.node == earlier.node && s.pool == earlier.pool
}

// covers reports whether a job backs up a guest, and counts as cover. Proxmox refuses to shut down a guest under HA for a backup.
//
// Source: PVE::VZDump exec_backup_task.
func (s scope) covers(p kind.Place, assumed bool) bool {
	return s.starved == "" && (!s.stops || !p.HA) && s.isRun(p, assumed)
}

// weakens returns the guests that require backups and that a change of a job takes out of every job that keeps as much, or backs up less: other backups are removed earlier, times or
// the storage change, more files are left out, or the job is slowed down. Times and storages cannot be compared, so every change of them counts. A job that begins to back up a guest is a
// change too, also one that is made: its backups and its retention are those of every job that backs up the guest to the storage. Going back to what the job had when it
// agreed with its manifest is no weakening if somebody has taken something from guests by an edit. An edit that only keeps backups longer harms no guest, and
// undoing it would remove backups.
func weakens(c kind.Change, world kind.World) []kind.Weakening {
	after := c.After()
	if c.Op == cluster.OpObjectRemove {
		after = cluster.Object{ID: c.ID}
	}
	before, then := scopeOf(c.Got), scopeOf(after)
	now := c.Got.Keys
	if len(Edits(c.Agreed, c.Got.Keys)) > 0 || bringsIn(before, then, world) {
		now = restored(now, after.Keys, c.Agreed)
	}
	var found []kind.Weakening
	for _, g := range world.Guests {
		if !g.Has(guest.GuardBackup) {
			continue
		}
		isOther := make(map[kind.Weakening]bool)
		for _, p := range kind.PlaceOf(g.VMID, world.Observed).Each() {
			var losses []kind.Weakening
			if !before.staysFor(p, then) && then.runs && then.reaches(p, true) {
				losses = append(shared(after, world, p), sharedElsewhere(after, world, g.VMID, p)...)
			}
			switch {
			case !before.isRun(p, true):
			case !then.staysFor(p, before):
				losses = append(losses, lost(cluster.Object{ID: c.ID, Keys: now}, world.Others, p)...)
			default:
				losses = append(losses, weaker(now, after.Keys)...)
			}
			for _, w := range losses {
				w.Guest, w.Field = g.Ref, guest.GuardBackup
				if !isOther[w] {
					isOther[w], found = true, append(found, w)
				}
			}
		}
	}
	return found
}

// shared returns with which jobs a job that begins to back up a guest would share the storage: Proxmox prunes all backups of a guest on a storage together after each run, with the retention
// of the job that ran. So each backup of one job takes the place of one of the other. Jobs that keep everything take nothing from each other.
//
// Source: PVE::VZDump exec_backup_task; PVE::Storage::Plugin prune_backups.
func shared(job cluster.Object, world kind.World, p kind.Place) []kind.Weakening {
	next := make(map[string]cluster.Object, len(world.Others))
	for _, l := range world.Others {
		next[l.Next.ID] = l.Next
	}
	var found []kind.Weakening
	live := world.Observed.Objects[Name].ByID
	for _, id := range slices.Sorted(maps.Keys(live)) {
		other := live[id]
		if id == job.ID || !scopeOf(other).isRun(p, true) {
			continue
		}
		if sharesStorage(job, other, world) || slices.ContainsFunc(world.Others, func(l kind.Lasting) bool { return l.Next.ID == id && sharesStorage(job, l.Next, world) }) {
			found = append(found, kind.Weakening{
				Old: fmt.Sprintf("the job %s alone keeps its backups on storage %s, %s", id, orDefault(other.Keys[keyStorage]), effectiveRetention(other.Keys)),
				New: fmt.Sprintf("also the job %s%s, %s", job.ID, maybeOn(job, other), effectiveRetention(job.Keys)),
			})
		}
	}
	return found
}

// sharedElsewhere returns what a job that begins to back up a guest in one of its places takes from jobs that back it up to the same storage in another one: the HA manager moves the guest
// from one to the other, and each run prunes the backups of all.
func sharedElsewhere(job cluster.Object, world kind.World, vmid int, p kind.Place) []kind.Weakening {
	var found []kind.Weakening
	live := world.Observed.Objects[Name].ByID
	places := kind.PlaceOf(vmid, world.Observed).Each()
	for _, id := range slices.Sorted(maps.Keys(live)) {
		other := scopeOf(live[id])
		if id == job.ID || other.isRun(p, true) || !slices.ContainsFunc(places, func(at kind.Place) bool { return other.isRun(at, true) }) {
			continue
		}
		found = append(found, prunesLess(live[id], job, world)...)
	}
	return found
}

// prunesLess returns what a job keeps less than another one whose backups it prunes, in the same place.
func prunesLess(former, job cluster.Object, world kind.World) []kind.Weakening {
	if !sharesStorage(job, former, world) {
		return nil
	}
	keys := maps.Clone(job.Keys)
	keys[keyStorage] = former.Keys[keyStorage] // under another name
	found := weaker(former.Keys, keys)
	for i := range found {
		found[i].Old, found[i].New = "the job "+former.ID+" with "+found[i].Old, "the job "+job.ID+maybeOn(job, former)+" with "+found[i].New
	}
	return found
}

// sharesStorage reports whether two jobs may back up to one storage, and one of them limits what is kept.
func sharesStorage(a, b cluster.Object, world kind.World) bool {
	return sharesPlace(a.Keys[keyStorage], b.Keys[keyStorage], world) && (effectiveRetention(a.Keys) != keepsAll || effectiveRetention(b.Keys) != keepsAll)
}

// sharesPlace reports whether the backups on two storages may be in one place. The default storage may be any, and two storages may be one folder, share or datastore.
func sharesPlace(a, b string, world kind.World) bool {
	return a == "" || b == "" || a == b || !kind.Apart(world.Observed.Objects[cluster.Storages], a, b)
}

// maybeOn says that a storage may be the same place as that of another job, "" if it has the same name.
func maybeOn(job, other cluster.Object) string {
	if job.Keys[keyStorage] == other.Keys[keyStorage] {
		return ""
	}
	return " on storage " + orDefault(job.Keys[keyStorage]) + ", which may be the same place"
}

// lost returns what a guest loses with a job that backs it up no more, nothing if another job that stays keeps as much.
func lost(job cluster.Object, others []kind.Lasting, p kind.Place) []kind.Weakening {
	with, on := "", ""
	for _, l := range others {
		if !scopeOf(l.Now).covers(p, false) || !scopeOf(l.Next).covers(p, false) {
			continue
		}
		if len(weaker(job.Keys, l.Now.Keys))+len(weaker(job.Keys, l.Next.Keys)) == 0 {
			return nil
		}
		with = cmp.Or(with, l.Now.ID)
	}
	if p.HA {
		on = " on " + p.Node
	}
	if with == "" {
		return []kind.Weakening{{Old: "in the job " + job.ID, New: "in no enabled job" + on}}
	}
	return []kind.Weakening{{Old: "in the job " + job.ID, New: "in no enabled job that keeps as much" + on + ", only in " + with}}
}

// Move returns what a guest that requires backups loses when it gets to other places: by another node or pool, or when the HA manager may move it to more nodes. These are jobs that back it up
// there no more, and what jobs that back it up only there take from the others. The world has the jobs that exist and stay, and all that exist; next are those that manifests want, as
// they want them.
func Move(world kind.World, next map[string]cluster.Object, from, to kind.Place) []kind.Weakening {
	var found []kind.Weakening
	were := from.Each()
	for _, p := range to.Each() {
		was := from
		if i := slices.IndexFunc(were, func(at kind.Place) bool { return at.Node == p.Node }); i >= 0 {
			was = were[i]
		}
		for _, w := range moved(world, next, was, p) {
			if !slices.Contains(found, w) {
				found = append(found, w)
			}
		}
	}
	return found
}

// moved returns what a guest loses by a move from one place to another one.
func moved(world kind.World, next map[string]cluster.Object, from, to kind.Place) []kind.Weakening {
	var found []kind.Weakening
	var left []cluster.Object
	live := world.Observed.Objects[Name].ByID
	beside := make(map[string]cluster.Object, len(live))
	with := world
	with.Observed.Objects = map[guest.Kind]cluster.Objects{Name: {ByID: beside}, cluster.Storages: world.Observed.Objects[cluster.Storages]}
	for _, id := range slices.Sorted(maps.Keys(live)) {
		job := live[id]
		s := scopeOf(job)
		if !s.isRun(from, false) {
			continue
		}
		if s.isRun(to, true) {
			beside[id] = job
		}
		if !s.isRun(to, false) || s.covers(from, false) && !s.covers(to, false) {
			left = append(left, job)
		}
	}
	for _, job := range left {
		found = append(found, lost(job, world.Others, to)...)
	}
	enters := func(job cluster.Object) {
		if _, isBeside := beside[job.ID]; isBeside || !scopeOf(job).isRun(to, true) {
			return
		}
		found = append(found, shared(job, with, to)...)
		for _, former := range left {
			if former.ID != job.ID {
				found = append(found, prunesLess(former, job, world)...)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(live)) {
		enters(live[id])
	}
	for _, id := range slices.Sorted(maps.Keys(next)) {
		if now, exists := live[id]; !exists || !scopeOf(now).isRun(to, true) {
			enters(next[id])
		}
	}
	return found
}

// Added returns the jobs among whose backups of a guest on a storage another backup would count, so that it takes the place of one of them.
func Added(world kind.World, storage string, p kind.Place) []kind.Weakening {
	var found []kind.Weakening
	live := world.Observed.Objects[Name].ByID
	for _, id := range slices.Sorted(maps.Keys(live)) {
		job := live[id]
		runs := slices.ContainsFunc(p.Each(), func(at kind.Place) bool { return scopeOf(job).isRun(at, true) })
		if !runs || effectiveRetention(job.Keys) == keepsAll || !sharesPlace(job.Keys[keyStorage], storage, world) {
			continue
		}
		found = append(found, kind.Weakening{Old: fmt.Sprintf("the job %s alone keeps its backups on storage %s, %s", id, orDefault(job.Keys[keyStorage]), effectiveRetention(job.Keys))})
	}
	return found
}

// Edits returns what a job backs up less now than before, by its keys. A key that is missing before has not changed; the text of one that the job did not have is "".
func Edits(before, now map[string]string) []kind.Weakening {
	return weaker(restored(now, before, before), now)
}

// bringsIn reports whether a change of a job backs up a guest that requires backups, and that the job does not back up now.
func bringsIn(before, then scope, world kind.World) bool {
	return slices.ContainsFunc(world.Guests, func(g kind.Guarded) bool {
		return g.Has(guest.GuardBackup) && slices.ContainsFunc(kind.PlaceOf(g.VMID, world.Observed).Each(), func(p kind.Place) bool { return !before.isRun(p, true) && then.isRun(p, false) })
	})
}

// restored returns the keys of a job with those that are to be as they were when the job agreed with its manifest.
func restored(now, next, agreed map[string]string) map[string]string {
	keys := make(map[string]string, len(now))
	maps.Copy(keys, now)
	for key, text := range agreed {
		switch {
		case next[key] != text:
		case text == "":
			delete(keys, key)
		default:
			keys[key] = text
		}
	}
	return keys
}

// weaker returns the settings of a job that back up a guest less than before.
func weaker(now, next map[string]string) []kind.Weakening {
	var found []kind.Weakening
	note := func(what, from, to string) {
		found = append(found, kind.Weakening{Old: what + " " + from, New: what + " " + to})
	}
	if from, to := effectiveRetention(now), effectiveRetention(next); isShorter(from, to) {
		note("retention", from, to)
	}
	for _, key := range []string{keySchedule, keyStorage} {
		if now[key] != next[key] {
			note(key, orDefault(now[key]), orDefault(next[key]))
		}
	}
	var added []string
	before := strings.Split(now[keyPaths], pathSeparator)
	for path := range strings.SplitSeq(next[keyPaths], pathSeparator) {
		if path != "" && !slices.Contains(before, path) {
			added = append(added, strconv.Quote(path))
		}
	}
	if len(added) > 0 {
		found = append(found, kind.Weakening{Old: "no further exclude-path", New: "exclude-path " + strings.Join(added, ", ")})
	}
	for _, s := range settings {
		if now[s.key] != next[s.key] && s.isWeaker(now[s.key], next[s.key]) {
			note(s.key, orDefault(now[s.key]), orDefault(next[s.key]))
		}
	}
	return found
}

func orDefault(text string) string {
	if text == "" {
		return "of the default"
	}
	return strconv.Quote(text)
}

// Retentions that no option of Proxmox says alone.
const (
	ofTheStorage = "of the storage" // the retention of a job that has none
	keepsAll     = "keep-all=1"
	untilFull    = "no backup after " // begins the retention of a job that does not prune and has a limit
)

// effectiveRetention returns which backups a job keeps. A job that prunes nothing fails as soon as there are as many backups as it may keep.
//
// Source: PVE::VZDump exec_backup_task, backup_limit.
func effectiveRetention(keys map[string]string) string {
	keeps := cmp.Or(keys[keyRetention], ofTheStorage)
	if keys[keyPrune] == "0" && keeps != keepsAll {
		return untilFull + keeps
	}
	return keeps
}

// isShorter reports whether a retention may keep fewer backups than another one. That of a storage is not known, so it is shorter than any other, and any limit is
// shorter than it. A job that fails when it has reached its limit keeps other backups than one that prunes.
func isShorter(now, next string) bool {
	switch {
	case now == next, next == keepsAll:
		return false
	case now == ofTheStorage, next == ofTheStorage, now == keepsAll, strings.HasPrefix(now, untilFull), strings.HasPrefix(next, untilFull):
		return true
	}
	to := parseOptions(next)
	for option, text := range parseOptions(now) {
		var keeps, kept int
		_, _ = fmt.Sscan(text, &keeps)
		_, _ = fmt.Sscan(to[option], &kept)
		if kept < keeps {
			return true
		}
	}
	return false
}
