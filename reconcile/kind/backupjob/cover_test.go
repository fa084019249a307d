package backupjob

import (
	"fmt"
	"maps"
	"strings"
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
		"leap_day":      {map[string]string{"all": "1", "schedule": "02-29 01:00"}, false, false},
		"every_year":    {map[string]string{"all": "1", "schedule": "12-31 01:00"}, true, true},
		"once":          {map[string]string{"all": "1", "schedule": "2099-01-01"}, false, false},
		"slow":          {map[string]string{"all": "1", "bwlimit": "1"}, false, false},
		"not_so_slow":   {map[string]string{"all": "1", "bwlimit": "1024"}, true, true},
		"no_limit":      {map[string]string{"all": "1", "bwlimit": "0"}, true, true},
		"no_wait":       {map[string]string{"all": "1", "lockwait": "0"}, false, false},
		"stop":          {map[string]string{"all": "1", "mode": "stop"}, true, true},
		"stop_at_once":  {map[string]string{"all": "1", "mode": "stop", "stopwait": "0"}, false, false},
		"until_full":    {map[string]string{"all": "1", "remove": "0", "prune-backups": "keep-last=3"}, false, false},
		"keeps_all":     {map[string]string{"all": "1", "remove": "0", "prune-backups": "keep-all=1"}, true, true},
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
			if test.keys["mode"] == modeStop && scopeOf(job).covers(kind.Place{VMID: 201, Node: "pve1", HA: true}, true) {
				t.Error("a job that stops guests covers a guest under HA, want that it does not: Proxmox refuses the backup")
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
			return cluster.Object{ID: "other", Keys: map[string]string{"enabled": "1", "schedule": "daily", "vmid": vmids, "storage": "local", "prune-backups": "keep-daily=7,keep-last=3,keep-weekly=1"}}
		}
		return []kind.Lasting{{Now: job(now), Next: job(next)}}
	}
	with := func(key, text string) []kind.Lasting {
		list := other("201", "201")
		list[0].Next.Keys[key] = text
		return list
	}
	const lessIn = "in the job nightly -> in no enabled job that keeps as much, only in other"
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
		"removed_other_slower": {op: cluster.OpObjectRemove, others: with("bwlimit", "2048"), want: []string{lessIn}},
		"removed_other_place":  {op: cluster.OpObjectRemove, others: with("storage", "pbs"), want: []string{lessIn}},
		"removed_other_seldom": {op: cluster.OpObjectRemove, others: with("schedule", "yearly"), want: []string{lessIn}},
		"removed_other_keeps":  {op: cluster.OpObjectRemove, others: with("prune-backups", "keep-last=1"), want: []string{lessIn}},
		"removed_other_never":  {op: cluster.OpObjectRemove, others: with("schedule", "2099-01-01"), want: []string{"in the job nightly -> in no enabled job"}},
		"another_guest_leaves": {set: map[string]string{"vmid": "201"}},
		"guest_leaves":         {set: map[string]string{"vmid": "202"}, want: []string{"in the job nightly -> in no enabled job"}},
		"retention_longer":     {set: map[string]string{"prune-backups": "keep-daily=8,keep-last=3,keep-weekly=1"}},
		"retention_all":        {set: map[string]string{"prune-backups": "keep-all=1"}},
		"retention_shorter":    {set: map[string]string{"prune-backups": "keep-daily=6,keep-last=30"}, want: []string{"retention keep-daily=7,keep-last=3 -> retention keep-daily=6,keep-last=30"}},
		"retention_gone":       {remove: []string{"prune-backups"}, want: []string{"retention keep-daily=7,keep-last=3 -> retention of the storage"}},
		"no_prune":             {set: map[string]string{"remove": "0"}, want: []string{"retention keep-daily=7,keep-last=3 -> retention no backup after keep-daily=7,keep-last=3"}},
		"no_prune_and_no_end":  {set: map[string]string{"remove": "0", "prune-backups": "keep-all=1"}},
		"slow":                 {set: map[string]string{"bwlimit": "1"}, want: []string{`bwlimit of the default -> bwlimit "1"`}},
		"stop":                 {set: map[string]string{"mode": "stop"}, want: []string{`mode of the default -> mode "stop"`}},
		"suspend":              {set: map[string]string{"mode": "suspend"}, want: []string{`mode of the default -> mode "suspend"`}},
		"snapshot":             {set: map[string]string{"mode": "snapshot"}},
		"lock_wait":            {set: map[string]string{"lockwait": "0"}, want: []string{`lockwait of the default -> lockwait "0"`}},
		"longer_lock_wait":     {set: map[string]string{"lockwait": "600"}},
		"stop_wait":            {set: map[string]string{"stopwait": "0"}, want: []string{`stopwait of the default -> stopwait "0"`}},
		"idle":                 {set: map[string]string{"ionice": "8"}, want: []string{`ionice of the default -> ionice "8"`}},
		"protected":            {set: map[string]string{"protected": "1"}, want: []string{`protected of the default -> protected "1"`}},
		"few_entries":          {set: map[string]string{"performance": "pbs-entries-max=1"}, want: []string{`performance of the default -> performance "pbs-entries-max=1"`}},
		"fleecing":             {set: map[string]string{"fleecing": "enabled=1,storage=small"}, want: []string{`fleecing of the default -> fleecing "enabled=1,storage=small"`}},
		"metadata":             {set: map[string]string{"pbs-change-detection-mode": "metadata"}, want: []string{`pbs-change-detection-mode of the default -> pbs-change-detection-mode "metadata"`}},
		"harmless":             {set: map[string]string{"notes-template": "x", "compress": "zstd", "zstd": "2", "mailto": "a@example.org", "repeat-missed": "1", "stdexcludes": "1"}, want: []string(nil)},
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

