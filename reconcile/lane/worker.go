package lane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/ownership"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/queue"
	"gitops-agent/reconcile/secret"
)

// maxStepsInARow bounds what a lane does for one guest before it lets go: more steps than a guest's life has are a loop.
const maxStepsInARow = 12

// Worker does in a guest's lane what the guest needs: look, plan, judge, one step, and again, until nothing is left.
type Worker struct {
	Cluster cluster.Cluster
	Journal *journal.Journal
	Vault   *secret.Vault
	Hooks   Hooks
	World   func() *Basis
	Ids     func() string // a fresh step id

	Turn       *sync.RWMutex // held for writing while a revision is accepted
	destroying sync.Mutex    // makes counting destroys and beginning one a single act
}

// Result is what a lane leaves behind for the engine.
type Result struct {
	Vmid    int
	Seen    guest.Observed
	Absence cluster.Absence // "" when seen
	Steps   int             // steps that were carried out
	Err     error           // why the lane stopped early
	Step    plan.Step       // that failed, or the last one
	Warned  []string        // what the tasks of its steps warned of
	Heavy   bool            // one of them moved the guest or its disks, or restarted it
	last    plan.Step       // that was carried out
	uses    []queue.Shared
	resent  bool // the text of a disk was written again, since the disk was larger than it said
}

// Work brings one guest as far as the gate lets it, and as far as the step needs no more than what it may use. It returns what it saw
// last.
func (w *Worker) Work(ctx context.Context, vmid int, uses []queue.Shared) Result {
	f := Result{Vmid: vmid, uses: uses}
	if f.Err = w.settleOpen(ctx, vmid); f.Err != nil {
		return f
	}
	for again := true; again && f.Err == nil && ctx.Err() == nil; {
		again, f.Err = w.advance(ctx, &f)
		if errors.Is(f.Err, ErrSuperseded) {
			f.Err = nil // the engine offers the guest again, under what is in force now
			break
		}
		if again && f.Err == nil && f.Steps >= maxStepsInARow {
			f.Err = fmt.Errorf("the guest does not settle: %d steps in a row, the last one %s", f.Steps, f.Step.Op)
		}
	}
	return f
}

// settleOpen closes the steps that an earlier life, or a lost reply, left open. Nothing new is done for the guest before.
func (w *Worker) settleOpen(ctx context.Context, vmid int) error {
	state := w.Journal.State()
	for _, open := range state.Open {
		if open.VMID != vmid {
			continue
		}
		result, err := settle(ctx, w.Cluster, open, state.Owned[vmid], open.Time.Add(lateTime))
		if err != nil {
			return err
		}
		c := w.finish(ctx, open, conclusion{result: result, dispatched: open.Dispatched})
		if c.result == "" {
			return c.err
		}
		if err := w.append(ctx, closing(open.Begun, c, state)...); err != nil {
			return err
		}
		w.Hooks.recovered(vmid, cluster.Op(open.Op), c.result)
	}
	return nil
}

// advance carries out the guest's next released step, if there is one.
func (w *Worker) advance(ctx context.Context, f *Result) (again bool, err error) {
	world := w.World()
	state := w.Journal.State()
	got, err := w.look(ctx, world, f)
	if err != nil {
		return false, err
	}
	if owned, news := ownership.Confirmed(state.Owned[f.Vmid], f.Seen); news && f.Absence == "" {
		if err := w.append(ctx, owned); err != nil {
			return false, err
		}
		state = w.Journal.State()
	}
	want := world.desiredFor(f.Vmid, state)
	want.Secrets = w.Vault.Look(want.Guests)
	planned := plan.New(want, got)
	if len(planned.Guests) != 1 {
		return false, nil
	}
	step, verdict, ok := world.Gate(state, time.Now()).Next(planned.Guests[0])
	if !ok {
		return false, nil
	}
	if step.TakesOwnership {
		return true, w.claim(ctx, world, step, f)
	}
	if slices.ContainsFunc(step.Uses(), func(s queue.Shared) bool { return !slices.Contains(f.uses, s) }) {
		return false, nil // the engine offers the guest again, with what this step needs
	}
	f.Step = step
	if step.Op == cluster.OpReboot {
		if err := w.refuseRepeatedRestart(ctx, world, step, f.last); err != nil {
			return false, fmt.Errorf("%s of %s: %w", step.Op, step.Guest, err)
		}
	}
	if f.Steps > 0 && sameEffect(f.last, step) {
		if step.Op != cluster.OpResize || f.resent {
			return false, fmt.Errorf("%s of %s: Proxmox took it, and nothing changed", step.Op, step.Guest)
		}
		step, f.resent = plan.Remeasured(step, f.Seen), true
		f.Step = step
	}
	calls, err := w.Vault.Fill(step.Calls, stepOSType(step, want, f.Seen))
	if err != nil {
		return false, fmt.Errorf("%s of %s: %w", step.Op, step.Guest, err)
	}
	warned, err := w.run(ctx, world, step, verdict, calls)
	f.Warned = append(f.Warned, warned...)
	if errors.Is(err, cluster.ErrIsMember) && f.Seen.Pool == "" {
		// It was planned since the guest was seen in no pool. A token without Pool.Audit is not shown the one that it is in.
		err = fmt.Errorf("%w: %w, and the token does not see it: it lacks Pool.Audit on /pool/%s", cluster.ErrDenied, err, step.Calls[0].Params["poolid"])
	}
	if err != nil && (f.resent || !errors.Is(err, cluster.ErrSameSize)) {
		return false, err
	}
	f.Steps++
	f.Heavy = f.Heavy || step.Op.IsHeavy()
	f.last = step
	return true, nil
}

