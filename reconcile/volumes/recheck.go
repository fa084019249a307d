package volumes

import (
	"context"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
)

// view is all uses that one check knows.
type view struct {
	frame  *frame
	node   string            // of the call
	now    cluster.Inventory // read after the parts
	parts  []*part
	fresh  uses         // of the guests that were read again
	reread map[int]bool // these guests, by vmid; their uses in parts no longer count
}

// readChanged reads the inventory again, and every guest of these nodes that changed since the parts were read: its row, its version in the vmlist
// file, or by a call of this agent.
func (s *Source) readChanged(ctx context.Context, v *view, nodes []string) error {
	oldest := v.frame.started
	versions := s.readVersions()
	var err error
	if v.now, err = s.reader.Inventory(ctx); err != nil {
		return unreadable("the list of guests", err)
	}
	if err := s.checkListed(ctx, v, versions); err != nil {
		return err
	}
	had := make(map[string]bool) // nodes with guests when the parts were read; a node that had none was not looked at
	for _, row := range v.frame.inventory.Rows {
		had[row.Node] = true
	}
	var changed []cluster.Row
	for _, row := range v.now.Rows {
		before, listed := v.frame.inventory.Row(row.VMID)
		if had[row.Node] && !slices.Contains(nodes, row.Node) && !slices.Contains(nodes, before.Node) {
			continue
		}
		if !listed || before != row || versions[row.VMID] != v.frame.versions[row.VMID] || s.wroteSince(row.VMID, oldest) {
			changed = append(changed, row)
		}
	}
	found, err := s.readGuests(ctx, changed)
	if err != nil {
		return err
	}
	for _, g := range found {
		v.reread[g.ref.VMID] = true
		v.fresh.add(v.frame.layout, g)
	}
	return nil
}

// checkListed refuses if the vmlist file has a guest that the later inventory lacks: the token may not see it.
func (s *Source) checkListed(ctx context.Context, v *view, versions map[int]uint64) error {
	for vmid := range versions {
		if _, listed := v.now.Row(vmid); listed {
			continue
		}
		exists, err := s.reader.Exists(ctx, vmid) // it may have been destroyed between the two readings
		switch {
		case err != nil:
			return unreadable("the list of guests", err)
		case exists:
			return hidden(vmid)
		}
	}
	return nil
}

// wroteSince reports whether a call of this agent changed a guest after a time.
func (s *Source) wroteSince(vmid int, since time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, wrote := s.written[vmid]
	return wrote && !at.Before(since)
}
