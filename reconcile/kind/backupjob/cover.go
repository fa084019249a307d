package backupjob

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
)

// edges returns which guests of a world a job backs up, and will go on to back up if it changes.
func edges(want kind.Want, world kind.World) []edge.Edge {
	if len(world.Places) == 0 {
		return nil
	}
	var list []edge.Edge
	job, lasts := want.Key(), lasting{now: scopeOf(want.Live)}
	lasts.next = lasts.now
	if want.Next.ID != "" {
		lasts.next = scopeOf(want.Next)
	}
	for _, p := range world.Places {
		if lasts.covers(p) {
			list = append(list, edge.Edge{From: job, To: p.Key, Why: edge.Covers})
		}
	}
	return list
}

// scope is which guests a job backs up, parsed.
type scope struct {
	enabled    bool   // and it has a next time
	node, pool string // "" if the job names none
	listed     bool   // it lists guests
	all        bool   // it backs up all guests
	vmids      []int  // that it lists or, if it backs up all guests, leaves out
}

func scopeOf(job cluster.Object) scope {
	keys := job.Keys
	s := scope{enabled: keys[keyEnabled] == "1" && !job.Never && kind.HasDay(keys[keySchedule]), node: keys[keyNode], pool: keys[keyPool], listed: keys[keyVMID] != "", all: keys[keyAll] == "1", vmids: listOf(keys[keyVMID])}
	if !s.listed {
		s.vmids = listOf(keys[keyExclude])
	}
	return s
}

// covers reports whether the job is enabled and backs up a guest. What depends on an unknown place counts as assumed.
//
// Source: PVE::VZDump get_included_guests, which prefers a pool to a list, and a list to all guests.
func (s scope) covers(p kind.Place, assumed bool) bool {
	switch {
	case !s.enabled, s.node != "" && !p.Unknown && s.node != p.Node:
		return false
	case s.node != "" && p.Unknown && !assumed:
		return false
	case s.pool != "":
		return p.Unknown && assumed || !p.Unknown && s.pool == p.Pool
	case s.listed:
		return slices.Contains(s.vmids, p.VMID)
	}
	return s.all && !slices.Contains(s.vmids, p.VMID)
}

// lasting is which guests a job backs up, and is going to back up.
type lasting struct{ now, next scope }

// covers reports whether the job backs up a guest, and will go on to do so.
func (l lasting) covers(p kind.Place) bool { return l.now.covers(p, false) && l.next.covers(p, false) }

// coverage is which guests jobs cover, and will go on to cover.
type coverage []lasting

// newCoverage returns the coverage of jobs.
func newCoverage(jobs []kind.Lasting) coverage {
	c := make(coverage, len(jobs))
	for i, job := range jobs {
		c[i] = lasting{scopeOf(job.Now), scopeOf(job.Next)}
	}
	return c
}

// has reports whether a job covers a guest.
func (c coverage) has(p kind.Place) bool {
	return slices.ContainsFunc(c, func(l lasting) bool { return l.covers(p) })
}

// weakens returns the guests that require backups and that a change of a job takes out of every job, or backs up less: other backups are removed earlier, times or
// the storage change, or more files are left out. Times and storages cannot be compared, so every change of them counts. Going back to what the job had when it
// agreed with its manifest is no weakening if somebody has taken something from guests by an edit. An edit that only keeps backups longer harms no guest, and
// undoing it would remove backups.
func weakens(c kind.Change, world kind.World) []kind.Weakening {
	if c.Op == cluster.OpObjectAdd {
		return nil
	}
	after := c.After()
	if c.Op == cluster.OpObjectRemove {
		after = cluster.Object{ID: c.ID}
	}
	before, then, others := scopeOf(c.Got), scopeOf(after), newCoverage(world.Others)
	now := c.Got.Keys
	if len(Edits(c.Agreed, c.Got.Keys)) > 0 || bringsIn(before, then, world) {
		now = restored(now, after.Keys, c.Agreed)
	}
	var found []kind.Weakening
	for _, g := range world.Guests {
		p := kind.PlaceOf(g.VMID, world.Observed.Inventory)
		if !g.Has(guest.GuardBackup) || !before.covers(p, true) {
			continue
		}
		if !then.covers(p, false) {
			if !others.has(p) {
				found = append(found, kind.Weakening{Guest: g.Ref, Field: guest.GuardBackup, Old: "in the job " + c.ID, New: "in no enabled job"})
			}
			continue
		}
		for _, w := range weaker(now, after.Keys) {
			w.Guest, w.Field = g.Ref, guest.GuardBackup
			found = append(found, w)
		}
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
		p := kind.PlaceOf(g.VMID, world.Observed.Inventory)
		return g.Has(guest.GuardBackup) && !before.covers(p, true) && then.covers(p, false)
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
	return found
}

func orDefault(text string) string {
	if text == "" {
		return "of the default"
	}
	return strconv.Quote(text)
}

// ofTheStorage is the retention of a job that has none.
const ofTheStorage = "of the storage"

// effectiveRetention returns which backups a job keeps. A job that prunes nothing keeps all.
func effectiveRetention(keys map[string]string) string {
	switch {
	case keys[keyPrune] == "0":
		return "keep-all=1"
	case keys[keyRetention] == "":
		return ofTheStorage
	}
	return keys[keyRetention]
}

// isShorter reports whether a retention may keep fewer backups than another one. That of a storage is not known, so it is shorter than any other, and any limit is
// shorter than it.
func isShorter(now, next string) bool {
	switch {
	case now == next, next == "keep-all=1":
		return false
	case now == ofTheStorage, next == ofTheStorage, now == "keep-all=1":
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
