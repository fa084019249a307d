package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// assignVMIDs looks for a free vmid of the Cluster's range for each guest without one, beside the engine. A guest that may exist already gets none. Proxmox
// cannot reserve a vmid, so another program may still take it; the create fails then and overwrites nothing. It returns whether a cycle follows.
func (e *Engine) assignVMIDs(ctx context.Context) bool {
	state, inventory, span := e.opts.Journal.State(), e.readings.observer.Snapshot().Inventory, e.revision.force.Accepted.Set().Cluster.VMIDs
	var wanted []guest.Desired
	for i := range e.guests {
		d := &e.guests[i]
		if d.VMID == 0 && d.Invalid == nil && len(plan.Candidates(d, plan.Desired{Guests: e.guests, Owned: state.Owned, VMIDs: span}, inventory)) == 0 {
			wanted = append(wanted, *d)
		}
	}
	if len(wanted) == 0 {
		e.unassigned, e.uuidHolders = nil, nil
		return false
	}
	if e.errands.isUnderWay(report.ComponentVMIDs) {
		return false
	}
	taken, before := takenVMIDs(state, inventory, e.guests), e.uuidHolders
	search := uuidSearch{e.opts.Cluster, inventory, state.Owned, make(map[int]string)}
	e.errands.run(report.ComponentVMIDs, func() func() {
		var found []journal.Assigned
		holders := make(map[string]int)
		var failed error
		next := span.From
		for _, d := range wanted {
			if uuid := d.WantedUUID(); uuid != "" {
				holder, err := search.holder(ctx, uuid, before[d.Label()])
				if err != nil {
					failed = fmt.Errorf("assign a vmid to %s: %w", d.Label(), err)
					break
				}
				if holder != 0 {
					holders[d.Label()] = holder
					continue
				}
			}
			vmid, err := firstFree(ctx, e.opts.Cluster, span, next, taken)
			if err != nil {
				failed = fmt.Errorf("assign a vmid to %s: %w%s", d.Label(), err, recentlyFreed(state, span))
				break
			}
			taken[vmid], next = true, vmid+1
			found = append(found, journal.Assigned{Kind: string(d.Kind), Name: d.Name, VMID: vmid})
		}
		return func() { e.takeVMIDs(ctx, found, holders, failed) }
	})
	return !e.errands.inline
}

// takeVMIDs journals the vmids that were found, before they are used. A vmid that has been taken since, or whose guest no longer needs one, is dropped.
func (e *Engine) takeVMIDs(ctx context.Context, found []journal.Assigned, holders map[string]int, failed error) {
	if ctx.Err() != nil {
		return
	}
	e.uuidHolders = holders
	var records []journal.Body
	taken := takenVMIDs(e.opts.Journal.State(), e.readings.observer.Snapshot().Inventory, e.guests)
	for _, a := range found {
		needed := slices.ContainsFunc(e.guests, func(d guest.Desired) bool { return d.VMID == 0 && string(d.Kind) == a.Kind && d.Name == a.Name })
		if needed && !taken[a.VMID] && e.lease.mayWrite(e.revision.force) {
			records = append(records, a)
		}
	}
	if e.unassigned = failed; len(records) > 0 {
		if err := e.opts.Journal.Append(ctx, records...); err != nil {
			e.unassigned = err
		}
		e.assign()
	}
	if !e.errands.inline {
		e.cycle(ctx)
	}
}

// takenVMIDs returns the vmids that are not free: those of the cluster's guests, of manifests and of the journal.
func takenVMIDs(state journal.State, inventory cluster.Inventory, guests []guest.Desired) map[int]bool {
	taken := make(map[int]bool)
	for _, row := range inventory.Rows {
		taken[row.VMID] = true
	}
	for _, vmid := range state.Assigned {
		taken[vmid] = true
	}
	for vmid := range state.Owned {
		taken[vmid] = true
	}
	for _, g := range guard.Gone(state.Guarded) {
		taken[g.VMID] = true // whoever restores its manifest means this guest
	}
	for vmid := range state.Freed {
		taken[vmid] = true // calls, backups and firewall rules of the guest that had it may still exist
	}
	for i := range guests {
		taken[guests[i].VMID] = true
	}
	return taken
}

// firstFree returns the first free vmid of the range, starting at from, and adds vmids to taken that the cluster reports as taken.
func firstFree(ctx context.Context, reader cluster.Reader, span manifest.Range, from int, taken map[int]bool) (int, error) {
	for vmid := from; vmid <= span.To; vmid++ {
		if taken[vmid] {
			continue
		}
		exists, err := reader.Exists(ctx, vmid)
		if err != nil {
			return 0, err
		}
		if !exists {
			return vmid, nil
		}
		taken[vmid] = true
	}
	return 0, fmt.Errorf("the Cluster's vmid range %d to %d is used up", span.From, span.To)
}

// recentlyFreed names the vmids of the range that are free and not assigned again yet, "" if there are none.
func recentlyFreed(state journal.State, span manifest.Range) string {
	var vmids []string
	for _, vmid := range slices.Sorted(maps.Keys(state.Freed)) {
		if _, owned := state.Owned[vmid]; !owned && vmid >= span.From && vmid <= span.To {
			vmids = append(vmids, strconv.Itoa(vmid))
		}
	}
	if len(vmids) == 0 {
		return ""
	}
	return "; free for less than a day, so not assigned yet: " + strings.Join(vmids, ", ")
}

// uuidSearch looks for the machine that has the SMBIOS uuid of a manifest without a vmid, among the virtual machines that the agent does not own. After a loss
// of the state directory, and of the tags or the name, the uuid alone shows that the machine exists already. Each machine is read once at most.
type uuidSearch struct {
	reader    cluster.Reader
	inventory cluster.Inventory
	owned     map[int]journal.Owned
	uuids     map[int]string // in lower case, by vmid, of the machines that were read
}

// holder returns the vmid of the machine that has the uuid, 0 if there is none. It reads the machine first that had the uuid before, if any.
func (s *uuidSearch) holder(ctx context.Context, uuid string, before int) (int, error) {
	for _, first := range []bool{true, false} {
		for _, row := range s.inventory.Rows {
			if _, ours := s.owned[row.VMID]; ours || row.Kind != guest.VirtualMachine || (row.VMID == before) != first {
				continue
			}
			found, err := s.uuid(ctx, row)
			if err != nil {
				return 0, err
			}
			if found == uuid {
				return row.VMID, nil
			}
		}
	}
	return 0, nil
}

func (s *uuidSearch) uuid(ctx context.Context, row cluster.Row) (string, error) {
	if uuid, known := s.uuids[row.VMID]; known {
		return uuid, nil
	}
	seen, err := observe.ReadGuest(ctx, s.reader, row, s.inventory.Version)
	if err != nil {
		return "", fmt.Errorf("compare the uuid with that of guest %d on %s: %w", row.VMID, row.Node, err)
	}
	s.uuids[row.VMID] = guest.SMBIOSUUID(seen)
	return s.uuids[row.VMID], nil
}

// uuidCondition prevents the creation of a machine whose uuid another one has.
func uuidCondition(vmid int) plan.Condition {
	return plan.Condition{
		Type: plan.Blocked, Reason: reason.NotManaged,
		Message: fmt.Sprintf("the guest may exist already, and is not created a second time: %d has the SMBIOS uuid of the manifest", vmid),
		Hint:    reason.MeantUUID.With(vmid),
	}
}
