package model_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/epoch"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/queue"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/secret"
	"gitops-agent/reconcile/volumes"
)

// process is one run of the agent: lanes on the journal, and what the engine would give them.
type process struct {
	*run
	reader

	journal *journal.Journal
	epochs  epoch.Counter
	epoch   epoch.Number
	worker  *lane.Worker
	now     *lane.Basis
	dead    bool
	first   uint64 // the newest record of the journal when the process started
	started time.Time

	cacheMu sync.Mutex
	cache   map[string]uint64
}

// errDead is the error of everything that a killed process still tries.
var errDead = errors.New("the process was killed")

// start starts the agent.
func (r *run) start() error {
	j, err := journal.Open(journal.Options{Dir: r.dir})
	if err != nil {
		return err
	}
	p := &process{run: r, reader: reader{r.world}, journal: j, first: j.State().Seq, started: time.Now(), cache: map[string]uint64{}}
	p.epoch = p.epochs.Now()
	p.worker = lane.New(lane.Options{
		Cluster: p, Volumes: volumes.New(p, nil), Journal: j, Vault: secret.NewVault(secret.Source{}, "home"), Epochs: &p.epochs,
		Basis: func() *lane.Basis { return p.now },
		StepID: func() string {
			r.stepIDs++
			return fmt.Sprintf("STEP%04d", r.stepIDs)
		},
	})
	r.process = p
	p.setBasis()
	return nil
}

// accept brings a revision into force, as the intake does.
func (p *process) accept(rev *revision) error {
	number, err := p.epochs.Advance(func() error {
		state := p.journal.State()
		records := []journal.Body{journal.Accepted{Commit: rev.commit, Branch: "main", Sequence: uint64(rev.number)}}
		if rev.approves != 0 {
			records = append(records, p.approval(rev.approves))
		}
		if rev.orders != "" {
			records = append(records, orderOf(rev.orders, state))
		}
		if g, changed := guard.AcceptCluster(rev.set.Cluster.Guards, state); changed {
			records = append(records, g)
		}
		for i := range rev.guests {
			records = append(records, guard.Accept(&rev.guests[i], state, time.Now()))
		}
		return p.journal.Append(context.Background(), records...)
	})
	if err != nil {
		return err
	}
	p.epoch, p.force = number, rev
	p.setBasis()
	return nil
}

// orderOf is a signed order of a one-shot operation for the guest that the agent owns, as the intake records it.
func orderOf(text string, state journal.State) journal.Body {
	record := journal.Ordered{
		Key: "order", Order: order.RunPrefix + text, Subject: "otto@lab.test", Signer: "otto", ProvenTime: time.Now(), State: journal.OrderSeen,
	}
	for vmid, owned := range state.Owned {
		if strings.Contains(text, owned.Kind+"/"+owned.Name) {
			record.VMID, record.Identity = vmid, owned.Identity
		}
	}
	return record
}

// approval is a signed approval of what is held for a guest now.
func (p *process) approval(vmid int) journal.Body {
	state, digest := p.journal.State(), ""
	want, got := p.now.Desired(state), p.snapshot()
	got.Objects = observe.ReadObjects(context.Background(), p.reader, want.Objects.Reads())
	for _, g := range plan.New(want, got).Guests {
		for _, step := range g.Steps {
			if v := p.now.Gate(state, time.Now()).Judge(step); g.Ref.VMID == vmid && v.Digest != "" {
				digest = v.Digest
			}
		}
	}
	return journal.Ordered{
		Key: "approval", Order: gate.ApprovePrefix + digest, Subject: "olga@lab.test", Signer: "olga", ProvenTime: time.Now(), State: journal.OrderSeen,
	}
}

