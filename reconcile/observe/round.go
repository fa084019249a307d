package observe

import (
	"context"
	"errors"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
)

// round is one pass over the cluster: the list of guests, then the guests that are due, and HA. Only its calls run outside the goroutine of the
// engine.
type round struct {
	request Request
	listing bool      // the list has not arrived
	left    int       // replies that were not taken
	flying  int       // replies that have not arrived; the mutex of mail guards it
	moved   []Reading // guests that were not where the list has them
	again   bool      // the list was read again for them
}

// Begin starts a round, unless the list of the round before has not arrived yet. Readings of earlier rounds that have not arrived are kept when they do,
// and their guests are not asked for again meanwhile. It returns whether a round began. Bell rings when Take has something to take.
func (o *Observer) Begin(ctx context.Context, request Request) bool {
	if o.current != nil && o.current.listing {
		return false
	}
	if o.current != nil {
		o.giveUpMoved(o.current)
	}
	if o.list != nil {
		o.list.look(time.Now())
	}
	r := &round{request: request, listing: true}
	o.current = r
	o.call(r, PartList, func() arrival {
		inventory, err := o.reader.Inventory(ctx)
		return arrival{inventory: inventory, err: err}
	})
	return true
}

// call runs one call of a round in a goroutine of its own.
func (o *Observer) call(r *round, part Part, ask func() arrival) {
	began := time.Now()
	o.pending[part] = began
	o.expect(r, 1)
	o.calls.Go(func() {
		a := ask()
		a.round, a.part, a.began = r, part, began
		o.mail.post(a)
	})
}

// expect notes that a number of replies to the round will arrive.
func (o *Observer) expect(r *round, replies int) {
	r.left += replies
	o.mail.expect(r, replies)
}

// Bell rings when a round has an answer that Take has to see: the list, the last reading of the newest round, or a late reading.
func (o *Observer) Bell() <-chan struct{} { return o.mail.bell }

// Wait returns when no call is in flight. The caller first ends the context of Begin.
func (o *Observer) Wait() { o.calls.Wait() }

// Take processes the replies that have arrived. It belongs to the goroutine of the engine, and starts the readings that follow from them.
func (o *Observer) Take(ctx context.Context) Progress {
	var p Progress
	for _, a := range o.mail.empty() {
		a.round.left--
		switch a.part {
		case PartList:
			o.takeList(ctx, a, &p)
		case PartHA:
			delete(o.pending, PartHA)
			o.keepHA(a.round.request.UnderHA, a.resources, a.began, a.err)
			o.keepMaster(a.master, a.noMaster, time.Now())
		case PartReady:
			delete(o.pending, PartReady)
			p.AskedReady, p.ReadyErr = true, a.err
		case PartFiles:
			delete(o.pending, PartFiles)
			o.LearnFiles(a.files)
		case PartDatacenter:
			delete(o.pending, PartDatacenter)
			o.keepDatacenter(a.firewallOn, a.err)
		case PartObjects:
			delete(o.pending, PartObjects)
			o.LearnObjects(a.objects)
		case PartGuests:
			delete(o.flying, a.reading.VMID)
			if errors.Is(a.reading.Err, ErrMoved) && a.round == o.current {
				a.round.moved = append(a.round.moved, a.reading)
				o.flying[a.reading.VMID] = flight{a.began, a.reading.Row.Node} // it is still looked for
				break
			}
			o.keep(a.reading, a.began)
		}
	}
	if r := o.current; r != nil && !r.listing && r.left == 0 {
		if len(r.moved) > 0 && !r.again {
			o.listAgain(ctx, r)
			return p
		}
		o.giveUpMoved(r)
		o.current, p.Ended = nil, true
	}
	return p
}

// takeList processes the list of guests, and starts the readings of the guests that are due.
func (o *Observer) takeList(ctx context.Context, a arrival, p *Progress) {
	delete(o.pending, PartList)
	r := a.round
	r.listing = false
	if r.again {
		o.takeSecondList(ctx, r, a)
		return
	}
	if a.err != nil {
		p.Err, p.Ended, o.current = a.err, true, nil
		return
	}
	p.Listed = true
	if r.request.Select != nil {
		r.request.VMIDs = r.request.Select(a.inventory)
	}
	if r.request.Further != nil {
		r.request.VMIDs = slices.Compact(slices.Sorted(slices.Values(slices.Concat(r.request.VMIDs, r.request.Further(a.inventory)))))
	}
	o.markChanged(a.inventory)
	o.inventory = a.inventory
	o.markListed(r.request.VMIDs)
	o.markWithoutSnapshots(r.request.Snapshots)
	o.firewalls = r.request.Firewalls
	o.markWithoutFirewall()
	o.forget(r.request.VMIDs)
	o.underHA = setOf(r.request.UnderHA)
	if len(o.underHA) == 0 {
		o.resources, o.haTrouble = nil, ""
		o.keepMaster(nil, nil, time.Now())
	}
	o.launch(ctx, r, o.choose(o.notFlying(r.request.VMIDs), time.Now()))
	if _, pending := o.pending[PartHA]; len(o.underHA) > 0 && !pending {
		o.call(r, PartHA, func() arrival {
			return readHA(ctx, o.reader, r.request.UnderHA, a.inventory)
		})
	}
	o.launchFiles(ctx, r, a.inventory)
	o.launchDatacenter(ctx, r, time.Now())
	o.launchObjects(ctx, r)
	if _, pending := o.pending[PartReady]; (r.request.Ready || len(a.inventory.Offline) > 0) && !pending {
		o.call(r, PartReady, func() arrival { return arrival{err: o.reader.Ready(ctx)} })
	}
}

