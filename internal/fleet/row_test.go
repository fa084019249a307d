package fleet

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"

	"github.com/google/go-cmp/cmp"
)

var now = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// converged returns the report of a converged cluster with two guests.
func converged() report.Report {
	return report.Report{
		Time: now.Add(-5 * time.Second), Cluster: "berlin", Converged: true, Writes: report.Writes{Allowed: true},
		Source: report.Source{Branch: "main", Head: "aaaa", HeadSeen: now.Add(-time.Hour), Accepted: &report.Revision{Commit: "aaaa", AcceptedAt: now.Add(-time.Hour), Converged: now.Add(-59 * time.Minute)}},
		Guests: []report.Guest{
			{GuestName: report.GuestName{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}, Sync: report.Synced},
			{GuestName: report.GuestName{Kind: guest.Container, Name: "dns-1", VMID: 202}, Sync: report.Synced},
		},
	}
}

func TestNewRow(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*report.Report)
		want   func(*Row)
	}{
		"converged": {func(*report.Report) {}, func(*Row) {}},
		"except": {func(r *report.Report) {
			r.Except = &report.Except{Guests: []string{"VirtualMachine/web-1", "Container/dns-1"}, Root: 2, Firewall: 1}
		}, func(r *Row) {
			r.State, r.Problem = OutOfSync, "in sync except for 2 settings that need root and 1 part of a firewall that has no effect: VirtualMachine/web-1, Container/dns-1"
		}},
		"stale": {func(r *report.Report) { r.Time = now.Add(-StaleAfter - time.Second) }, func(r *Row) {
			r.State, r.Problem, r.Time = Stale, "the newest report is of 2026-11-24T11:54:59Z", now.Add(-StaleAfter-time.Second)
		}},
		"no_report": {func(r *report.Report) { r.Time = time.Time{} }, func(r *Row) {
			r.State, r.Problem, r.Time = Stale, "the first cycle has not ended yet", time.Time{}
		}},
		"paused": {func(r *report.Report) {
			r.Writes = report.Writes{Reason: reason.StopPaused, Message: "by mia:\nmaintenance"}
		}, func(r *Row) {
			r.State, r.Problem = Stopped, "paused: by mia: maintenance"
		}},
		"stopped_without_message": {func(r *report.Report) { r.Writes = report.Writes{Reason: reason.StopDryRun} }, func(r *Row) {
			r.State, r.Problem = Stopped, string(reason.StopDryRun)
		}},
		"refused": {func(r *report.Report) {
			r.Source.Head, r.Source.HeadSeen = "bbbb", now.Add(-time.Minute)
			r.Source.Refused = &report.Refused{Commit: "bbbb", Reason: "unsigned", Error: "commit is not signed"}
		}, func(r *Row) {
			r.State, r.Problem, r.Head, r.BehindSince = Refused, "bbbb: unsigned: commit is not signed", "bbbb", now.Add(-time.Minute)
		}},
		"waiting": {func(r *report.Report) {
			r.Source.Head, r.Source.HeadSeen = "bbbb", now.Add(-time.Minute)
			r.Source.Waiting = &report.WaitingHead{Commit: "bbbb", Reason: "evidence-missing", Error: "no evidence"}
		}, func(r *Row) {
			r.State, r.Problem, r.Head, r.BehindSince = Waiting, "bbbb: evidence-missing: no evidence", "bbbb", now.Add(-time.Minute)
		}},
		"held": {func(r *report.Report) {
			r.Converged, r.Guests[1].Sync = false, report.OutOfSync
			r.Guests[1].Held = []report.HeldStep{{Op: cluster.OpDestroy, Hold: report.Hold{Reason: reason.Approval, Message: "needs an approval"}}}
		}, func(r *Row) {
			r.State, r.Problem, r.Held = Held, "Container/dns-1: destroy: approval: needs an approval", 1
		}},
		"held_guard": {func(r *report.Report) {
			r.Guards = &report.Guards{Held: []report.HeldStep{{Hold: report.Hold{Message: "approvals would fall to 0"}}}}
		}, func(r *Row) {
			r.State, r.Problem, r.Held = Held, "approvals would fall to 0", 1
		}},
		"drifted": {func(r *report.Report) {
			r.Converged, r.Guests[0].Sync, r.Guests[0].DriftSince = false, report.OutOfSync, now
			r.Guests[0].Conditions = []plan.Condition{{Type: plan.Failed, Message: "storage is full"}}
		}, func(r *Row) {
			r.State, r.Problem, r.Drifted = OutOfSync, "VirtualMachine/web-1: storage is full", 1
		}},
		"cluster_down": {func(r *report.Report) {
			r.Converged, r.Proxmox.Error = false, "no route to host"
			r.Guests[0].Sync, r.Guests[1].Sync = report.SyncUnknown, report.SyncUnknown
		}, func(r *Row) {
			r.State, r.Problem, r.Unknown = OutOfSync, "no route to host", 2
		}},
		"accepted_not_converged": {func(r *report.Report) {
			r.Converged, r.Source.Accepted.Converged = false, time.Time{}
			r.Guests[0].Sync = report.OutOfSync
		}, func(r *Row) {
			r.State, r.BehindSince = OutOfSync, now.Add(-time.Hour)
		}},
		"long_texts": {func(r *report.Report) {
			r.Cluster, r.Source.Error = strings.Repeat("c", maxText+1), strings.Repeat("e ", maxText)
		}, func(r *Row) {
			r.Cluster, r.Problem = strings.Repeat("c", maxText)+"…", strings.Repeat("e ", maxText/2)+"…"
		}},
		"many_exceptions": {func(r *report.Report) {
			r.Except = &report.Except{Guests: slices.Repeat([]string{"VirtualMachine/web-1"}, maxListed+1), Root: 1}
		}, func(r *Row) {
			r.State, r.Problem = OutOfSync, "in sync except for 1 setting that needs root: "+strings.Repeat("VirtualMachine/web-1, ", maxListed)+"…"
		}},
		"source_down": {func(r *report.Report) { r.Source.Error = "no route to the forge" }, func(r *Row) { r.Problem = "no route to the forge" }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := converged()
			test.change(&r)
			want := Row{Cluster: "berlin", State: Converged, Branch: "main", Commit: "aaaa", Head: "aaaa", Guests: 2, Time: now.Add(-5 * time.Second)}
			test.want(&want)
			if diff := cmp.Diff(want, NewRow(r, now)); diff != "" {
				t.Errorf("row differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSortIsByUrgency(t *testing.T) {
	t.Parallel()
	rows := []Row{{Cluster: "b", State: Converged}, {Cluster: "a", State: Converged}, {Cluster: "d", State: Held}, {Cluster: "c", State: Unreachable}}
	Sort(rows)
	var order string
	for _, r := range rows {
		order += r.Cluster
	}
	if order != "cdab" {
		t.Errorf("got order %s, want cdab", order)
	}
	if AllConverged(rows) || !AllConverged(rows[2:]) {
		t.Error("got another answer whether all clusters are converged")
	}
}