// snapshot reads every guest that matters, as the engine does before it plans.
func (p *process) snapshot() cluster.Snapshot {
	ctx := context.Background()
	got := cluster.Snapshot{Inventory: p.inventory(), Guests: map[int]guest.Observed{}, Absent: map[int]cluster.Absence{}}
	for _, vmid := range p.scenario.vmids {
		row, listed := got.Inventory.Row(vmid)
		if !listed {
			row = cluster.Row{VMID: vmid}
		}
		switch r := observe.Find(ctx, p.reader, row, listed, got.Inventory.Version); {
		case r.Absence != "":
			got.Absent[vmid] = r.Absence
		case r.Err == nil:
			got.Guests[vmid] = r.Seen
		}
	}
	return got
}

// setBasis gives the lanes what they work from.
func (p *process) setBasis() {
	if p.force == nil {
		p.now = &lane.Basis{Cluster: "home", NoWrites: reason.StopNoRevision}
		return
	}
	state, seen := p.journal.State(), p.snapshot()
	resolved := guard.Resolve(guard.Input{Cluster: p.force.set.Cluster, Guests: p.force.guests, State: state, At: time.Now()})
	p.now = &lane.Basis{
		Cluster: "home", Revision: p.force.name(), Epoch: p.epoch, Guests: resolved.Guests, Policies: gate.NewPolicies(resolved.Guests), Guards: resolved.Guards,
		Weakenings: resolved.Weakenings, Objects: p.force.set.Objects, VMIDs: manifest.Range{From: 200, To: 299}, Inventory: seen.Inventory, Seen: seen.Guests, NoWrites: reason.WritesAllowed,
		SeenObjects: observe.ReadObjects(context.Background(), p.reader, plan.NewObjects(p.force.set.Objects, resolved.Guests, state).Reads()),
	}
}

// next returns what the engine would offer to a lane: whether there is work, what it uses, and otherwise why the object stays as it is.
func (p *process) next(key object.Key) (uses []queue.Resource, work bool, planned plan.Guest, why string) {
	p.setBasis()
	state := p.journal.State()
	judge := p.now.Gate(state, time.Now())
	for _, open := range state.Open {
		work = work || open.Key() == key
	}
	want, got := p.now.Desired(state), p.snapshot()
	want.Objects = plan.Objects{Wanted: p.now.Objects, Owned: state.Objects}
	got.Objects = observe.ReadObjects(context.Background(), p.reader, want.Objects.Reads())
	for _, g := range plan.New(want, got).Guests {
		if object.KeyOf(g.Ref.VMID, g.Ref.Label()) != key {
			continue
		}
		planned = g
		if step, _, released := judge.Next(g); released {
			return queue.CompactResources(step.Uses()), true, g, ""
		}
		for _, c := range g.Conditions {
			why += string(c.Type) + ": " + c.Message + "; "
		}
		for _, step := range g.Steps {
			if v := judge.Judge(step); v.Held {
				why += string(v.Reason) + ": " + v.Message + "; "
			}
		}
	}
	return nil, work, planned, why
}

// Nodes is the first reading of the frame in which the users of volumes are found. The process may use it again.
func (p *process) Nodes(ctx context.Context) ([]cluster.Node, error) {
	p.noteCache("frame")
	return p.reader.Nodes(ctx)
}

// Snapshots is the last reading of a guest whose volumes are looked for.
func (p *process) Snapshots(ctx context.Context, row cluster.Row) (guest.Snapshots, error) {
	p.noteCache(fmt.Sprintf("guest %d", row.VMID))
	return p.reader.Snapshots(ctx, row)
}

// Backups lists none: no order of the model makes one.
func (p *process) Backups(context.Context, string, string, int) ([]cluster.Backup, error) {
	return nil, nil
}

// Files lists none, as the world.
func (p *process) Files(ctx context.Context, at cluster.FilePlace) (map[string]int64, error) {
	return p.reader.Files(ctx, at)
}

// Firewall reads none: no guest of the model has one.
func (p *process) Firewall(ctx context.Context, row cluster.Row, names bool) (guest.FirewallSeen, error) {
	return p.reader.Firewall(ctx, row, names)
}

