package plan_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/lastseen"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"

	"github.com/google/go-cmp/cmp"
)

const poolMarker = "gitops-0011aabb"

// TestPlanObject plans a pool in every state of record, marker and manifest.
func TestPlanObject(t *testing.T) {
	record := journal.OwnedObject{Kind: "Pool", ID: "web", Name: "web", Identity: "5e", Marker: poolMarker, Origin: journal.Created}
	claiming := record
	claiming.Claiming, claiming.Origin = true, journal.Adopted
	renamed := record
	renamed.Name = "old"
	tests := map[string]struct {
		comment string // "-" does not exist
		record  *journal.OwnedObject
		adopt   bool
		gone    bool   // the manifest
		seen    string // the comment that was last seen
		doubt   string // the beginning
		op      cluster.Op
		takes   bool
		set     string
		reason  reason.Name
	}{
		"new":                {comment: "-", op: cluster.OpObjectAdd, takes: true, set: "web servers"},
		"recorded":           {comment: "-", record: &claiming, op: cluster.OpObjectAdd, set: "web servers " + poolMarker},
		"as_wanted":          {comment: "web servers " + poolMarker, record: &record},
		"renamed":            {comment: "web servers " + poolMarker, record: &renamed},
		"edited":             {comment: "old " + poolMarker, record: &record, op: cluster.OpObjectSet, set: "web servers " + poolMarker},
		"foreign":            {comment: "web servers", reason: reason.NotManaged},
		"foreign_marker":     {comment: "web servers gitops-ffffffff", adopt: true, reason: reason.NotManaged},
		"adopt":              {comment: "web servers", adopt: true, op: cluster.OpObjectSet, takes: true, set: "web servers"},
		"adopting":           {comment: "web servers", record: &claiming, adopt: true, op: cluster.OpObjectSet, set: "web servers " + poolMarker},
		"marker_lost":        {comment: "web servers", record: &record, seen: "web servers " + poolMarker, op: cluster.OpObjectSet, set: "web servers " + poolMarker},
		"marker_lost_unseen": {comment: "web servers", record: &record, op: cluster.OpObjectSet, set: "web servers " + poolMarker, doubt: "it overwrites the pool web", reason: reason.NotManaged},
		"marker_lost_adopt":  {comment: "web servers", record: &record, adopt: true, op: cluster.OpObjectSet, takes: true, set: "web servers"},
		"removed":            {comment: "web servers " + poolMarker, record: &record, gone: true, op: cluster.OpObjectRemove, reason: reason.LeftOver},
		"removed_no_marker":  {comment: "web servers", record: &record, gone: true},
		"removed_other":      {comment: "web servers gitops-ffffffff", record: &record, gone: true},
		"removed_gone":       {comment: "-", record: &record, gone: true},
		"removed_not_record": {comment: "web servers " + poolMarker, gone: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			want, got := plan.Desired{Cluster: "home"}, objectsRead(test.comment)
			if !test.gone {
				want.Objects.Wanted = []kind.Desired{webPool(test.adopt)}
			}
			if test.record != nil {
				want.Objects.Owned = map[journal.ObjectID]journal.OwnedObject{test.record.Object(): *test.record}
			}
			if test.seen != "" {
				seen := lastseen.OfObject(cluster.Object{Keys: map[string]string{"comment": test.seen}})
				want.Objects.Seen = map[object.Key]journal.Seen{{Label: "Pool/web"}: {Kind: "Pool", Name: "web", Identity: "5e", Keys: seen}}
			}
			var p plan.Guest
			if planned := plan.New(want, got).Guests; len(planned) > 0 {
				p = planned[0]
			}
			var step plan.Step
			if len(p.Steps) > 0 {
				step = p.Steps[0]
			}
			if step.Op != test.op || step.TakesOwnership != test.takes || len(p.Steps) > 1 {
				t.Fatalf("got steps %+v, want one %s", p.Steps, test.op)
			}
			if !strings.HasPrefix(step.Doubt, test.doubt) || test.doubt == "" && step.Doubt != "" {
				t.Errorf("got the doubt %q, want %q", step.Doubt, test.doubt)
			}
			if test.set != "" && step.Calls[0].Params["comment"] != test.set && !test.takes {
				t.Errorf("got %+v, want the comment %q", step.Calls[0], test.set)
			}
			var reason reason.Name
			if len(p.Conditions) > 0 {
				reason = p.Conditions[0].Reason
			}
			if reason != test.reason {
				t.Errorf("got condition %q, want %q", reason, test.reason)
			}
		})
	}
}