// An edge goes to each place of a guest that a job backs up, and nowhere in a world without places.
func TestEdgesGoToWhatAJobCovers(t *testing.T) {
	t.Parallel()
	world := kind.World{Places: []kind.Place{{Key: object.Guest(201), VMID: 201}, {Key: object.Guest(202), VMID: 202}, {Key: edge.Place("202 elsewhere"), VMID: 202}}}
	want := kind.Want{Desired: kind.Desired{Kind: Name, ID: "nightly"}}
	for vmids, covered := range map[string][]string{"201,202": {"201", "202", "202 elsewhere"}, "202,203": {"202", "202 elsewhere"}, "203": nil} {
		want.Live = cluster.Object{ID: "nightly", Keys: map[string]string{"enabled": "1", "vmid": vmids}}
		var got []string
		for _, e := range Kind().EdgesOf(want, world) {
			if e.Why != edge.Covers || e.From != want.Key() {
				t.Errorf("got %+v, want that the job covers a guest", e)
			}
			got = append(got, e.To.String())
		}
		if diff := cmp.Diff(covered, got); diff != "" {
			t.Errorf("vmids %s (-want +got)\n%s", vmids, diff)
		}
	}
	if got := Kind().EdgesOf(want, kind.World{}); len(got) > 0 {
		t.Errorf("got %v in a world without places", got)
	}
}

