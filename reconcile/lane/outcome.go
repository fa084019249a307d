package lane

import (
	"maps"
	"strconv"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/secret"
)

// newBegun returns the intent record of a step. What settling needs after a crash is in it; parameters are not, since they
// may hold what a journal must not keep.
func newBegun(id, revision string, step plan.Step, verdict gate.Verdict) journal.Begun {
	last := step.Calls[len(step.Calls)-1]
	b := journal.Begun{
		Step: id, VMID: step.Guest.VMID, Kind: string(step.Guest.Kind), Name: step.Guest.Name, Node: last.Node,
		Op: string(step.Op), Class: string(step.Class), Revision: revision, StepDigest: verdict.Digest,
		TaskVMID: step.Guest.VMID, TaskTypes: last.TaskTypes(),
		Detail: map[string]string{detailCalls: strconv.Itoa(len(step.Calls))},
	}
	if last.Op != step.Op {
		b.Detail[detailLast] = string(last.Op)
	}
	if last.CloneOf != 0 {
		b.TaskVMID = last.CloneOf
	}
	if len(verdict.Approvals) > 0 {
		b.Detail[detailApprovals] = strings.Join(verdict.Approvals, " ")
	}
	return b
}

// Keys of journal.Begun.Detail.
const (
	detailCalls     = "calls"     // how many calls the step makes
	detailLast      = "last"      // the operation of the last one, where it is not the step's
	detailApprovals = "approvals" // keys of the orders that released it
)

// closing returns the records that end a step: its outcome, and what follows from it for ownership, vmids and orders.
func closing(begun journal.Begun, c conclusion, state journal.State) []journal.Body {
	ended := journal.Ended{Step: begun.Step, Result: c.result}
	if c.err != nil {
		ended.Error = c.err.Error()
	}
	records := append([]journal.Body{ended}, afterGiving(begun, c, state)...)
	if c.result == journal.Done && begun.Op == string(cluster.OpDestroy) {
		records = append(records, journal.Disowned{VMID: begun.VMID, Reason: "destroyed"})
		if state.Assigned[journal.Label{Kind: begun.Kind, Name: begun.Name}] == begun.VMID {
			records = append(records, journal.Assigned{Kind: begun.Kind, Name: begun.Name})
		}
	}
	orderState, spent := spends(begun, c)
	if !spent {
		return records
	}
	for key := range strings.FieldsSeq(begun.Detail[detailApprovals]) {
		order := state.Orders[key].Ordered
		order.Key, order.State, order.Step = key, orderState, begun.Step
		records = append(records, order)
	}
	return records
}

// spends reports what becomes of the orders that released a step. An order runs at most once: it is kept only when the call that it
// was for is known not to have acted.
func spends(begun journal.Begun, c conclusion) (journal.OrderState, bool) {
	calls, err := strconv.Atoi(begun.Detail[detailCalls])
	reached := err != nil || c.dispatched >= calls
	switch c.result {
	case journal.Done:
		return journal.OrderRun, true
	case journal.Unknown:
		return journal.OrderUnknown, true
	case journal.Failed:
		return journal.OrderRun, reached
	case journal.NotRun:
	}
	return "", false
}

// afterGiving returns the record of what a guest has been given once the calls of a step were made. A guest that was made anew
// has nothing from before. A crash ahead of this record costs one more call with the same text, since settling cannot tell what
// became of a configuration and the hash of a password does not change: nothing is set up anew by it.
func afterGiving(begun journal.Begun, c conclusion, state journal.State) []journal.Body {
	owned := state.Owned[begun.VMID]
	before := secret.Given(state.Applied[begun.VMID], owned)
	made := begun.Op == string(cluster.OpCreate) && c.result == journal.Done
	if owned.Identity == "" || len(c.given) == 0 && (!made || len(before) == 0) {
		return nil
	}
	after := make(map[string]string, len(before)+len(c.given))
	if !made {
		maps.Copy(after, before)
	}
	maps.Copy(after, c.given)
	return []journal.Body{journal.Applied{VMID: begun.VMID, Identity: owned.Identity, Fingerprints: after}}
}
