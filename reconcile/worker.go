package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// maxStepsInARow bounds what a lane does for one guest before it lets go: more steps than a guest's life has are a loop.
const maxStepsInARow = 12

// worker does in a guest's lane what the guest needs: look, plan, judge, one step, and again, until nothing is left.
type worker struct {
	cluster Cluster
	journal *journal.Journal
	vault   *vault
	hooks   LaneHooks
	world   func() *world
	ids     func() string // a fresh step id

	turn       *sync.RWMutex // held for writing while a revision is accepted
	destroying sync.Mutex    // makes counting destroys and beginning one a single act
}

// finding is what a lane leaves behind for the engine.
type finding struct {
	vmid    int
	seen    guest.Observed
	absence Absence  // "" when seen
	ran     int      // steps that were carried out
	err     error    // why the lane stopped early
	step    Step     // that failed, or the last one
	warned  []string // what the tasks of its steps warned of
	heavy   bool     // one of them moved the guest or its disks, or restarted it
	last    Step     // that was carried out
	uses    []Shared
	resent  bool // the text of a disk was written again, since the disk was larger than it said
}

// work brings one guest as far as the gate lets it, and as far as the step needs no more than what it may use. It returns what it saw
// last.
func (w *worker) work(ctx context.Context, vmid int, uses []Shared) finding {
	f := finding{vmid: vmid, uses: uses}
	if f.err = w.settleOpen(ctx, vmid); f.err != nil {
		return f
	}
	for again := true; again && f.err == nil && ctx.Err() == nil; {
		again, f.err = w.advance(ctx, &f)
		if errors.Is(f.err, errSuperseded) {
			f.err = nil // the engine offers the guest again, under what is in force now
			break
		}
		if again && f.err == nil && f.ran >= maxStepsInARow {
			f.err = fmt.Errorf("the guest does not settle: %d steps in a row, the last one %s", f.ran, f.step.Op)
		}
	}
	return f
}

// settleOpen closes the steps that an earlier life, or a lost reply, left open. Nothing new is done for the guest before.
func (w *worker) settleOpen(ctx context.Context, vmid int) error {
	state := w.journal.State()
	for _, open := range state.Open {
		if open.VMID != vmid {
			continue
		}
		result, err := settle(ctx, w.cluster, open, state.Owned[vmid], open.Time.Add(lateTime))
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
		w.hooks.recovered(vmid, Op(open.Op), c.result)
	}
	return nil
}

// advance carries out the guest's next released step, if there is one.
func (w *worker) advance(ctx context.Context, f *finding) (again bool, err error) {
	world := w.world()
	state := w.journal.State()
	got, err := w.look(ctx, world, f)
	if err != nil {
		return false, err
	}
	if owned, news := confirmed(state.Owned[f.vmid], f.seen); news && f.absence == "" {
		if err := w.append(ctx, owned); err != nil {
			return false, err
		}
		state = w.journal.State()
	}
	want := world.only(f.vmid, state)
	want.Secrets = w.vault.look(want.Guests)
	planned := NewPlan(want, got)
	if len(planned.Guests) != 1 {
		return false, nil
	}
	step, verdict, ok := world.gate(state, time.Now()).Next(planned.Guests[0])
	if !ok {
		return false, nil
	}
	if step.Claims {
		return true, w.claim(ctx, world, step, f)
	}
	if slices.ContainsFunc(step.Uses(), func(s Shared) bool { return !slices.Contains(f.uses, s) }) {
		return false, nil // the engine offers the guest again, with what this step needs
	}
	f.step = step
	if step.Op == OpReboot {
		if err := w.notInVain(ctx, world, step, f.last); err != nil {
			return false, fmt.Errorf("%s of %s: %w", step.Op, step.Guest, err)
		}
	}
	if f.ran > 0 && sameEffect(f.last, step) {
		if step.Op != OpResize || f.resent {
			return false, fmt.Errorf("%s of %s: Proxmox took it, and nothing changed", step.Op, step.Guest)
		}
		step, f.resent = remeasured(step, f.seen), true
		f.step = step
	}
	calls, err := w.vault.fill(step.Calls, stepOSType(step, want, f.seen))
	if err != nil {
		return false, fmt.Errorf("%s of %s: %w", step.Op, step.Guest, err)
	}
	warned, err := w.run(ctx, world, step, verdict, calls)
	f.warned = append(f.warned, warned...)
	if errors.Is(err, ErrIsMember) && f.seen.Pool == "" {
		// It was planned since the guest was seen in no pool. A token without Pool.Audit is not shown the one that it is in.
		err = fmt.Errorf("%w: %w, and the token does not see it: it lacks Pool.Audit on /pool/%s", ErrDenied, err, step.Calls[0].Params["poolid"])
	}
	if err != nil && (f.resent || !errors.Is(err, ErrSameSize)) {
		return false, err
	}
	f.ran++
	f.heavy = f.heavy || isHeavy(step.Op)
	f.last = step
	return true, nil
}