// TestSharedStorage makes or widens a job that backs up a guest of which another job keeps backups on a storage.
func TestSharedStorage(t *testing.T) {
	t.Parallel()
	const keeps = "keep-last=30"
	tests := map[string]struct {
		got, after map[string]string // of the job "second"; no keys before it is made
		other      map[string]string // instead of keys of the job "first"
		shares     bool
	}{
		"made":              {nil, map[string]string{"vmid": "201", "prune-backups": "keep-last=1"}, nil, true},
		"made_for_all":      {nil, map[string]string{"all": "1", "prune-backups": "keep-last=1"}, nil, true},
		"made_for_pool":     {nil, map[string]string{"pool": "web", "prune-backups": "keep-last=1"}, nil, true},
		"enabled_unsaid":    {nil, map[string]string{"enabled": "", "vmid": "201", "prune-backups": "keep-last=1"}, nil, true},
		"made_disabled":     {nil, map[string]string{"enabled": "0", "vmid": "201", "prune-backups": "keep-last=1"}, nil, false},
		"made_for_others":   {nil, map[string]string{"vmid": "202", "prune-backups": "keep-last=1"}, nil, false},
		"made_elsewhere":    {nil, map[string]string{"vmid": "201", "storage": "pbs", "prune-backups": "keep-last=1"}, nil, false},
		"made_on_a_link":    {nil, map[string]string{"vmid": "201", "storage": "nas", "prune-backups": "keep-last=1"}, nil, true}, // which may be the same folder
		"made_on_default":   {nil, map[string]string{"vmid": "201", "storage": "", "prune-backups": "keep-last=1"}, nil, true},
		"other_on_default":  {nil, map[string]string{"vmid": "201", "prune-backups": "keep-last=1"}, map[string]string{"storage": ""}, true},
		"other_is_disabled": {nil, map[string]string{"vmid": "201", "prune-backups": "keep-last=1"}, map[string]string{"enabled": "0"}, false},
		"as_long_but_often": {nil, map[string]string{"vmid": "201", "schedule": "hourly", "prune-backups": keeps}, nil, true},
		"keeps_all":         {nil, map[string]string{"vmid": "201", "schedule": "hourly", "prune-backups": "keep-all=1"}, nil, true}, // what it makes counts for the first
		"both_keep_all":     {nil, map[string]string{"vmid": "201", "prune-backups": "keep-all=1"}, map[string]string{"prune-backups": "keep-all=1"}, false},
		"starved":           {nil, map[string]string{"vmid": "201", "bwlimit": "1", "prune-backups": "keep-last=1"}, nil, true},
		"widened":           {map[string]string{"vmid": "202", "prune-backups": "keep-last=1"}, map[string]string{"vmid": "201,202", "prune-backups": "keep-last=1"}, nil, true},
		"widened_to_all":    {map[string]string{"vmid": "202", "prune-backups": "keep-last=1"}, map[string]string{"all": "1", "prune-backups": "keep-last=1"}, nil, true},
		"widened_to_pool":   {map[string]string{"vmid": "202", "prune-backups": "keep-last=1"}, map[string]string{"pool": "web", "prune-backups": "keep-last=1"}, nil, true},
		"no_longer_left":    {map[string]string{"all": "1", "exclude": "201", "prune-backups": "keep-last=1"}, map[string]string{"all": "1", "prune-backups": "keep-last=1"}, nil, true},
		"other_node":        {map[string]string{"all": "1", "node": "pve2", "prune-backups": "keep-last=1"}, map[string]string{"all": "1", "prune-backups": "keep-last=1"}, nil, true},
		"enabled":           {map[string]string{"enabled": "0", "vmid": "201", "prune-backups": "keep-last=1"}, map[string]string{"vmid": "201", "prune-backups": "keep-last=1"}, nil, true},
		"comes_at_last":     {map[string]string{"schedule": "02-30", "vmid": "201", "prune-backups": "keep-last=1"}, map[string]string{"vmid": "201", "prune-backups": "keep-last=1"}, nil, true},
		"was_there_before":  {map[string]string{"vmid": "201", "prune-backups": "keep-last=1"}, map[string]string{"vmid": "201,202", "prune-backups": "keep-last=1"}, nil, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := func(id string, keys map[string]string) cluster.Object {
				all := map[string]string{"enabled": "1", "schedule": "daily", "storage": "local"}
				maps.Copy(all, keys)
				maps.DeleteFunc(all, func(_, text string) bool { return text == "" })
				return cluster.Object{ID: id, Keys: all}
			}
			first := map[string]string{"vmid": "201", "prune-backups": keeps}
			maps.Copy(first, test.other)
			c := kind.Change{Op: cluster.OpObjectAdd, ID: "second", Set: job("", test.after).Keys}
			world := kind.World{Guests: []kind.Guarded{{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "db", VMID: 201}, Guards: []guest.GuardField{guest.GuardBackup}}}}
			world.Observed.Inventory.Rows = []cluster.Row{{VMID: 201, Node: "pve1", Pool: "web"}, {VMID: 202, Node: "pve1"}}
			live := map[string]cluster.Object{"first": job("first", first)}
			if test.got != nil {
				c.Op, c.Got = cluster.OpObjectSet, job("second", test.got)
				live["second"] = c.Got
				for key := range c.Got.Keys {
					if _, stays := c.Set[key]; !stays {
						c.Delete = append(c.Delete, key)
					}
				}
			}
			world.Observed.Objects = map[guest.Kind]cluster.Objects{Name: {ByID: live}, cluster.Storages: readStorages()}
			got := weakens(c, world)
			if shares := len(got) > 0; shares != test.shares {
				t.Errorf("got %v, want a weakening: %t", got, test.shares)
			}
			for _, w := range got {
				if w.Guest.VMID != 201 || w.Field != guest.GuardBackup || !strings.Contains(w.Old, "first") || !strings.Contains(w.New, "second") {
					t.Errorf("got %v, want both jobs named", w)
				}
			}
		})
	}
}