// launchFiles starts the reading of the places that are due, unless the reading before has not ended.
func (o *Observer) launchFiles(ctx context.Context, r *round, inventory cluster.Inventory) {
	var places []cluster.FilePlace
	if r.request.Files != nil {
		places = r.request.Files(inventory)
	}
	due := o.duePlaces(places, time.Now())
	if _, pending := o.pending[PartFiles]; len(due) > 0 && !pending {
		o.call(r, PartFiles, func() arrival { return arrival{files: ReadFiles(ctx, o.reader, due)} })
	}
}

// launchObjects starts the reading of the kinds that are due, unless the reading before has not ended.
func (o *Observer) launchObjects(ctx context.Context, r *round) {
	due := o.dueObjects(r.request.Objects, time.Now())
	if _, pending := o.pending[PartObjects]; len(due) > 0 && !pending {
		o.call(r, PartObjects, func() arrival { return arrival{objects: ReadObjects(ctx, o.reader, due)} })
	}
}

// listAgain reads the list once more for guests that moved since it was taken.
func (o *Observer) listAgain(ctx context.Context, r *round) {
	r.again, r.listing = true, true
	o.call(r, PartList, func() arrival {
		inventory, err := o.reader.Inventory(ctx)
		return arrival{inventory: inventory, err: err}
	})
}

// takeSecondList looks for moved guests where the second list has them. Without another place their readings keep ErrMoved.
func (o *Observer) takeSecondList(ctx context.Context, r *round, a arrival) {
	if a.err != nil {
		return
	}
	o.inventory = a.inventory
	var elsewhere []int
	var stay []Reading
	for _, m := range r.moved {
		if row, listed := a.inventory.Row(m.VMID); !listed || row.Node != m.Row.Node {
			elsewhere = append(elsewhere, m.VMID)
		} else {
			stay = append(stay, m)
		}
	}
	r.moved = stay
	o.launch(ctx, r, elsewhere)
}

// giveUpMoved keeps the readings of guests that were found nowhere. The next round looks for them again.
func (o *Observer) giveUpMoved(r *round) {
	for _, m := range r.moved {
		f := o.flying[m.VMID]
		delete(o.flying, m.VMID)
		o.keep(m, f.since)
	}
	r.moved = nil
}

// notFlying returns the guests that are not being read now.
func (o *Observer) notFlying(vmids []int) []int {
	if len(o.flying) == 0 {
		return vmids
	}
	var rest []int
	for _, v := range vmids {
		if _, flies := o.flying[v]; !flies {
			rest = append(rest, v)
		}
	}
	return rest
}

// Pending returns the calls that began before a time and have no reply yet. Calls to a guest count for the guest's node.
func (o *Observer) Pending(before time.Time) []Pending {
	var list []Pending
	for _, part := range []Part{PartList, PartHA, PartFiles, PartDatacenter, PartObjects, PartReady} {
		if began, pending := o.pending[part]; pending && began.Before(before) {
			list = append(list, Pending{Part: part, Calls: 1, Since: began})
		}
	}
	return append(list, o.pendingNodes(before)...)
}

// Hurry lets the bell ring for every further reply of the newest round, which is late.
func (o *Observer) Hurry() { o.mail.hurry() }

// Observe runs one round and waits for all of it. It fails only if the inventory cannot be read; a guest that cannot be
// read is reported in Snapshot.Trouble. HA is read for the guests of underHA, if there are any.
func (o *Observer) Observe(ctx context.Context, vmids, underHA []int) error {
	return o.run(ctx, Request{VMIDs: vmids, UnderHA: underHA})
}

// run runs one round and waits for all of it.
func (o *Observer) run(ctx context.Context, request Request) error {
	o.Begin(ctx, request)
	for {
		<-o.mail.bell
		if p := o.Take(ctx); p.Ended {
			return p.Err
		}
	}
}

// ReadAll reads the inventory and the guests of vmids in full, once, and HA for the guests of underHA. A guest that could not be read is
// Unknown in the snapshot. Firewalls are those to read, with aliases and sets or without.
func ReadAll(ctx context.Context, reader cluster.Reader, vmids, underHA []int, firewalls map[int]bool) (cluster.Snapshot, error) {
	o := New(reader, time.Second, time.Second)
	err := o.run(ctx, Request{VMIDs: vmids, UnderHA: underHA, Firewalls: firewalls})
	return o.Snapshot(), err
}

func setOf(vmids []int) map[int]bool {
	set := make(map[int]bool, len(vmids))
	for _, v := range vmids {
		set[v] = true
	}
	return set
}