// FirewallEnabled is not asked for either.
func (p *process) FirewallEnabled(ctx context.Context) (bool, error) {
	return p.reader.FirewallEnabled(ctx)
}

// Objects reads the pools or the jobs of replication. After the first reading of a turn others may act.
func (p *process) Objects(ctx context.Context, kind guest.Kind, ids []string) (map[string]cluster.Object, error) {
	objects, err := p.reader.Objects(ctx, kind, ids)
	return objects, errors.Join(err, p.afterReading(ctx))
}

// CheckObject asks the world.
func (p *process) CheckObject(ctx context.Context, op cluster.Op, kind guest.Kind, id string, first object.Key) error {
	return p.reader.CheckObject(ctx, op, kind, id, first)
}

// noteCache notes that the process has read something that it may use again, so that the hash of a state contains what it has seen.
func (p *process) noteCache(what string) {
	p.cacheMu.Lock()
	defer p.cacheMu.Unlock()
	p.cache[what] = p.hashOfVolumes()
}

// turnKey is the key of the turn in the context of its calls. A context without it reads without giving way to others.
type turnKey struct{}

// Observe reads a guest. After the first reading of a turn others may act.
func (p *process) Observe(ctx context.Context, row cluster.Row) (guest.Observed, error) {
	seen, err := p.reader.Observe(ctx, row)
	return seen, errors.Join(err, p.afterReading(ctx))
}

// Exists asks for a vmid.
func (p *process) Exists(ctx context.Context, vmid int) (bool, error) {
	exists, err := p.reader.Exists(ctx, vmid)
	return exists, errors.Join(err, p.afterReading(ctx))
}

func (p *process) afterReading(ctx context.Context) error {
	if p.dead {
		return errDead
	}
	t, _ := ctx.Value(turnKey{}).(*turn)
	if t == nil || t.hasRead {
		return nil
	}
	t.hasRead = true
	_, err := p.giveWay(t, "has read its object")
	return err
}

// Wait waits for a task.
func (p *process) Wait(ctx context.Context, upid string) (cluster.Task, error) {
	if t, _ := ctx.Value(turnKey{}).(*turn); t != nil {
		if _, err := p.giveWay(t, "waits for its task"); err != nil {
			return cluster.Task{}, err
		}
	}
	return p.reader.Wait(ctx, upid)
}

// fate is what happens to a call.
type fate int

const (
	answered  fate = iota
	replyLost      // the call acts, and its reply is lost
	rejected       // Proxmox refuses the call
	late           // the call acts later, if at all, and its reply is lost
)

// Do waits for a slot, runs the last check, and sends the call at once.
func (p *process) Do(ctx context.Context, call cluster.Call, check cluster.LastCheck) (string, error) {
	t, _ := ctx.Value(turnKey{}).(*turn)
	f, err := p.giveWay(t, "waits for a slot to "+string(call.Op))
	if err != nil {
		return "", err
	}
	if err := check(context.WithValue(ctx, turnKey{}, (*turn)(nil))); err != nil {
		return "", err
	}
	step, revision := "", ""
	for _, open := range p.journal.State().Open {
		if open.VMID == call.VMID && open.Detail[journal.DetailObject] == call.Object {
			step, revision = open.Step, open.Revision
			if key := open.Detail["order"]; key != "" {
				step = orderStep + key // whatever its step: an order has its effect once
			}
		}
	}
	p.sent(call, revision)
	if f == rejected {
		return "", fmt.Errorf("VM is locked (backup): %w", cluster.ErrLocked)
	}
	if f == late {
		p.lateCall, p.lateStep = &call, step
		return "", fmt.Errorf("no reply: %w", cluster.ErrUnanswered)
	}
	upid, err := p.carryOut(call, step, false)
	if f == replyLost {
		return "", fmt.Errorf("no reply: %w", cluster.ErrUnanswered)
	}
	if _, dead := p.giveWay(t, "gets the reply to "+string(call.Op)); dead != nil {
		return "", dead
	}
	return upid, err
}

