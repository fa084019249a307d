package lane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/epoch"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/ownership"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/queue"
	"gitops-agent/reconcile/secret"
)

// maxStepsInARow bounds the steps of one turn. No guest needs more, so more steps are a loop.
const maxStepsInARow = 12

// Result is the outcome of one turn of an object in its lane.
type Result struct {
	Key      object.Key
	Seen     guest.Observed                      // the last reading, if the guest was read
	Files    map[cluster.FilePlace]cluster.Files // of an Image: the last readings
	Objects  map[guest.Kind]cluster.Objects      // of an object of package kinds: the last reading of its kind
	Absence  cluster.Absence                     // "" if the guest was read
	Steps    int                                 // steps that were executed
	Repairs  int                                 // of these, steps that took back what others changed, or downloaded a file again
	Err      error                               // why the turn ended early; nil if it did not
	Step     plan.Step                           // the step that failed, or the last one
	Refused  map[journal.FileOn]error            // of an Image: why a former file was not deleted, since it is used or its users are not known
	Warnings []string                            // of the tasks of its steps
	Heavy    bool                                // a repair moved the guest or its disks, restarted it, or downloaded a file
}

// turn is the state of one turn.
type turn struct {
	Result
	uses      []queue.Resource  // what the turn may use together with other guests
	last      plan.Step         // the last step that was executed
	rewritten bool              // the size of a disk was written again, since the volume is larger than its text
	files     triedFiles        // of an Image
	kept      *cluster.Snapshot // the reading that serves the next step too, since nothing but records followed it; nil if none does
	memory    memory            // of the last reading
	recreates bool              // the guest was gone without the agent, and is created again
}

// stepOSType returns the operating system type by which Proxmox interprets the secrets of a step: for a create that of the manifest, else
// that of the guest.
func stepOSType(step plan.Step, wanted []guest.Desired, live guest.Observed) string {
	if step.Op != cluster.OpCreate || len(wanted) == 0 {
		return secret.OSTypeOf(live)
	}
	return secret.WantedOSType(&wanted[0])
}

// Work executes the released steps of one object until none is left, or until a step needs something shared that is not among uses. It first
// settles the open steps of the guest.
func (w *Worker) Work(ctx context.Context, key object.Key, uses []queue.Resource) (result Result) {
	defer func() { w.hanging.note(key, result.Err) }()
	t := &turn{Result: Result{Key: key}, uses: uses}
	if t.Err = w.settleOpen(ctx, key); t.Err != nil {
		if takesNoRecords(t.Err) {
			t.Err = nil
		}
		return t.Result
	}
	for again := true; again && t.Err == nil && ctx.Err() == nil; {
		again, t.Err = w.advance(ctx, t)
		if errors.Is(t.Err, epoch.ErrSuperseded) || errors.Is(t.Err, cluster.ErrWritesStopped) || takesNoRecords(t.Err) {
			t.Err = nil // the engine offers the guest again in the next epoch in which writes are allowed
			break
		}
		if again && t.Err == nil && t.Steps >= t.mostSteps() {
			t.Err = fmt.Errorf("it does not converge: %d steps in a row, the last one %s", t.Steps, t.Step.Op)
		}
	}
	return t.Result
}

// takesNoRecords reports whether a turn ended because the journal takes no records. That stops all writing and is told as what it is, so the object has not failed.
func takesNoRecords(err error) bool {
	return errors.Is(err, journal.ErrAppend) && !errors.Is(err, journal.ErrRefused)
}

