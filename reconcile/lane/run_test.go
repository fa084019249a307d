package lane

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
)

// TestSpends checks that the end of a step also ends the orders that released it, if the approved call may have taken effect.
func TestSpends(t *testing.T) {
	tests := map[string]struct {
		result     journal.Result
		dispatched int // of two calls
		want       journal.OrderState
	}{
		"done":                       {journal.Done, 2, journal.OrderRun},
		"failed_at_the_end":          {journal.Failed, 2, journal.OrderRun},
		"failed_half_way":            {journal.Failed, 1, ""},
		"failed_before_the_first":    {journal.Failed, 0, ""},
		"unknown":                    {journal.Unknown, 0, journal.OrderUnknown},
		"unknown_half_way":           {journal.Unknown, 1, journal.OrderUnknown},
		"not_run":                    {journal.NotRun, 0, ""},
		"not_run_after_a_late_reply": {journal.NotRun, 1, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			begun := journal.Begun{Step: "s", Detail: map[string]string{detailCalls: "2", detailApprovals: "k"}}
			got, spent := spends(begun, conclusion{result: test.result, dispatched: test.dispatched})
			if spent != (test.want != "") || spent && got != test.want {
				t.Errorf("got %q, spent %t, want %q", got, spent, test.want)
			}
		})
	}
	// The approvals of a change with further calls stay valid.
	if got, spent := spends(journal.Begun{Detail: map[string]string{detailCalls: "1", detailKept: "1"}}, conclusion{result: journal.Done, dispatched: 1}); spent {
		t.Errorf("got %q, want the approvals kept", got)
	}
	// A record of an older release does not contain the number of calls. The order is spent then.
	if got, spent := spends(journal.Begun{}, conclusion{result: journal.Failed}); got != journal.OrderRun || !spent {
		t.Errorf("got %q, spent %t without a number of calls, want %s", got, spent, journal.OrderRun)
	}
}

func TestClosing(t *testing.T) {
	ref := guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}
	step := func(op cluster.Op) plan.Step {
		return plan.Step{Guest: ref, Op: op, Calls: []cluster.Call{{Op: op, VMID: 201}}}
	}
	approved := gate.Verdict{Digest: "d", ApprovalKeys: []string{"k1", "k2"}}
	order := func(key string) journal.Ordered {
		return journal.Ordered{Key: key, Order: "Gitops-Approve: d", Subject: key + "@lab.test", State: journal.OrderSeen}
	}
	state := journal.State{
		Assigned: map[journal.Label]int{{Kind: "VirtualMachine", Name: "web-1"}: 201},
		Orders:   map[string]journal.Order{"k1": {Ordered: order("k1")}, "k2": {Ordered: order("k2")}, "k3": {Ordered: order("k3")}},
	}
	ended := func(result journal.Result, text string) journal.Body {
		return journal.Ended{Step: "s", Result: result, Error: text}
	}
	spent := func(key string, state journal.OrderState) journal.Body {
		o := order(key)
		o.State, o.Step = state, "s"
		return o
	}
	gone := []journal.Body{
		ended(journal.Done, ""), journal.Disowned{VMID: 201, Reason: "destroyed"}, journal.Assigned{Kind: "VirtualMachine", Name: "web-1"},
	}
	tests := map[string]struct {
		step    plan.Step
		verdict gate.Verdict
		state   journal.State
		c       conclusion
		want    []journal.Body
	}{
		"config_done":      {step(cluster.OpConfig), gate.Verdict{}, state, conclusion{result: journal.Done, dispatched: 1}, []journal.Body{ended(journal.Done, "")}},
		"destroy_done":     {step(cluster.OpDestroy), gate.Verdict{}, state, conclusion{result: journal.Done, dispatched: 1}, gone},
		"destroy_of_fixed": {step(cluster.OpDestroy), gate.Verdict{}, journal.State{}, conclusion{result: journal.Done, dispatched: 1}, gone[:2]},
		"destroy_failed": {
			step(cluster.OpDestroy),
			gate.Verdict{},
			state,
			conclusion{result: journal.Failed, err: errors.New("disk is busy"), dispatched: 1},
			[]journal.Body{ended(journal.Failed, "disk is busy")},
		},
		"approved_done": {
			step(cluster.OpConfig), approved, state,
			conclusion{result: journal.Done, dispatched: 1},
			[]journal.Body{ended(journal.Done, ""), spent("k1", journal.OrderRun), spent("k2", journal.OrderRun)},
		},
		"approved_unknown": {
			step(cluster.OpConfig), approved, state,
			conclusion{result: journal.Unknown, err: cluster.ErrOutcomeUnknown},
			[]journal.Body{ended(journal.Unknown, "outcome unknown"), spent("k1", journal.OrderUnknown), spent("k2", journal.OrderUnknown)},
		},
		"approved_not_run": {
			step(cluster.OpConfig), approved, state,
			conclusion{result: journal.NotRun, err: cluster.ErrConflict},
			[]journal.Body{ended(journal.NotRun, "guest changed meanwhile")},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := closing(newBegun("s", "main@sha1:0", test.step, test.verdict), test.c, test.state)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("records differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNoteApprovals checks that the first call of a change of a list notes the change in the approvals that released it, and no other order.
func TestNoteApprovals(t *testing.T) {
	step := plan.Step{Guest: guest.Ref{Kind: "IPSet", Name: "admins"}, Object: &plan.ObjectStep{ID: "admins", Whole: &plan.ContentChange{Final: "list"}}}
	noted := func(key string) journal.Ordered {
		return journal.Ordered{Key: key, State: journal.OrderSeen, Change: plan.NewListChange("IPSet", "admins", "list")}
	}
	orders := map[string]journal.Order{}
	for _, o := range []journal.Ordered{
		{Key: "new", State: journal.OrderSeen}, {Key: "other", State: journal.OrderSeen}, {Key: "ended", State: journal.OrderExpired}, noted("noted"),
	} {
		orders[o.Key] = journal.Order{Ordered: o}
	}
	state, verdict := journal.State{Orders: orders}, gate.Verdict{ApprovalKeys: []string{"ended", "new", "noted"}}
	want := []journal.Body{noted("new")}
	if diff := cmp.Diff(want, noteApprovals(step, verdict, state)); diff != "" {
		t.Errorf("records differ (-want +got):\n%s", diff)
	}
	step.Object = &plan.ObjectStep{ID: "admins"}
	if got := noteApprovals(step, verdict, state); got != nil {
		t.Errorf("got %v for a step that weakens nothing by a list, want nothing", got)
	}
}
