package plan_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// replicationJob returns a wanted job.
func replicationJob(id, target string) kind.Desired {
	d := kind.Desired{Kind: "Replication", Name: "job", ID: id}
	d.Put(kind.Intent{Key: "target", Text: target})
	return d
}

// replicationJobs returns a reading of jobs, by their ids with the targets.
func replicationJobs(targets map[string]string) cluster.Objects {
	list := cluster.Objects{ByID: make(map[string]cluster.Object), ReadAt: time.Unix(1, 0)}
	for id, target := range targets {
		list.ByID[id], list.Asked = cluster.Object{ID: id, Keys: map[string]string{"target": target, "comment": poolMarker}}, append(list.Asked, id)
	}
	return list
}

// A job is not made before its guest exists, and not while another job copies the guest to the same node.
func TestJobAwaitsItsGuest(t *testing.T) {
	t.Parallel()
	for job, want := range map[string]string{
		"201-0 pve2": "", "202-0 pve2": "guest 202 does not exist", "203-1 pve3": "",
		"203-1 pve2": "job 203-0 copies guest 203 to pve2, and Proxmox has one job of a guest for each node",
	} {
		id, target, _ := strings.Cut(job, " ")
		list := replicationJobs(map[string]string{"203-0": "pve2", "204-0": "pve3"})
		list.Asked = append(list.Asked, id)
		got := cluster.Snapshot{
			Inventory: cluster.Inventory{Rows: []cluster.Row{{VMID: 201}, {VMID: 203}}}, Objects: map[guest.Kind]cluster.Objects{"Replication": list},
		}
		planned := plan.New(plan.Desired{Objects: plan.Objects{Wanted: []kind.Desired{replicationJob(id, target)}}}, got).Guests[0]
		switch {
		case want == "" && (len(planned.Steps) != 1 || len(planned.Conditions) != 0):
			t.Errorf("%s: got %+v, want one step", job, planned)
		case want != "" && (len(planned.Steps) != 0 || len(planned.Conditions) != 1 || !strings.HasSuffix(planned.Conditions[0].Message, "cannot be made yet: "+want)):
			t.Errorf("%s: got %+v, want %q", job, planned, want)
		}
	}
}

// The target that Proxmox gave a job is wanted, if the guest or another copy is on the node that its manifest has.
func TestJobFollowsItsGuest(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		node, live, other string // of the guest, and the targets of the job and of another one
		wrong             bool   // the target is none that is wanted
		message           string // a part of it, "" if there is none
	}{
		"as_described":          {"pve1", "pve2", "", false, ""},
		"turned":                {"pve2", "pve1", "", false, "guest 201 is there"},
		"turned_with_another":   {"pve3", "pve1", "pve2", false, "job 201-1 copies there"},
		"another_target":        {"pve1", "pve3", "", true, ""},
		"of_another_guest":      {"pve1", "pve3", "pve4", true, ""},
		"on_its_target":         {"pve2", "pve2", "", false, "nothing is copied"},
		"read_before_the_guest": {"pve1", "pve1", "", true, ""},
		"without_a_guest":       {"", "pve1", "", true, ""},
	} {
		got := cluster.Snapshot{Objects: map[guest.Kind]cluster.Objects{"Replication": replicationJobs(map[string]string{"201-0": row.live, "201-1": row.other, "202-0": "pve2"})}}
		if row.node != "" {
			got.Inventory.Rows = []cluster.Row{{VMID: 201, Node: row.node}}
		}
		d := replicationJob("201-0", "pve2")
		record := journal.OwnedObject{Kind: "Replication", ID: "201-0", Name: "job", Marker: poolMarker}
		want := plan.Desired{Objects: plan.Objects{Wanted: []kind.Desired{d}, Owned: map[journal.ObjectID]journal.OwnedObject{record.Object(): record}}}
		planned := plan.New(want, got).Guests[0]
		var message string
		isWrong := false
		for _, c := range planned.Conditions {
			if c.Reason == reason.OtherNode {
				message = c.Message
			}
			isWrong = isWrong || c.Reason == reason.Impossible // Proxmox cannot change the target of a job
		}
		if isWrong != row.wrong || (message == "") != (row.message == "") || !strings.Contains(message, row.message) {
			t.Errorf("%s: got %+v, want the message %q, and that the target is wrong: %t", name, planned, row.message, row.wrong)
		}
		if target, _ := d.Text("target"); target != "pve2" {
			t.Errorf("got the target %s in the manifest, want it unchanged", target)
		}
	}
}

// A replication job whose last time has passed never runs, and Proxmox's list does not say so. A schedule that is not written yet, and one that has a time left somewhere on
// the earth, are no such thing.
func TestReplicationWithoutNextTime(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		schedule, live string
		want           bool
	}{
		"over":            {"2023-*-1 02:00", "2023-*-1 02:00", true},
		"every_day":       {"02:00", "02:00", false},
		"not_written_yet": {"2023-*-1 02:00", "*/15", false},
		"this_day":        {"2026-3-22 02:00", "2026-3-22 02:00", false},
	} {
		job := replicationJob("201-0", "pve2")
		job.Put(kind.Intent{Key: "schedule", Text: test.schedule})
		list := replicationJobs(map[string]string{"201-0": "pve2"})
		list.ReadAt = time.Date(2026, time.March, 22, 12, 0, 0, 0, time.UTC)
		list.ByID["201-0"].Keys["schedule"] = test.live
		got := cluster.Snapshot{
			Inventory: cluster.Inventory{Rows: []cluster.Row{{Kind: guest.VirtualMachine, VMID: 201, Node: "pve1"}}}, Objects: map[guest.Kind]cluster.Objects{"Replication": list},
		}
		p := plan.New(plan.Desired{Objects: plan.Objects{Wanted: []kind.Desired{job}}}, got).Guests[0]
		warned := slices.ContainsFunc(p.Conditions, func(c plan.Condition) bool { return c.Type == plan.Warned && strings.Contains(c.Message, "never runs") })
		if warned != test.want || p.NeverRuns != test.want || len(p.Schedules) != 1 {
			t.Errorf("%s: got %+v with %d schedules, want it to never run: %t", name, p.Conditions, len(p.Schedules), test.want)
		}
	}
}