// TestOverwrittenValuesAreNamed lets an object without its marker differ from its manifest: the step that waits for an approval names each value that is lost, also
// those of a list, which later steps replace without another approval.
func TestOverwrittenValuesAreNamed(t *testing.T) {
	entries := func(cidr string) string { return kind.EntriesText([]guest.FirewallEntry{{CIDR: cidr}}) }
	for name, test := range map[string]struct {
		wanted kind.Desired
		live   map[string]string
		want   []string
	}{
		"comment": {webPool(false), map[string]string{"comment": "of the other team"}, []string{`comment: "of the other team" -> "web servers gitops-0011aabb"`}},
		"marker":  {webPool(false), map[string]string{"comment": "web servers"}, nil},
		"keys": {
			kind.Desired{Kind: "BackupJob", Name: "web", ID: "web", Keys: []kind.Intent{{Key: "schedule", Text: "02:30"}, {Key: "storage", Text: "pbs"}, {Key: "notes-template", Text: ""}}},
			map[string]string{"schedule": "daily", "storage": "local", "notes-template": "{{guestname}}", "comment": "x"},
			[]string{`schedule: "daily" -> "02:30"`, `storage: "local" -> "pbs"`, `notes-template: "{{guestname}}" -> ""`},
		},
		"list": {
			kind.Desired{Kind: "IPSet", Name: "web", ID: "web", Keys: []kind.Intent{{Key: "entries", Text: entries("10.0.0.1")}}},
			map[string]string{"comment": "", "entries": entries("10.0.0.2")},
			[]string{`entries.10.0.0.1: "" -> "10.0.0.1"`, `entries.10.0.0.2: "10.0.0.2" -> ""`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			record := journal.OwnedObject{Kind: string(test.wanted.Kind), ID: "web", Name: "web", Identity: "5e", Marker: poolMarker, Origin: journal.Created}
			want := plan.Desired{Cluster: "home", Objects: plan.Objects{Wanted: []kind.Desired{test.wanted}, Owned: map[journal.ObjectID]journal.OwnedObject{record.Object(): record}}}
			got := cluster.Snapshot{Objects: map[guest.Kind]cluster.Objects{test.wanted.Kind: {ByID: map[string]cluster.Object{"web": {ID: "web", Keys: test.live}}, Asked: []string{"web"}, ReadAt: time.Unix(1, 0)}}}
			steps := plan.New(want, got).Guests[0].Steps
			if len(steps) != 1 {
				t.Fatalf("got steps %+v, want one", steps)
			}
			_, values, _ := strings.Cut(steps[0].Doubt, "that the agent last saw")
			if got := strings.TrimPrefix(values, ": "); got != strings.Join(test.want, ", ") {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// webPool is the pool web with a comment.
func webPool(adopt bool) kind.Desired {
	return kind.Desired{
		Kind: "Pool", Name: "web", ID: "web", Adopt: adopt, Destroy: guest.Approve, Keys: []kind.Intent{{Key: "comment", Text: "web servers"}},
	}
}

// objectsRead is a reading with the pool web, which has a comment, or "-" without it.
func objectsRead(comment string) cluster.Snapshot {
	pools := cluster.Objects{ByID: map[string]cluster.Object{}, Asked: []string{"web"}, ReadAt: time.Unix(1, 0)}
	if comment != "-" {
		pools.ByID["web"] = cluster.Object{ID: "web", Keys: map[string]string{"comment": comment}}
	}
	return cluster.Snapshot{Objects: map[guest.Kind]cluster.Objects{"Pool": pools}}
}

// TestObjectOfAnUnknownReadingGetsNoStep leaves objects alone whose kind was not read, or not with this id.
func TestObjectOfAnUnknownReadingGetsNoStep(t *testing.T) {
	want := plan.Desired{Cluster: "home", Objects: plan.Objects{Wanted: []kind.Desired{webPool(true)}}}
	failed, other := objectsRead("-"), objectsRead("-")
	failed.Objects["Pool"] = cluster.Objects{Err: "no quorum"}
	other.Objects["Pool"] = cluster.Objects{Asked: []string{"db"}, ReadAt: time.Unix(1, 0)}
	for name, got := range map[string]cluster.Snapshot{"never": {}, "failed": failed, "other_ids": other} {
		if p := plan.New(want, got).Guests[0]; len(p.Steps) != 0 || p.Conditions[0].Type != plan.NotObserved {
			t.Errorf("%s: got %+v, want no step and Unknown", name, p)
		}
	}
}

// TestManifestWithAnotherIDRemovesTheFormerObject plans the new pool and the removal of the former one under one label, so that one lane has both.
func TestManifestWithAnotherIDRemovesTheFormerObject(t *testing.T) {
	got := objectsRead("web servers " + poolMarker)
	pools := got.Objects["Pool"]
	pools.Asked = []string{"prod", "web"}
	got.Objects["Pool"] = pools
	d := webPool(false)
	d.ID = "prod"
	record := journal.OwnedObject{Kind: "Pool", ID: "web", Name: "web", Identity: "5e", Marker: poolMarker, Origin: journal.Created, Destroy: "deny"}
	objects := plan.Objects{Wanted: []kind.Desired{d}, Owned: map[journal.ObjectID]journal.OwnedObject{record.Object(): record}}
	planned := plan.New(plan.Desired{Cluster: "home", Objects: objects.For("Pool/web")}, got)
	if len(planned.Guests) != 1 || len(planned.Guests[0].Steps) != 2 || planned.Guests[0].Steps[0].Op != cluster.OpObjectAdd || planned.Guests[0].Steps[1].Object.Destroy != guest.Deny {
		t.Fatalf("got %+v, want the new pool and the removal of the former one", planned.Guests)
	}
	if diff := cmp.Diff(map[guest.Kind][]string{"Pool": {"prod", "web"}}, objects.Reads()); diff != "" {
		t.Errorf("reads (-want +got)\n%s", diff)
	}
}

// TestGuestsWaitForTheirPool holds a guest's creation, and its move into a pool, while the pool of a manifest does not exist.
func TestGuestsWaitForTheirPool(t *testing.T) {
	child := webPool(false)
	child.Name, child.ID, child.Needs = "child", "web/child", []kind.Need{{Kind: "Pool", ID: "web"}}
	web := guest.Desired{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}, Pool: "web"}
	waits := func(comment string) (of []string) {
		got := objectsRead(comment)
		pools := got.Objects["Pool"]
		pools.Asked = []string{"web", "web/child"}
		got.Objects["Pool"] = pools
		objects := []kind.Desired{webPool(true), child}
		want := plan.Desired{Cluster: "home", Guests: []guest.Desired{web}, Objects: plan.Objects{Wanted: objects}}
		order := plan.NewOrdering(plan.New(want, got), want.Guests, plan.OrderingOptions{Objects: objects})
		for _, step := range []plan.Step{
			{Guest: web.Ref, Op: cluster.OpCreate}, {Guest: web.Ref, Op: cluster.OpPool}, {Guest: web.Ref, Op: cluster.OpConfig}, {Guest: child.Ref(), Op: cluster.OpObjectAdd, Object: &plan.ObjectStep{ID: child.ID}},
		} {
			if order.Waits(step).Message != "" {
				of = append(of, string(step.Op))
			}
		}
		return of
	}
	if diff := cmp.Diff([]string{"create", "pool", "object-add"}, waits("-")); diff != "" {
		t.Errorf("without the pool (-want +got)\n%s", diff)
	}
	if got := waits("a pool of others"); len(got) != 0 {
		t.Errorf("got %v waiting although the pool exists", got)
	}
}