// readStorages returns a reading in which local and pbs are different places.
func readStorages() cluster.Objects {
	return cluster.Objects{ByID: map[string]cluster.Object{
		"local": {ID: "local", Keys: map[string]string{"type": "dir", "mount": "/var/lib/vz", "folder": "/dump"}}, "pbs": {ID: "pbs", Keys: map[string]string{"type": "pbs", "remote": "/store"}},
	}}
}

// TestNodeUnderHA changes jobs of a node for a guest that the HA manager moves: no such job is sure to back the guest up, and each of them may.
func TestNodeUnderHA(t *testing.T) {
	t.Parallel()
	job := func(keys map[string]string) cluster.Object {
		all := map[string]string{"enabled": "1", "schedule": "daily", "storage": "local", "all": "1", "prune-backups": "keep-last=30"}
		maps.Copy(all, keys)
		return cluster.Object{ID: "job", Keys: all}
	}
	none := map[string]string{}
	tests := map[string]struct {
		ha         bool
		got, after map[string]string // of the job; nil if it is made
		weaker     bool
	}{
		"another_job":         {true, nil, map[string]string{"node": "pve2", "prune-backups": "keep-last=1"}, true},
		"of_its_node":         {true, nil, map[string]string{"node": "pve1", "prune-backups": "keep-last=1"}, true},
		"not_under_ha":        {false, nil, map[string]string{"node": "pve2", "prune-backups": "keep-last=1"}, false},
		"elsewhere":           {true, nil, map[string]string{"node": "pve2", "storage": "pbs"}, false},
		"to_a_node":           {true, none, map[string]string{"node": "pve1"}, true},
		"to_its_node":         {false, none, map[string]string{"node": "pve1"}, false},
		"no_change":           {true, map[string]string{"node": "pve2"}, map[string]string{"node": "pve2", "comment": "x"}, false},
		"keeps_fewer":         {true, map[string]string{"node": "pve2"}, map[string]string{"node": "pve2", "prune-backups": "keep-last=1"}, true},
		"keeps_fewer_no_ha":   {false, map[string]string{"node": "pve2"}, map[string]string{"node": "pve2", "prune-backups": "keep-last=1"}, false},
		"from_a_node_to_all":  {true, map[string]string{"node": "pve2"}, none, true},
		"from_a_node_to_more": {true, map[string]string{"node": "pve2", "storage": "pbs"}, map[string]string{"storage": "pbs"}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := map[string]cluster.Object{"other": {ID: "other", Keys: map[string]string{"enabled": "1", "schedule": "daily", "storage": "local", "vmid": "201", "prune-backups": "keep-last=3"}}}
			c := kind.Change{Op: cluster.OpObjectAdd, ID: "job", Set: job(test.after).Keys}
			if test.got != nil {
				c.Op, c.Got = cluster.OpObjectSet, job(test.got)
				live["job"] = c.Got
				if _, stays := c.Set["node"]; !stays && c.Got.Keys["node"] != "" {
					c.Delete = []string{"node"}
				}
			}
			world := kind.World{Guests: []kind.Guarded{{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "db", VMID: 201}, Guards: []guest.GuardField{guest.GuardBackup}}}}
			row := cluster.Row{VMID: 201, Node: "pve1"}
			if test.ha {
				row.HAState = "started"
			}
			world.Observed.Inventory.Rows = []cluster.Row{row}
			world.Observed.Inventory.Capacity.Nodes, world.Observed.Inventory.Offline = []cluster.NodeCapacity{{Node: "pve1"}}, []string{"pve2"}
			world.Observed.Objects = map[guest.Kind]cluster.Objects{Name: {ByID: live}, cluster.Storages: readStorages()}
			if got := weakens(c, world); (len(got) > 0) != test.weaker {
				t.Errorf("got %v, want a weakening: %t", got, test.weaker)
			}
		})
	}
}