// sameEffect reports whether two steps ask for the same, whatever the guest's digest was: the second would repeat what did not
// take effect. What was in the slots before does not count, since the first may have changed it.
func sameEffect(a, b Step) bool {
	a.Leaves, b.Leaves = nil, nil
	return a.Op == b.Op && a.Digest("", "") == b.Digest("", "")
}

// claim journals a fresh identity for the guest before anything is done under it.
func (w *worker) claim(ctx context.Context, world *world, step Step, f *finding) error {
	owned := newOwned(world.cluster, step.Guest, journal.Created, "")
	if step.Op != OpCreate {
		owned.Origin, owned.UUID = journal.Adopted, guest.SMBIOSUUID(f.seen)
	}
	records := []journal.Body{owned}
	for _, d := range world.guests {
		if d.VMID == f.vmid {
			records = append(records, guarded(d))
		}
	}
	return w.under(ctx, world, records...)
}

// look reads one guest afresh, its run state included, since the inventory lags.
func (w *worker) look(ctx context.Context, world *world, f *finding) (Observed, error) {
	got := Observed{Inventory: world.inventory, Guests: map[int]guest.Observed{}, Absent: map[int]Absence{}}
	row, listed := world.row(f.vmid)
	seen, err := guest.Observed{}, error(nil)
	if f.last.Op == OpPool {
		listed = false // the inventory alone knows the pool, and the world's is from before the step
	}
	if listed {
		seen, err = w.read(ctx, row, got.Inventory.Version)
	}
	if !listed || errors.Is(err, ErrNotExist) {
		if got.Inventory, err = w.cluster.Inventory(ctx); err != nil {
			return got, fmt.Errorf("list guests: %w", err)
		}
		if row, listed = got.Inventory.Row(f.vmid); listed {
			seen, err = w.read(ctx, row, got.Inventory.Version)
		}
	}
	switch {
	case listed && err == nil:
		seen = withHAFor(ctx, w.cluster, world.guests, seen)
		f.seen, f.absence = seen, ""
		got.Guests[f.vmid] = seen
		return got, nil
	case listed && !errors.Is(err, ErrNotExist):
		return got, fmt.Errorf("read guest %d: %w", f.vmid, err)
	}
	absence, err := absent(ctx, w.cluster, f.vmid)
	switch {
	case err != nil:
		return got, err
	case listed && absence == Hidden:
		return got, fmt.Errorf("read guest %d on %s: %w", f.vmid, row.Node, errAstray)
	}
	f.seen, f.absence = guest.Observed{}, absence
	got.Absent[f.vmid] = absence
	return got, nil
}

func (w *worker) read(ctx context.Context, row Row, version guest.Version) (guest.Observed, error) {
	status, err := w.cluster.Status(ctx, row)
	if err != nil {
		return guest.Observed{}, err
	}
	row.Status = status
	return observe(ctx, w.cluster, row, version)
}

// absent asks the cluster itself about a vmid that no list shows.
func absent(ctx context.Context, reader Reader, vmid int) (Absence, error) {
	taken, err := reader.Exists(ctx, vmid)
	switch {
	case err != nil:
		return Unknown, fmt.Errorf("ask for vmid %d: %w", vmid, err)
	case taken:
		return Hidden, nil
	default:
		return Gone, nil
	}
}

// append makes records durable even while the agent is stopping: a record of what was done is never dropped.
func (w *worker) append(ctx context.Context, bodies ...journal.Body) error {
	if err := w.journal.Append(context.WithoutCancel(ctx), bodies...); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	return nil
}
