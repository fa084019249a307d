package lane

import (
	"maps"
	"strconv"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/lastseen"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/secret"
)

// newBegun returns the intent record of a step. It contains what settling needs after a crash. It does not contain the parameters of the
// calls, since these may contain secrets.
func newBegun(id, revision string, step plan.Step, verdict gate.Verdict) journal.Begun {
	last := step.Calls[len(step.Calls)-1]
	b := journal.Begun{
		Step: id, VMID: step.Guest.VMID, Kind: string(step.Guest.Kind), Name: step.Guest.Name, Node: last.Node,
		Op: string(step.Op), Class: string(step.Class), Revision: revision, StepDigest: verdict.Digest,
		TaskVMID: step.Guest.VMID, TaskTypes: last.TaskTypes(),
		Detail: map[string]string{detailCalls: strconv.Itoa(len(step.Calls))},
	}
	if last.Op.IsAboutFile() {
		noteFile(&b, step, last)
	}
	if step.Object != nil {
		noteObject(b, step)
	}
	if last.Op != step.Op {
		b.Detail[detailLast] = string(last.Op)
	}
	if last.Op == cluster.OpMigrate {
		b.Detail[detailTarget] = last.Params["target"]
	}
	if last.CloneOf != 0 {
		b.TaskVMID = last.CloneOf
	}
	if step.Order != nil {
		b.Detail[detailOrder] = step.Order.Key
	}
	if len(verdict.ApprovalKeys) > 0 {
		b.Detail[detailApprovals] = strings.Join(verdict.ApprovalKeys, " ")
		if step.KeepsApprovals() {
			b.Detail[detailKept] = "1"
		}
	}
	return b
}

// Keys of journal.Begun.Detail.
const (
	detailCalls     = "calls" // how many calls the step makes
	detailVolume    = plan.DetailVolume
	detailPrune     = "prune"     // of a download: the manifest lets the agent delete the file when nothing uses it any more; missing if it does not
	detailRecorded  = "recorded"  // of a deletion of a file: the node in the record of its download
	detailLast      = "last"      // the operation of the last call, if it is not the step's
	detailTarget    = "target"    // node of a migration
	detailTasks     = "tasks"     // the guest's tasks before the step, of an operation whose outcome follows from the task list
	detailApprovals = "approvals" // keys of the orders that released the step
	detailKept      = "kept"      // the orders that released the step stay valid, for the later calls of the same change
	detailOrder     = "order"     // key of the order that asked for the step
	detailStartByHA = "ha-start"  // the HA manager starts the guest, which is down, after the step
	detailOverride  = "override"  // of the guest before the order, as JSON; missing if there was none
)

// noteApprovals returns the records that note in the approvals of a change of a list that the change has begun. They end with the change, also if it ends without the call
// that uses them up.
func noteApprovals(step plan.Step, verdict gate.Verdict, state journal.State) []journal.Body {
	if step.Object == nil || step.Object.Whole == nil {
		return nil
	}
	change := plan.NewListChange(step.Guest.Kind, step.Object.ID, step.Object.Whole.Final)
	var records []journal.Body
	for _, key := range verdict.ApprovalKeys {
		if approval := state.Orders[key].Ordered; approval.State == journal.OrderSeen && approval.Change != change {
			approval.Change = change
			records = append(records, approval)
		}
	}
	return records
}

// closing returns the records that end a step: its outcome, and the changes of ownership, vmids and orders that follow from it.
func closing(begun journal.Begun, c conclusion, state journal.State) []journal.Body {
	ended := journal.Ended{Step: begun.Step, Result: c.result, Sent: c.sent && begun.Op == journal.OpDestroy}
	if c.err != nil {
		ended.Error = c.err.Error()
	}
	records := append([]journal.Body{ended}, applied(begun, c, state)...)
	if seen, changed := lastseen.AfterStep(state, begun); changed && c.result != journal.Done {
		records = append(records, seen)
	}
	if c.file != nil {
		records = append(records, *c.file)
	}
	records = append(records, closingFile(begun, c, state)...)
	records = append(records, closingObject(begun, c, state)...)
	if c.repeated {
		records = append(records, journal.Repeated{VMID: begun.VMID})
	}
	if owned := state.Owned[begun.VMID]; c.result == journal.Done && begun.Op == string(cluster.OpCreate) && c.task != "" && owned.Claiming {
		owned.Task = c.task
		records = append(records, owned)
	}
	if c.result == journal.Done && begun.Op == string(cluster.OpDestroy) {
		records = append(records, journal.Disowned{VMID: begun.VMID, Reason: "destroyed"})
		if state.Assigned[journal.Label{Kind: begun.Kind, Name: begun.Name}] == begun.VMID {
			records = append(records, journal.Assigned{Kind: begun.Kind, Name: begun.Name})
		}
	}
	records = append(records, orderRecords(begun, c, state)...)
	orderState, spent := spends(begun, c)
	if !spent {
		return records
	}
	return append(records, state.SpentOrders(ApprovalsOf(begun), orderState, begun.Step)...)
}

// ApprovalsOf returns the keys of the orders that released an open step.
func ApprovalsOf(begun journal.Begun) []string { return strings.Fields(begun.Detail[detailApprovals]) }

// spends returns the new state of the orders that released a step, and whether it changes. An order runs at most once: it stays valid only
// if its call certainly had no effect, or if the approved change has further calls.
func spends(begun journal.Begun, c conclusion) (journal.OrderState, bool) {
	if begun.Detail[detailKept] != "" {
		return "", false
	}
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

// applied returns the record of the secrets that a guest has after the calls of a step, and of a boot by the step. A newly created guest has none from before, and after a
// rollback a guest may have older ones again. A crash before this record is written costs one more call with the same text: settling cannot find the outcome of a configuration, and the
// hash of a password stays the same, so cloud-init does not set up the guest again.
func applied(begun journal.Begun, c conclusion, state journal.State) []journal.Body {
	owned := state.Owned[begun.VMID]
	if record := state.Applied[begun.VMID]; owned.Identity != "" && record.Identity == owned.Identity {
		if started := startedRecord(begun, c, record, state); started.Booted != record.Booted || !started.BootedAt.Equal(record.BootedAt) {
			return []journal.Body{started}
		}
	}
	before := secret.GivenFingerprints(state.Applied[begun.VMID], owned)
	created := begun.Op == string(cluster.OpCreate) && c.result == journal.Done
	lost := created || begun.Op == string(cluster.OpRollback) && c.result != journal.NotRun
	if owned.Identity == "" || len(c.given) == 0 && (!lost || len(before) == 0) {
		return nil
	}
	after := make(map[string]string, len(before)+len(c.given))
	if !lost {
		maps.Copy(after, before)
	}
	maps.Copy(after, c.given)
	record := journal.Applied{VMID: begun.VMID, Identity: owned.Identity}
	if known := state.Applied[begun.VMID]; !created && known.Identity == owned.Identity {
		record = known
	}
	record.Fingerprints = after
	return []journal.Body{record}
}
