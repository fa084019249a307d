package statusview

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/selection"
)

// Conditions and held steps are printed with their remedies. Conditions that the table already shows are not repeated.
func TestRemarks(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		condition plan.Condition
		want      []string
	}{
		"flapping":    {plan.Condition{Type: plan.Blocked, Reason: reason.Flapping, Message: "somebody changes it back", Hint: "find out who"}, []string{"Blocked: somebody changes it back", "find out who"}},
		"no_vmid":     {plan.Condition{Type: plan.Blocked, Reason: reason.Impossible, Message: "no vmid is free", Hint: "widen spec.vmids"}, []string{"Blocked: no vmid is free", "widen spec.vmids"}},
		"no_revision": {plan.Condition{Type: plan.NotObserved, Reason: reason.WritesStopped, Message: "no revision is in force"}, []string{"Unknown: no revision is in force"}},
		"drifted":     {plan.Condition{Type: plan.Drifted, Reason: reason.Differs, Message: "changed in the cluster: memory"}, []string{"Drifted: changed in the cluster: memory"}},
		"pending":     {plan.Condition{Type: plan.Pending, Reason: reason.Pending, Message: "wanted, and not done yet: memory"}, []string{"Pending: wanted, and not done yet: memory"}},
		"orphaned":    {plan.Condition{Type: plan.Orphaned, Reason: reason.LeftOver, Message: "no manifest names it"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := remarks(report.Guest{Conditions: []plan.Condition{test.condition}})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("remarks (-want +got):\n%s", diff)
			}
		})
	}
}

// An approval that does not count is printed below the held step that it names.
func TestRemarksShowUncountedApprovals(t *testing.T) {
	t.Parallel()
	hold := report.Hold{Reason: reason.Approval, Message: "it destroys the guest: 0 of 1 approvals", Hint: "gitops-agent approve 1f", Uncounted: []gate.Uncounted{
		{Reason: gate.UncountedRole, Signer: "ops", Subject: "olga@lab.test", Message: "approval by olga@lab.test does not count"},
	}}
	want := []string{"held destroy (approval): it destroys the guest: 0 of 1 approvals", "gitops-agent approve 1f", "approval by olga@lab.test does not count"}
	if diff := cmp.Diff(want, remarks(report.Guest{Held: []report.HeldStep{{Op: cluster.OpDestroy, Hold: hold}}})); diff != "" {
		t.Errorf("remarks (-want +got):\n%s", diff)
	}
}

func TestReportShowsNextTry(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	name := report.NewGuestName(guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}, "pve1")
	for next, want := range map[time.Time]bool{{}: false, now.Add(250 * time.Second): true} {
		var out strings.Builder
		WriteReport(&out, report.Report{Time: now, Guests: []report.Guest{{GuestName: name, NextTry: next}}}, selection.Selection{})
		if got := strings.Contains(out.String(), "tried again in 4m10s; at once: gitops-agent retry VirtualMachine/web-1"); got != want {
			t.Errorf("next try %s: got the command shown %t, want %t:\n%s", next, got, want, out.String())
		}
	}
}

// Each row contains the age of its observation, and an old one is marked.
func TestReportShowsAgeOfObservations(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 22, 12, 0, 0, 0, time.UTC)
	r := report.Report{Time: now, Guests: []report.Guest{
		{GuestName: report.GuestName{Kind: guest.VirtualMachine, Name: "new"}, ObservedAt: now.Add(-4 * time.Second)},
		{GuestName: report.GuestName{Kind: guest.VirtualMachine, Name: "old"}, ObservedAt: now.Add(-5 * time.Minute), Stale: true},
		{GuestName: report.GuestName{Kind: guest.VirtualMachine, Name: "unseen"}},
	}}
	r.Proxmox.VMList = &observe.VMListStatus{Error: "no such file"}
	r.Proxmox.HAError = "403"
	var out strings.Builder
	WriteReport(&out, r, selection.Selection{})
	for _, want := range []string{"4s ago\n", "5m0s ago (old)\n", "never\n", "every guest is read in turn: no such file\n", "ha          403\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got no %q in:\n%s", want, out.String())
		}
	}
}

func TestReportShowsSelectedGuests(t *testing.T) {
	t.Parallel()
	name := func(label string, vmid int, node string) report.GuestName {
		return report.NewGuestName(guest.Ref{Kind: guest.VirtualMachine, Name: label, VMID: vmid}, node)
	}
	r := report.Report{Guests: []report.Guest{
		{GuestName: name("web-1", 201, "pve1"), Sync: report.Synced},
		{GuestName: name("web-2", 202, "pve2"), Sync: report.OutOfSync},
		{GuestName: name("db-1", 203, "pve2"), Sync: report.OutOfSync},
	}}
	var out strings.Builder
	WriteReport(&out, r, selection.Selection{Search: "web", Group: selection.ByNodes, Order: selection.ByName, Reverse: true})
	got := out.String()
	for _, want := range []string{"pve1: 1 guest\nGUEST", "pve2: 1 guest\nGUEST", "2 of 3 guests selected\n3 guests: 1 in sync, 2 not"} {
		if !strings.Contains(got, want) {
			t.Errorf("got no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "db-1") {
		t.Errorf("got a guest that is not selected:\n%s", got)
	}
	body, err := Select(report.NewDocument(r), selection.Selection{Sync: []report.Sync{report.OutOfSync}, Order: selection.ByName})
	if text := string(body); err != nil || strings.Contains(text, "web-1") || strings.Index(text, "db-1") > strings.Index(text, "web-2") {
		t.Errorf("got %s, %v, want db-1 and web-2", text, err)
	}
}

// A head is named while the agent checks it, and no longer when it is decided.
func TestReportNamesHeadUnderCheck(t *testing.T) {
	seen := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	source := report.Source{Head: "8f04ea1387c1", HeadSeen: seen}
	for name, test := range map[string]struct {
		decide func(*report.Source)
		want   bool
	}{
		"under_check":   {func(*report.Source) {}, true},
		"older_refused": {func(s *report.Source) { s.Refused = &report.Refused{Commit: "1b9c"} }, true},
		"accepted":      {func(s *report.Source) { s.Accepted = &report.Revision{Commit: s.Head} }, false},
		"refused":       {func(s *report.Source) { s.Refused = &report.Refused{Commit: s.Head} }, false},
		"waits":         {func(s *report.Source) { s.Waiting = &report.WaitingHead{Commit: s.Head} }, false},
		"unreachable":   {func(s *report.Source) { s.Error = "no route to host" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := source
			test.decide(&s)
			var out strings.Builder
			WriteReport(&out, report.Report{Source: s}, selection.Selection{})
			if got := strings.Contains(out.String(), "8f04ea1387, fetched at 2026-03-01T12:00:00Z"); got != test.want {
				t.Errorf("got %t, want %t in:\n%s", got, test.want, out.String())
			}
		})
	}
}