// TestMoveUnderHA puts a guest under HA, takes it out again, and moves it: the set of jobs counts, and those that shut guests down are no cover under HA.
func TestMoveUnderHA(t *testing.T) {
	t.Parallel()
	free := kind.Place{VMID: 201, Node: "pve1"}
	managed := free
	managed.HA, managed.Nodes = true, []string{"pve1", "pve2"}
	elsewhere, away := managed, free
	elsewhere.Node, away.Node = "pve2", "pve2"
	type jobs = []map[string]string
	one, two := map[string]string{"node": "pve1"}, map[string]string{"node": "pve2"}
	short := map[string]string{"node": "pve2", "prune-backups": "keep-last=1"}
	for name, test := range map[string]struct {
		jobs     jobs
		from, to kind.Place
		want     int
	}{
		"of_all_nodes":         {jobs{{}}, free, managed, 0},
		"of_its_node":          {jobs{one}, free, managed, 1},
		"of_another_node":      {jobs{two}, free, managed, 0},
		"of_each_node":         {jobs{one, two}, free, managed, 0},
		"of_each_node_shorter": {jobs{one, short}, free, managed, 2}, // no job keeps as much on pve2, and what pve1's keeps is pruned
		"stops":                {jobs{{"mode": "stop"}}, free, managed, 2},
		"starved":              {jobs{{"bwlimit": "1"}}, free, managed, 0},
		"moves":                {jobs{one, two}, managed, elsewhere, 0},
		"moves_uncovered":      {jobs{one}, managed, elsewhere, 0}, // it could before
		"forgotten_elsewhere":  {jobs{one, two}, managed, away, 0},
		"forgotten_uncovered":  {jobs{one}, managed, away, 0},
		"moves_by_itself":      {jobs{one, two}, free, away, 0},
		"moves_to_a_shorter":   {jobs{one, short}, free, away, 2},
		"moves_out":            {jobs{one}, free, away, 1},
	} {
		live := make(map[string]cluster.Object)
		world := kind.World{}
		for i, with := range test.jobs {
			keys := map[string]string{"enabled": "1", "schedule": "daily", "storage": "local", "all": "1", "prune-backups": "keep-last=30"}
			maps.Copy(keys, with)
			job := cluster.Object{ID: fmt.Sprint("job", i), Keys: keys}
			live[job.ID], world.Others = job, append(world.Others, kind.Lasting{Now: job, Next: job})
		}
		world.Observed.Objects = map[guest.Kind]cluster.Objects{Name: {ByID: live}, cluster.Storages: readStorages()}
		if got := Move(world, nil, test.from, test.to); len(got) != test.want {
			t.Errorf("%s: got %v, want %d", name, got, test.want)
		}
	}
}

// TestJobsOfEachNode changes the job of one node, where a guest under HA has one job for each node on a storage: none is weaker because of another that keeps as much.
func TestJobsOfEachNode(t *testing.T) {
	t.Parallel()
	job := func(id string, with map[string]string) cluster.Object {
		keys := map[string]string{"enabled": "1", "schedule": "daily", "storage": "local", "all": "1", "prune-backups": "keep-last=30", "node": id}
		maps.Copy(keys, with)
		return cluster.Object{ID: id, Keys: keys}
	}
	for name, test := range map[string]struct {
		state, id string
		op        cluster.Op
		with      map[string]string
		want      int
	}{
		"third":            {"started", "pve3", cluster.OpObjectAdd, nil, 0},
		"third_shorter":    {"started", "pve3", cluster.OpObjectAdd, map[string]string{"prune-backups": "keep-last=1"}, 2}, // than each of the others
		"third_more_often": {"started", "pve3", cluster.OpObjectAdd, map[string]string{"schedule": "hourly"}, 2},
		"third_elsewhere":  {"started", "pve3", cluster.OpObjectAdd, map[string]string{"storage": "pbs", "prune-backups": "keep-last=1"}, 0},
		"third_ignored":    {"ignored", "pve3", cluster.OpObjectAdd, map[string]string{"prune-backups": "keep-last=1"}, 0},
		"removal":          {"started", "pve2", cluster.OpObjectRemove, nil, 1},
		"removal_ignored":  {"ignored", "pve2", cluster.OpObjectRemove, nil, 0},
		"shorter":          {"started", "pve2", cluster.OpObjectSet, map[string]string{"prune-backups": "keep-last=1"}, 1},
		"shorter_ignored":  {"ignored", "pve2", cluster.OpObjectSet, map[string]string{"prune-backups": "keep-last=1"}, 0},
		"longer":           {"started", "pve2", cluster.OpObjectSet, map[string]string{"prune-backups": "keep-last=60"}, 0},
	} {
		live := map[string]cluster.Object{"pve1": job("pve1", nil), "pve2": job("pve2", nil)}
		c := kind.Change{Op: test.op, ID: test.id, Got: live[test.id], Set: job(test.id, test.with).Keys}
		world := kind.World{Guests: []kind.Guarded{{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "db", VMID: 201}, Guards: []guest.GuardField{guest.GuardBackup}}}}
		for id, o := range live {
			if id != test.id {
				world.Others = append(world.Others, kind.Lasting{Now: o, Next: o})
			}
		}
		world.Observed.Inventory.Rows = []cluster.Row{{VMID: 201, Node: "pve1", HAState: test.state}}
		world.Observed.Inventory.Capacity.Nodes = []cluster.NodeCapacity{{Node: "pve1"}, {Node: "pve2"}, {Node: "pve3"}}
		world.Observed.Objects = map[guest.Kind]cluster.Objects{Name: {ByID: live}, cluster.Storages: readStorages()}
		if got := weakens(c, world); len(got) != test.want {
			t.Errorf("%s: got %v, want %d", name, got, test.want)
		}
	}
}

