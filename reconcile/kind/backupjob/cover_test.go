package backupjob

import (
	"maps"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/object"

	"github.com/google/go-cmp/cmp"
)

func TestCovers(t *testing.T) {
	known := kind.Place{VMID: 201, Node: "pve1", Pool: "web"}
	tests := map[string]struct {
		keys              map[string]string
		covers, elsewhere bool // for the guest in its place, and for one whose place is not known
	}{
		"all":           {map[string]string{"all": "1"}, true, true},
		"except":        {map[string]string{"all": "1", "exclude": "200,201"}, false, false},
		"except_others": {map[string]string{"all": "1", "exclude": "2010"}, true, true},
		"list":          {map[string]string{"vmid": "200,201"}, true, true},
		"other_list":    {map[string]string{"vmid": "200,2010"}, false, false},
		"pool":          {map[string]string{"pool": "web"}, true, false},
		"other_pool":    {map[string]string{"pool": "web/sub"}, false, false},
		"pool_and_all":  {map[string]string{"pool": "db", "all": "1"}, false, false},
		"node":          {map[string]string{"all": "1", "node": "pve1"}, true, false},
		"other_node":    {map[string]string{"all": "1", "node": "pve2"}, false, false},
		"nothing":       {map[string]string{}, false, false},
		"no_such_day":   {map[string]string{"all": "1", "schedule": "02-30 01:00"}, false, false},
		"leap_day":      {map[string]string{"all": "1", "schedule": "02-29 01:00"}, true, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.keys["enabled"] = "1"
			job := cluster.Object{Keys: test.keys}
			if got := scopeOf(job).covers(known, false); got != test.covers {
				t.Errorf("got %t, want %t", got, test.covers)
			}
			if got := scopeOf(job).covers(kind.Place{VMID: 201, Unknown: true}, false); got != test.elsewhere {
				t.Errorf("place not known: got %t, want %t", got, test.elsewhere)
			}
			if assumed := scopeOf(job).covers(kind.Place{VMID: 201, Unknown: true}, true); !assumed && test.covers {
				t.Error("place not known, and assumed: got false, want true")
			}
			job.Never = true
			if scopeOf(job).covers(known, true) {
				t.Error("without a next time: got true, want false")
			}
			test.keys["enabled"] = "0"
			if scopeOf(job).covers(known, true) {
				t.Error("disabled: got true, want false")
			}
		})
	}
}

