package journal

import (
	"fmt"
	"reflect"
	"slices"
)

// kinds describes every kind of record. To add a kind, add a type to record.go and a row here; docs/internals/journal.md lists the same rows,
// and a test compares the two. The name and the version of a row never change, because journals on disk contain them.
//
// kept completes the sentence "compaction keeps the record ..., and as long as it is recent history". The fold decides it: compaction
// keeps a record while an entry of the fold comes from it.
var kinds = []*kind{
	row[Accepted]{
		name: "accepted", version: 1,
		decode:   decodeVia(func(b Accepted) Accepted { b.ProvenTime = b.ProvenTime.UTC(); return b }),
		complete: func(b Accepted) bool { return b.Commit != "" },
		fold:     (*fold).accept,
		kept:     "until the next `accepted`",
	}.kind(),
	row[Evidence]{
		name: "evidence", version: 6,
		complete: func(b Evidence) bool { return b.Commit != "" && b.Bundle != "" && len(b.Bundle) <= maxEvidence },
		fold:     func(f *fold, r Record, b Evidence) { f.evidence = &entry[Evidence]{r.Seq, b} },
		kept:     "until the next `accepted`",
	}.kind(),
	row[Begun]{
		name: "begun", version: 1,
		newer: func(b Begun) int {
			return max(laterField(7, b.VMID == 0 || b.TaskID != ""), laterField(30, len(b.TakesBack) > 0))
		},
		complete: func(b Begun) bool {
			return b.Step != "" && b.Op != "" && (b.VMID > 0 || b.VMID == 0 && b.Kind != "" && b.Name != "")
		},
		admit: (*trial).begin,
		fold:  (*fold).begin,
		kept:  "until the step ends; that of a destroy (sent, done or unknown) 24 hours longer",
	}.kind(),
	row[Dispatched]{
		name: "dispatched", version: 1,
		newer:    func(b Dispatched) int { return laterField(29, b.Refused) },
		complete: func(b Dispatched) bool { return b.Step != "" },
		admit:    (*trial).dispatch,
		fold:     (*fold).dispatch,
		kept:     "until the step ends",
	}.kind(),
	row[Waited]{
		name: "waited", version: 5,
		complete: func(b Waited) bool {
			return b.Step != "" && b.UptimeAt >= 0 && b.UptimeAt <= b.Seconds && b.Seconds <= maxWaited && b.Uptime >= 0 && b.Uptime <= maxWaited
		},
		fold: (*fold).wait,
		kept: "until the step's next `waited`, or until the step ends",
	}.kind(),
	row[Ended]{
		name: "ended", version: 1,
		newer:    func(b Ended) int { return laterField(4, b.Sent) },
		complete: func(b Ended) bool { return b.Step != "" && b.Result.valid() },
		admit:    (*trial).end,
		fold:     (*fold).end,
		kept:     "no longer; that of a destroy (sent, done or unknown) for 24 hours",
	}.kind(),
	row[Downloaded]{
		name: "downloaded", version: 7,
		newer:    func(b Downloaded) int { return max(laterField(15, b.Prune || b.Gone), laterField(24, b.File != "")) },
		complete: func(b Downloaded) bool { return b.Name != "" && b.Node != "" && b.Volume != "" && b.Size >= 0 },
		fold: func(f *fold, r Record, b Downloaded) {
			if b.Gone {
				f.downloaded.remove(b.On())
				return
			}
			f.downloaded.set(b.On(), r, File{b, r.Time})
		},
		kept: "until the next `downloaded` of the volume on the node; one with gone no longer",
	}.kind(),
	row[OwnedObject]{
		name: "owned-object", version: 9,
		newer: func(b OwnedObject) int { return max(laterField(17, len(b.Agreed) > 0), laterField(24, b.File != "")) },
		complete: func(b OwnedObject) bool {
			return b.Kind != "" && b.ID != "" && b.Name != "" && b.Identity != "" && b.Marker != "" && b.Origin.valid()
		},
		fold: func(f *fold, r Record, b OwnedObject) { f.objects.set(b.Object(), r, b) },
		kept: "until the object's next `owned-object` or `disowned-object`",
	}.kind(),
	row[DisownedObject]{
		name: "disowned-object", version: 9,
		complete: func(b DisownedObject) bool { return b.Kind != "" && b.ID != "" },
		fold:     func(f *fold, _ Record, b DisownedObject) { f.disownObject(ObjectID{b.Kind, b.ID}) },
		kept:     "no longer",
	}.kind(),
	row[Assigned]{
		name: "assigned", version: 1,
		complete: func(b Assigned) bool { return b.Kind != "" && b.Name != "" && b.VMID >= 0 },
		fold:     (*fold).assign,
		kept:     "until the label's next `assigned`; one with vmid 0 no longer",
	}.kind(),
	row[Owned]{
		name: "owned", version: 1,
		newer: func(b Owned) int {
			return max(laterField(5, b.Task != "" || b.Origin == Recovered), laterField(23, b.Configuring), laterField(26, b.CreatedWith != ""), laterField(28, b.Unstarted))
		},
		complete: func(b Owned) bool { return b.VMID > 0 && b.Identity != "" && b.Origin.valid() },
		fold:     func(f *fold, r Record, b Owned) { f.owned.set(b.VMID, r, b) },
		kept:     "until the vmid's next `owned` or `disowned`",
	}.kind(),
	row[Disowned]{
		name: "disowned", version: 1,
		complete: func(b Disowned) bool { return b.VMID > 0 },
		fold:     (*fold).disown,
		kept:     "for 24 hours",
	}.kind(),
	row[Guarded]{
		name: "guarded", version: 1,
		newer: func(b Guarded) int {
			switch {
			case b.File != "":
				return 24
			case b.Rules.Firewall != "":
				return 13
			case b.Rules.Backup != "":
				return 11
			case b.Rules.Rollout != "":
				return 8
			case b.Identity != "" || b.Gone || b.Rules != (GuardRules{}):
				return 5
			}
			return laterField(4, b.Recreate != "")
		},
		decode:   decodeVia(func(b olderGuarded) guardedAs { return b.guardedAs }),
		complete: func(b Guarded) bool { return b.VMID > 0 },
		fold:     func(f *fold, r Record, b Guarded) { f.guarded.set(b.VMID, r, b) },
		kept:     "until the vmid's next `guarded` or `disowned`",
	}.kind(),
	row[ClusterGuarded]{
		name: "cluster-guarded", version: 5,
		complete: func(b ClusterGuarded) bool { return b.Approvals > 0 && b.MaxDestroysPerDay >= 0 },
		fold:     func(f *fold, r Record, b ClusterGuarded) { f.cluster = &entry[ClusterGuarded]{r.Seq, b} },
		kept:     "until the next `cluster-guarded`",
	}.kind(),
	row[Applied]{
		name: "applied", version: 2,
		newer: func(b Applied) int {
			return max(laterField(30, !b.BootedAt.IsZero() || b.Unlisted), laterField(25, b.Process != Process{} || b.Booted || len(b.InEffect)+len(b.Waiting) > 0))
		},
		decode:   decodeVia(Applied.inUTC),
		complete: func(b Applied) bool { return b.VMID > 0 && b.Identity != "" },
		fold:     func(f *fold, r Record, b Applied) { f.applied.set(b.VMID, r, b) },
		kept:     "until the vmid's next `applied` or `disowned`",
	}.kind(),
	row[IneffectiveRestart]{
		name: "futile", version: 3,
		newer:    func(b IneffectiveRestart) int { return laterField(5, b.Over) },
		complete: func(b IneffectiveRestart) bool { return b.VMID > 0 && b.Revision != "" && b.StepDigest != "" },
		fold: func(f *fold, r Record, b IneffectiveRestart) {
			if b.Over {
				f.ineffective.remove(b.VMID)
				return
			}
			f.ineffective.set(b.VMID, r, b)
		},
		kept: "until the vmid's next `futile` or `disowned`; one with over no longer",
	}.kind(),
	row[Attached]{
		name: "attached", version: 5,
		complete: func(b Attached) bool { return b.VMID > 0 && b.Identity != "" },
		fold:     func(f *fold, r Record, b Attached) { f.attached.set(b.VMID, r, b) },
		kept:     "until the vmid's next `attached` or `disowned`",
	}.kind(),
	row[Snapshots]{
		name: "snapshots", version: 12,
		decode:   decodeVia(func(b Snapshots) Snapshots { b.Due = b.Due.UTC(); return b }),
		complete: Snapshots.complete,
		fold:     func(f *fold, r Record, b Snapshots) { f.snapshots.set(b.VMID, r, b) },
		kept:     "until the vmid's next `snapshots` or `disowned`",
	}.kind(),
	row[Repeated]{
		name: "repeated", version: 5,
		complete: func(b Repeated) bool { return b.VMID > 0 },
		fold: func(f *fold, r Record, b Repeated) {
			if b.Over {
				f.repeated.remove(b.VMID)
				return
			}
			f.repeated.set(b.VMID, r, true)
		},
		kept: "until the vmid's next `repeated` or `disowned`; one with over no longer",
	}.kind(),
	row[Flapping]{
		name: "flapping", version: 5,
		newer: func(b Flapping) int { return laterField(18, b.VMID == 0 || b.Kind != "" || b.Name != "") },
		complete: func(b Flapping) bool {
			return b.Level >= 0 && b.Level <= maxFlapLevel && (b.VMID > 0 || b.VMID == 0 && b.Kind != "" && b.Name != "")
		},
		fold: func(f *fold, r Record, b Flapping) {
			if b.Level == 0 {
				f.flapping.remove(b.Key())
				return
			}
			f.flapping.set(b.Key(), r, Flaps{Level: b.Level, Time: r.Time})
		},
		kept: "until the next `flapping` of the object, or the vmid's next `disowned`; one with level 0 no longer",
	}.kind(),
	row[Seen]{
		name: "seen", version: 27,
		complete: func(b Seen) bool { return b.VMID > 0 || b.VMID == 0 && b.Kind != "" && b.Name != "" },
		fold: func(f *fold, r Record, b Seen) {
			if b.Identity == "" {
				f.seen.remove(b.Key())
				return
			}
			f.seen.set(b.Key(), r, b)
		},
		kept: "until the next `seen` of the object, or the vmid's next `disowned`; one without identity no longer",
	}.kind(),
	row[Ordered]{
		name: "ordered", version: 1,
		newer: func(b Ordered) int {
			fields := b.VMID != 0 || b.Identity != "" || b.Entry != "" || b.Limited || b.Why != "" || b.UPID != "" || b.Log != "" || b.Volume != ""
			return max(laterField(5, b.Signer != "" || b.State == OrderFailed || fields), laterField(15, b.Change != ListChange{}), laterField(24, len(b.Guests)+len(b.Paths) > 0))
		},
		decode:   decodeVia(func(b Ordered) Ordered { b.ProvenTime = b.ProvenTime.UTC(); return b }),
		complete: func(b Ordered) bool { return b.Key != "" && b.State.valid() },
		admit:    (*trial).order,
		fold:     func(f *fold, r Record, b Ordered) { f.orders.set(b.Key, r, Order{Ordered: b, Time: r.Time}) },
		kept:     "until the order's next `ordered`; in a final state for 180 days",
	}.kind(),
	row[Overridden]{
		name: "overridden", version: 5,
		decode:   decodeVia(func(b Overridden) Overridden { b.Until = b.Until.UTC(); return b }),
		complete: func(b Overridden) bool { return b.VMID > 0 && (b.Until.IsZero() || b.Order != "" && b.State != "") },
		fold: func(f *fold, r Record, b Overridden) {
			if b.Until.IsZero() {
				f.overridden.remove(b.VMID)
				return
			}
			f.overridden.set(b.VMID, r, b)
		},
		kept: "until the vmid's next `overridden` or `disowned`; one without until no longer",
	}.kind(),
	row[Writer]{
		name: "writer", version: 5,
		complete: func(b Writer) bool { return b.Number > 0 && b.Nonce != "" },
		fold:     (*fold).claim,
		kept:     "until eight later `writer` of other processes, or the next one of its own",
	}.kind(),
	row[Introduced]{
		name: "introduced", version: 5,
		newer: func(b Introduced) int {
			return laterField(14, slices.ContainsFunc(b.By, func(i Introduction) bool { return len(i.Paths)+len(i.Guests) > 0 }))
		},
		complete: Introduced.complete,
		fold:     (*fold).introduce,
		kept:     "until the label's next `introduced`; one of a removed manifest until the vmid's next `disowned`; one without by no longer",
	}.kind(),
	row[PolicyInForce]{
		name: "policy", version: 14,
		complete: func(b PolicyInForce) bool { return b.Name != "" && (b.When == "") == (b.File == "") },
		fold: func(f *fold, r Record, b PolicyInForce) {
			if b.When == "" {
				f.policies.remove(b.Name)
				return
			}
			f.policies.set(b.Name, r, b)
		},
		kept: "until the name's next `policy`; one without when no longer",
	}.kind(),
	row[Left]{
		name: "left", version: 14,
		newer:    func(b Left) int { return laterField(32, len(b.Labels) > 0) },
		complete: func(b Left) bool { return b.VMID > 0 && (len(b.Labels) == 0 || len(b.Labels) == len(b.Files)) },
		fold: func(f *fold, r Record, b Left) {
			if len(b.Files) == 0 {
				f.left.remove(b.VMID)
				return
			}
			f.left.set(b.VMID, r, b.Places())
		},
		kept: "until the vmid's next `left` or `disowned`; one without files no longer",
	}.kind(),
	row[Rollout]{
		name: "rollout", version: 8,
		decode:   decodeVia(func(b Rollout) Rollout { b.Since = b.Since.UTC(); return b }),
		complete: Rollout.complete,
		fold: func(f *fold, r Record, b Rollout) {
			if b.Revision == "" {
				f.rollouts.remove(b.Name)
				return
			}
			f.rollouts.set(b.Name, r, b)
		},
		kept: "until the name's next `rollout`; one without revision no longer",
	}.kind(),
	row[Staged]{
		name: "staged", version: 8,
		complete: func(b Staged) bool {
			return b.VMID > 0 && b.Batch >= 0 && (b.Batch == 0 || b.Rollout != "") && (b.Tree == "") == (b.Commit == "")
		},
		fold: func(f *fold, r Record, b Staged) {
			if b.Batch == 0 {
				f.staged.remove(b.VMID)
				return
			}
			f.staged.set(b.VMID, r, b)
		},
		kept: "until the vmid's next `staged` or `disowned`; one without batch no longer",
	}.kind(),
	row[Placed]{
		name: "placed", version: 10,
		complete: func(b Placed) bool { return b.VMID > 0 && (b.Node == "" || b.Kind != "" && b.Name != "") },
		fold: func(f *fold, r Record, b Placed) {
			if b.Node == "" {
				f.placed.remove(b.VMID)
				return
			}
			f.placed.set(b.VMID, r, b)
		},
		kept: "until the vmid's next `placed` or `disowned`; one without node no longer",
	}.kind(),
	row[Event]{
		name: "event", version: 1,
		newer:    func(b Event) int { return laterField(5, b.Detail != "" || b.Hint != "") },
		complete: func(b Event) bool { return b.Name != "" },
		kept:     "no longer",
	}.kind(),
}