// TestMove moves a guest from one pool to another one.
func TestMove(t *testing.T) {
	t.Parallel()
	job := func(id, pool, storage, keeps string) cluster.Object {
		return cluster.Object{ID: id, Keys: map[string]string{"enabled": "1", "schedule": "daily", "pool": pool, "storage": storage, "prune-backups": keeps}}
	}
	all := job("all", "", "local", "keep-last=30")
	all.Keys["all"] = "1"
	delete(all.Keys, "pool")
	type jobs = map[string]cluster.Object
	tests := map[string]struct {
		jobs []cluster.Object
		next jobs
		want int
	}{
		"no_job":          {nil, nil, 0},
		"and_a_job_comes": {[]cluster.Object{all}, jobs{"db": job("db", "db", "local", "keep-last=1")}, 1},
		"and_one_follows": {[]cluster.Object{all, job("db", "lab", "local", "keep-last=1")}, jobs{"db": job("db", "db", "local", "keep-last=1")}, 1},
		"and_one_leaves":  {[]cluster.Object{all, job("db", "db", "pbs", "keep-last=1")}, jobs{"db": job("db", "lab", "pbs", "keep-last=1")}, 0},
		"out_of_a_job":    {[]cluster.Object{job("web", "web", "local", "keep-last=3")}, nil, 1},
		"to_the_same":     {[]cluster.Object{job("web", "web", "local", "keep-last=3"), job("db", "db", "local", "keep-last=3")}, nil, 0},
		"to_a_longer":     {[]cluster.Object{job("web", "web", "local", "keep-last=3"), job("db", "db", "local", "keep-last=9")}, nil, 0},
		"to_a_shorter":    {[]cluster.Object{job("web", "web", "local", "keep-last=3"), job("db", "db", "local", "keep-last=1")}, nil, 2}, // in no job that keeps as much, and what is there is pruned
		"to_another":      {[]cluster.Object{job("web", "web", "local", "keep-last=3"), job("db", "db", "pbs", "keep-last=3")}, nil, 1},
		"into_a_job":      {[]cluster.Object{job("db", "db", "local", "keep-last=1")}, nil, 0},
		"into_a_second":   {[]cluster.Object{all, job("db", "db", "local", "keep-last=1")}, nil, 1},
		"into_another":    {[]cluster.Object{all, job("db", "db", "pbs", "keep-last=1")}, nil, 0},
		"out_of_a_second": {[]cluster.Object{all, job("web", "web", "local", "keep-last=30")}, nil, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := make(map[string]cluster.Object)
			var stay []kind.Lasting
			for _, o := range test.jobs {
				live[o.ID] = o
				stay = append(stay, kind.Lasting{Now: o, Next: o})
			}
			world := kind.World{Others: stay}
			world.Observed.Objects = map[guest.Kind]cluster.Objects{Name: {ByID: live}, cluster.Storages: readStorages()}
			if got := Move(world, test.next, kind.Place{VMID: 201, Node: "pve1", Pool: "web"}, kind.Place{VMID: 201, Node: "pve1", Pool: "db"}); len(got) != test.want {
				t.Errorf("got %v, want %d", got, test.want)
			}
		})
	}
}