// advance executes the object's next released step. It returns whether another step may follow.
func (w *Worker) advance(ctx context.Context, t *turn) (again bool, err error) {
	switch {
	case t.Key.VMID != 0:
	case t.Key.Kind() == string(image.Kind):
		return w.advanceImage(ctx, t)
	default:
		return w.advanceObject(ctx, t)
	}
	basis := w.basis()
	state := w.journal.State()
	got, err := w.lookOrKept(ctx, basis, t)
	if err != nil {
		return false, err
	}
	if state, err = w.identify(ctx, basis, state, t); err != nil {
		return false, err
	}
	if state, err = w.recordSlots(ctx, basis, state, t); err != nil {
		return false, err
	}
	if state, err = w.recordBoot(ctx, basis, state, t); err != nil {
		return false, err
	}
	want := basis.desiredFor(t.Key.VMID, state)
	if err := w.readSnapshots(ctx, order.NeedSnapshots(want.Orders), got, t); err != nil {
		return false, err
	}
	want.Secrets = w.vault.States(want.Guests)
	planned := plan.New(want, got)
	if len(planned.Guests) != 1 {
		return false, nil
	}
	t.rememberGuest(basis, state, planned.Guests[0])
	judge := basis.Gate(state, time.Now())
	judge.Seen = got.Guests
	step, verdict, ok := judge.Next(planned.Guests[0])
	if ok && t.Steps > 0 && sameEffect(t.last, step) && onlyConfigures(want, got, step) {
		planned.Guests[0].Configured = true
	}
	switch {
	case planned.Guests[0].Configured, planned.Guests[0].Started:
		t.kept = &got
		return true, w.noteCreated(ctx, state.Owned[t.Key.VMID], planned.Guests[0])
	case !ok:
		return false, w.endTurn(ctx, t)
	case step.Refused != "":
		t.kept = &got
		return true, w.refuseOrder(ctx, basis, step)
	case step.TakesOwnership:
		t.kept = &got
		return true, w.takeOwnership(ctx, basis, step, verdict, t)
	case slices.ContainsFunc(step.Uses(), func(s queue.Resource) bool { return !slices.Contains(t.uses, s) }):
		return false, w.endTurn(ctx, t) // the engine offers the guest again with what this step uses
	}
	return w.execute(ctx, basis, step, verdict, stepOSType(step, want.Guests, t.Seen), t)
}

// execute runs a step, unless the last step was the same and had no effect. Ostype is the guest's operating system type, which decides the
// form of its secrets.
func (w *Worker) execute(ctx context.Context, basis *Basis, step plan.Step, verdict gate.Verdict, ostype string, t *turn) (again bool, err error) {
	t.Step = step
	if step.Order != nil {
		return w.executeOrder(ctx, basis, step, verdict, t)
	}
	if step.Op == cluster.OpReboot {
		if err := w.refuseRepeatedRestart(ctx, basis, step, t.last); err != nil {
			return false, fmt.Errorf("%s of %s: %w", step.Op, step.Guest, err)
		}
	}
	if t.Steps > 0 && sameEffect(t.last, step) {
		if step.Op != cluster.OpResize || t.rewritten {
			return false, fmt.Errorf("%s of %s: Proxmox accepted it, and nothing changed", step.Op, step.Guest)
		}
		step, t.rewritten = plan.RewriteSize(step, t.Seen), true
		t.Step = step
		if step.Protected { // the protection did not stand against the resize
			if verdict = basis.Gate(w.journal.State(), time.Now()).Judge(step); verdict.Held {
				return false, fmt.Errorf("hold %s of %s: %s (%s)", step.Op, step.Guest, verdict.Message, verdict.Hint)
			}
		}
	}
	if waited, err := w.outwaitRepeated(ctx, step.Guest.VMID, step.Op); waited || err != nil {
		return err == nil, err
	}
	calls, err := w.vault.Fill(step.Calls, basis.secretsOf(step.Guest.VMID), ostype)
	if err != nil {
		return false, fmt.Errorf("%s of %s: %w", step.Op, step.Guest, err)
	}
	if err := w.holdAgain(ctx, step); err != nil {
		return false, err
	}
	warnings, err := w.run(ctx, basis, step, verdict, calls, t)
	w.noteVolumes(step.Guest.VMID, err)
	t.Warnings = append(t.Warnings, warnings...)
	if errors.Is(err, cluster.ErrIsMember) && t.Seen.Pool == "" {
		// The step was planned because the guest was seen in no pool. Without Pool.Audit a token does not see the pool of a guest.
		err = fmt.Errorf("%w: %w, and the token does not see it: it lacks Pool.Audit on /pool/%s", cluster.ErrDenied, err, step.Calls[0].Params["poolid"])
	}
	if err != nil && (t.rewritten || !errors.Is(err, cluster.ErrSameSize)) {
		return false, err
	}
	t.Steps++
	t.noteRepair(step)
	t.last = step
	return true, nil
}

// takeOwnership journals a new identity for the guest, before the first call is made under it. The approvals of a step that creates a guest
// again are used up by this: they name the identity of the guest that is gone, and the creation under the new identity needs none.
func (w *Worker) takeOwnership(ctx context.Context, basis *Basis, step plan.Step, verdict gate.Verdict, t *turn) error {
	t.recreates = step.Recreates
	owned := ownership.NewRecord(basis.Cluster, step.Guest, journal.Created, "")
	if step.Op == cluster.OpCreate {
		owned.UUID = newUUID(basis.Cluster, step.Calls[0], owned)
	} else {
		owned.Origin, owned.UUID = journal.Adopted, guest.SMBIOSUUID(t.Seen)
	}
	records := []journal.Body{owned, firstSlots(basis, step, owned, t.Seen)}
	state := w.journal.State()
	if d, named := basis.desired(t.Key.VMID); named {
		records = append(records, guard.Begin(d, owned, t.Seen, state, time.Now()))
	}
	if gone := step.GoneVMID; gone != 0 && gone != t.Key.VMID {
		records = append(records, journal.Disowned{VMID: gone, Reason: "created again as " + step.Guest.String()})
	}
	records = append(records, state.SpentOrders(verdict.ApprovalKeys, journal.OrderRun, "")...)
	return w.appendIfCurrent(ctx, basis, records...)
}