// sent checks a call that leaves the agent.
func (p *process) sent(call cluster.Call, revision string) {
	name := nameOf(call)
	if revision != p.force.name() {
		p.violate("%s is sent under %s, which %s has superseded", name, revision, p.force.name())
	}
	if call.Op == cluster.OpCreate && p.gone[call.VMID] && !p.force.mayCreateAgain[call.VMID] {
		p.violate("%s creates a guest again that a person destroyed, without its data and without approval", name)
	}
	if call.Op == cluster.OpObjectRemove && !p.force.mayRemove {
		p.violate("%s without permission under %s", name, p.force.name())
	}
	if j := p.jobs[call.Object]; j != nil && j.isLeaving() {
		p.violate("%s is sent for a job that Proxmox is removing", name)
	}
	if call.Op != cluster.OpDestroy {
		return
	}
	if p.destroys++; p.destroys > p.force.set.Cluster.Guards.MaxDestroysPerDay {
		p.violate("%s is destroy call %d, with a limit of %d", name, p.destroys, p.force.set.Cluster.Guards.MaxDestroysPerDay)
	}
	if !p.force.mayDestroy[call.VMID] {
		p.violate("%s without approval or permission under %s", name, p.force.name())
	}
}

// orderStep begins the name of what an order causes, in place of the id of a step.
const orderStep = "order "

// nameOf names a call.
func nameOf(call cluster.Call) string {
	if call.Object != "" {
		return fmt.Sprintf("%s of %s/%s", call.Op, call.Kind, call.Object)
	}
	return fmt.Sprintf("%s of %d", call.Op, call.VMID)
}

// carryOut lets a call act and checks its effect.
func (r *run) carryOut(call cluster.Call, step string, isLate bool) (string, error) {
	before, existed := r.world.guests[call.VMID]
	var slots map[string]string
	if existed {
		copied := *before
		before, slots = &copied, mapOfSlots(before.keys)
		before.pending = mapOf(before.pending)
	}
	foreign := r.world.isForeign(call)
	upid, err := r.world.act(call)
	if err != nil {
		return upid, err
	}
	name := nameOf(call)
	effect := step + " " + string(call.Op)
	if r.effects[effect]++; r.effects[effect] > 1 {
		r.violate("%s has a second effect", name)
	}
	switch {
	case foreign && !isLate: // a call that was sent acts on what it finds
		r.violate("%s acts on a guest that is not the agent's", name)
	case call.Op == cluster.OpReboot && len(before.pending) == 0 && !strings.HasPrefix(step, orderStep):
		r.violate("%s with nothing to apply: it was restarted already", name)
	case call.Op == cluster.OpDestroy:
		for _, text := range slots {
			if users := r.world.users(volumeOf(text), call.VMID); len(users) > 0 {
				r.violate("%s deletes %s, which %v uses", name, volumeOf(text), users)
			}
		}
	case call.Op == cluster.OpConfig:
		for slot, text := range mapOfSlots(r.world.guests[call.VMID].keys) {
			if data := r.data[fmt.Sprintf("%d %s", call.VMID, slot)]; data != "" && volumeOf(text) != data {
				r.violate("%s gives %s the new volume %s instead of %s with its data", name, slot, volumeOf(text), data)
			}
		}
	}
	return upid, nil
}

func mapOf(m map[string]string) map[string]string {
	c := map[string]string{}
	maps.Copy(c, m)
	return c
}

func mapOfSlots(keys map[string]string) map[string]string {
	slots := map[string]string{}
	for k, v := range keys {
		if isSlot(k) && !strings.Contains(v, "media=cdrom") {
			slots[k] = v
		}
	}
	return slots
}