// maxWaited, in seconds, is above the time for which any step is open and any node is up, so that no sum of it overflows.
const maxWaited = 100 * 365 * 24 * 3600

// maxEvidence, in bytes, is what package verify accepts as evidence about one commit.
const maxEvidence = 64 << 10

// maxFlapLevel is above every level that the agent reaches.
const maxFlapLevel = 1000

// The rows by name and by type, and the newest version of a payload.
var kindByName, kindByType, payloadVersion = indexKinds()

func indexKinds() (byName map[string]*kind, byType map[reflect.Type]*kind, newest int) {
	byName, byType = map[string]*kind{}, map[reflect.Type]*kind{}
	for _, k := range kinds {
		byName[k.name], byType[k.body] = k, k
		newest = max(newest, k.newest)
	}
	return byName, byType, newest
}

// kindOf returns the row of a body, or nil if the body is nil or a pointer.
func kindOf(b Body) *kind { return kindByType[reflect.TypeOf(b)] }

// Kind returns the name of the record's kind, which is the key of the body in the journal: accepted, evidence, begun, dispatched, waited, ended, downloaded,
// owned-object, disowned-object, assigned, owned, disowned, guarded, applied, futile, attached, snapshots, repeated, flapping, seen, ordered, overridden, writer, introduced,
// policy, left, rollout, staged, placed or event.
func (r Record) Kind() string { return kindOf(r.Body).name }

// check returns ErrRefused if a field that the kind requires is empty or invalid.
func check(b Body) error {
	k := kindOf(b)
	if k == nil {
		return fmt.Errorf("%w: got %T, want a value of one of the body types", ErrRefused, b)
	}
	if !k.complete(b) {
		return fmt.Errorf("%w: incomplete %s record: %+v", ErrRefused, k.name, b)
	}
	return nil
}

// admit checks the records of one Append call and takes all of them or none.
func (a *admission) admit(bodies []Body) error {
	t := a.try()
	for _, b := range bodies {
		if err := kindOf(b).admit(t, b); err != nil {
			return err
		}
	}
	t.commit()
	return nil
}

// add folds one record into the state.
func (f *fold) add(r Record) {
	f.seq = r.Seq
	kindOf(r.Body).fold(f, r)
}