// newUUID returns the SMBIOS uuid that a new guest will have: the one in its manifest, or one that derives from its identity. It is "" for a
// container, for a clone, which gets its uuid from Proxmox, and for a restored virtual machine, which gets the one in the backup.
func newUUID(clusterName string, call cluster.Call, owned journal.Owned) string {
	if call.Kind != guest.VirtualMachine || call.CloneOf != 0 || call.Params["archive"] != "" {
		return ""
	}
	return cmp.Or(guest.CreationUUID(call.Params), ownership.UUID(clusterName, owned.VMID, owned.Identity))
}

// lookOrKept returns the reading that the last step kept, or a new one.
func (w *Worker) lookOrKept(ctx context.Context, basis *Basis, t *turn) (cluster.Snapshot, error) {
	if kept := t.kept; kept != nil {
		t.kept = nil
		return *kept, nil
	}
	return w.look(ctx, basis, t)
}

// look reads the guest, its run state included, since the inventory lags. It takes a new inventory if the guest is not where the old one has
// it.
func (w *Worker) look(ctx context.Context, basis *Basis, t *turn) (cluster.Snapshot, error) {
	got := cluster.Snapshot{Inventory: basis.Inventory, Guests: map[int]guest.Observed{}, Absent: map[int]cluster.Absence{}, Objects: basis.SeenObjects}
	row, listed := got.Inventory.Row(t.Key.VMID)
	switch {
	case t.last.Op == cluster.OpPool:
		listed = false // only the inventory contains the pool, and this inventory is older than the step
	case !listed:
		row, listed = createdRow(t.last)
	}
	reading := observe.Reading{Err: observe.ErrMoved}
	switch {
	case listed:
		reading = w.find(ctx, row, true, got.Inventory.Version)
	case t.Steps == 0:
		reading = w.find(ctx, cluster.Row{VMID: t.Key.VMID}, false, got.Inventory.Version)
	}
	if errors.Is(reading.Err, observe.ErrMoved) || !listed && reading.Absence == cluster.Hidden {
		var err error
		if got.Inventory, err = w.inventory.Now(ctx); err != nil {
			return got, fmt.Errorf("list guests: %w", err)
		}
		if row, listed = got.Inventory.Row(t.Key.VMID); !listed {
			row = cluster.Row{VMID: t.Key.VMID}
		}
		reading = w.find(ctx, row, listed, got.Inventory.Version)
	}
	switch {
	case reading.Err != nil:
		return got, fmt.Errorf("read guest %d: %w", t.Key.VMID, reading.Err)
	case reading.Absence != "":
		t.Seen, t.Absence = guest.Observed{}, reading.Absence
		got.Absent[t.Key.VMID] = reading.Absence
		if err := w.lookForLeftover(ctx, basis, &got, t); err != nil {
			return got, err
		}
		return got, w.lookForTemplate(ctx, basis, &got, t)
	}
	t.Seen, t.Absence = observe.WithHAFor(ctx, w.cluster, basis.Guests, reading.Seen), ""
	t.Seen = observe.WithFirewallFor(ctx, w.cluster, basis.Guests, t.Seen)
	got.Guests[t.Key.VMID] = t.Seen
	return got, nil
}

// createdRow returns where the guest of a step that has just created it is. A guest of a pool is not there, since only the inventory contains the pool,
// and neither is a clone, which Proxmox may still be moving.
func createdRow(step plan.Step) (cluster.Row, bool) {
	if step.Op != cluster.OpCreate || len(step.Calls) == 0 {
		return cluster.Row{}, false
	}
	call := step.Calls[0]
	return cluster.Row{Kind: call.Kind, VMID: call.VMID, Node: call.Node}, call.CloneOf == 0 && call.Params["pool"] == ""
}

// find reads a guest with its present run state.
func (w *Worker) find(ctx context.Context, row cluster.Row, listed bool, version guest.Version) observe.Reading {
	row.Status = guest.StatusUnknown
	return observe.Find(ctx, w.cluster, row, listed, version)
}