// sameEffect reports whether two steps ask for the same, whatever the guest's digest was: the second would repeat what did not
// take effect. What was in the slots before does not count, since the first may have changed it.
func sameEffect(a, b plan.Step) bool {
	a.DetachedVolumes, b.DetachedVolumes = nil, nil
	return a.Op == b.Op && a.Digest("", "") == b.Digest("", "")
}

// claim journals a fresh identity for the guest before anything is done under it.
func (w *Worker) claim(ctx context.Context, world *Basis, step plan.Step, f *Result) error {
	owned := ownership.NewRecord(world.Cluster, step.Guest, journal.Created, "")
	if step.Op != cluster.OpCreate {
		owned.Origin, owned.UUID = journal.Adopted, guest.SMBIOSUUID(f.Seen)
	}
	records := []journal.Body{owned}
	for _, d := range world.Guests {
		if d.VMID == f.Vmid {
			records = append(records, ownership.Guarded(d))
		}
	}
	return w.appendIfCurrent(ctx, world, records...)
}

// look reads one guest afresh, its run state included, since the inventory lags.
func (w *Worker) look(ctx context.Context, world *Basis, f *Result) (cluster.Snapshot, error) {
	got := cluster.Snapshot{Inventory: world.Inventory, Guests: map[int]guest.Observed{}, Absent: map[int]cluster.Absence{}}
	row, listed := world.row(f.Vmid)
	seen, err := guest.Observed{}, error(nil)
	if f.last.Op == cluster.OpPool {
		listed = false // the inventory alone knows the pool, and the world's is from before the step
	}
	if listed {
		seen, err = w.read(ctx, row, got.Inventory.Version)
	}
	if !listed || errors.Is(err, cluster.ErrNotExist) {
		if got.Inventory, err = w.Cluster.Inventory(ctx); err != nil {
			return got, fmt.Errorf("list guests: %w", err)
		}
		if row, listed = got.Inventory.Row(f.Vmid); listed {
			seen, err = w.read(ctx, row, got.Inventory.Version)
		}
	}
	switch {
	case listed && err == nil:
		seen = observe.WithHAFor(ctx, w.Cluster, world.Guests, seen)
		f.Seen, f.Absence = seen, ""
		got.Guests[f.Vmid] = seen
		return got, nil
	case listed && !errors.Is(err, cluster.ErrNotExist):
		return got, fmt.Errorf("read guest %d: %w", f.Vmid, err)
	}
	absence, err := observe.Absent(ctx, w.Cluster, f.Vmid)
	switch {
	case err != nil:
		return got, err
	case listed && absence == cluster.Hidden:
		return got, fmt.Errorf("read guest %d on %s: %w", f.Vmid, row.Node, observe.ErrAstray)
	}
	f.Seen, f.Absence = guest.Observed{}, absence
	got.Absent[f.Vmid] = absence
	return got, nil
}

func (w *Worker) read(ctx context.Context, row cluster.Row, version guest.Version) (guest.Observed, error) {
	status, err := w.Cluster.Status(ctx, row)
	if err != nil {
		return guest.Observed{}, err
	}
	row.Status = status
	return observe.ReadGuest(ctx, w.Cluster, row, version)
}

// append makes records durable even while the agent is stopping: a record of what was done is never dropped.
func (w *Worker) append(ctx context.Context, bodies ...journal.Body) error {
	if err := w.Journal.Append(context.WithoutCancel(ctx), bodies...); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	return nil
}

// stepOSType returns the type by which Proxmox takes the secrets of a step.
func stepOSType(step plan.Step, want plan.Desired, live guest.Observed) string {
	if step.Op != cluster.OpCreate {
		return secret.OstypeOf(live)
	}
	for i := range want.Guests {
		return secret.WantedOSType(&want.Guests[i])
	}
	return ""
}
