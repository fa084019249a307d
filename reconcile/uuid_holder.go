package reconcile

import (
	"context"
	"fmt"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

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
		Type: plan.Blocked, Reason: reason.MayExist,
		Message: fmt.Sprintf("the guest may exist already, and is not created a second time: %d has the SMBIOS uuid of the manifest", vmid),
		Hint:    reason.MeantUUID.With(vmid),
	}
}