// TestWeakenings changes a job that covers a guest which requires backups.
func TestWeakenings(t *testing.T) {
	now := map[string]string{"enabled": "1", "schedule": "daily", "vmid": "201,202", "storage": "local", "prune-backups": "keep-daily=7,keep-last=3"}
	other := func(now, next string) []kind.Lasting {
		job := func(vmids string) cluster.Object {
			return cluster.Object{ID: "other", Keys: map[string]string{"enabled": "1", "vmid": vmids}}
		}
		return []kind.Lasting{{Now: job(now), Next: job(next)}}
	}
	tests := map[string]struct {
		set    map[string]string
		remove []string
		others []kind.Lasting
		op     cluster.Op
		want   []string // old -> new
	}{
		"comment":              {set: map[string]string{"comment": "x"}},
		"more_guests":          {set: map[string]string{"vmid": "201,202,203"}},
		"all":                  {set: map[string]string{"all": "1"}, remove: []string{"vmid"}},
		"disabled":             {set: map[string]string{"enabled": "0"}, want: []string{"in the job nightly -> in no enabled job"}},
		"removed":              {op: cluster.OpObjectRemove, want: []string{"in the job nightly -> in no enabled job"}},
		"removed_other":        {op: cluster.OpObjectRemove, others: other("201", "201")},
		"removed_other_leaves": {op: cluster.OpObjectRemove, others: other("201", "203"), want: []string{"in the job nightly -> in no enabled job"}},
		"removed_other_comes":  {op: cluster.OpObjectRemove, others: other("203", "201"), want: []string{"in the job nightly -> in no enabled job"}},
		"another_guest_leaves": {set: map[string]string{"vmid": "201"}},
		"guest_leaves":         {set: map[string]string{"vmid": "202"}, want: []string{"in the job nightly -> in no enabled job"}},
		"retention_longer":     {set: map[string]string{"prune-backups": "keep-daily=8,keep-last=3,keep-weekly=1"}},
		"retention_all":        {set: map[string]string{"prune-backups": "keep-all=1"}},
		"retention_shorter":    {set: map[string]string{"prune-backups": "keep-daily=6,keep-last=30"}, want: []string{"retention keep-daily=7,keep-last=3 -> retention keep-daily=6,keep-last=30"}},
		"retention_gone":       {remove: []string{"prune-backups"}, want: []string{"retention keep-daily=7,keep-last=3 -> retention of the storage"}},
		"no_prune":             {set: map[string]string{"remove": "0"}},
		"schedule":             {set: map[string]string{"schedule": "2099-01-01"}, want: []string{`schedule "daily" -> schedule "2099-01-01"`}},
		"storage":              {remove: []string{"storage"}, want: []string{`storage "local" -> storage of the default`}},
		"paths":                {set: map[string]string{"exclude-path": "/"}, want: []string{`no further exclude-path -> exclude-path "/"`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := kind.Change{Op: cluster.OpObjectSet, ID: "nightly", Got: cluster.Object{ID: "nightly", Keys: maps.Clone(now)}, Set: test.set, Delete: test.remove}
			if test.op != "" {
				c.Op = test.op
			}
			world := kind.World{Others: test.others, Guests: []kind.Guarded{
				{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "db", VMID: 201}, Guards: []guest.GuardField{guest.GuardBackup}}, {Ref: guest.Ref{VMID: 202}},
			}}
			world.Observed.Inventory.Rows = []cluster.Row{{VMID: 201, Node: "pve1"}, {VMID: 202, Node: "pve1"}}
			var got []string
			for _, w := range weakens(c, world) {
				if w.Guest.VMID != 201 || w.Field != guest.GuardBackup {
					t.Errorf("got %+v, want the guest 201 only", w)
				}
				got = append(got, w.Old+" -> "+w.New)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("weakenings (-want +got)\n%s", diff)
			}
		})
	}
}

func TestRetentionOfAJobThatPrunesNothing(t *testing.T) {
	if !isShorter(effectiveRetention(map[string]string{"remove": "0"}), effectiveRetention(map[string]string{"prune-backups": "keep-last=3"})) {
		t.Error("got no weakening for a job that begins to prune")
	}
	if !isShorter(ofTheStorage, "keep-last=3") || isShorter(ofTheStorage, "keep-all=1") {
		t.Error("got another order of the retention of the storage")
	}
}

// An edge goes to each place that a job backs up as it is and as it is going to be, and nowhere in a world without places.
func TestEdgesCoverWhatStaysCovered(t *testing.T) {
	t.Parallel()
	job := func(vmids string) cluster.Object {
		return cluster.Object{ID: "nightly", Keys: map[string]string{"enabled": "1", "vmid": vmids}}
	}
	world := kind.World{Places: []kind.Place{{Key: object.Guest(201), VMID: 201}, {Key: object.Guest(202), VMID: 202}, {Key: edge.Place("202 elsewhere"), VMID: 202}}}
	want := kind.Want{Desired: kind.Desired{Kind: Name, ID: "nightly"}, Live: job("201,202")}
	for next, covered := range map[string][]string{"": {"201", "202", "202 elsewhere"}, "202,203": {"202", "202 elsewhere"}, "203": nil} {
		want.Next = cluster.Object{}
		if next != "" {
			want.Next = job(next)
		}
		var got []string
		for _, e := range Kind().EdgesOf(want, world) {
			if e.Why != edge.Covers || e.From != want.Key() {
				t.Errorf("got %+v, want that the job covers a guest", e)
			}
			got = append(got, e.To.String())
		}
		if diff := cmp.Diff(covered, got); diff != "" {
			t.Errorf("next %q (-want +got)\n%s", next, diff)
		}
	}
	if got := Kind().EdgesOf(want, kind.World{}); len(got) > 0 {
		t.Errorf("got %v in a world without places", got)
	}
}
