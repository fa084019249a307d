package volumes

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Request asks whether a call may act on volumes.
type Request struct {
	Guest   guest.Ref
	Op      cluster.Op
	Node    string // of the call
	Touches []cluster.Touch
	Owned   func(vmid int) bool // whether the agent owns a guest
	Since   time.Time           // readings that began earlier do not count; zero for those of the Window
}

// Check returns nil if no other guest uses the touched volumes, and otherwise an InUseError or an UnknownError. The volumes are then reserved for
// the guest until Written. Nothing is read if no volume is touched.
func (s *Source) Check(ctx context.Context, r Request) error {
	if len(r.Touches) == 0 {
		return nil
	}
	f, err := s.sharedFrame(ctx, r.Since)
	if err != nil {
		return err
	}
	if r.Touches = f.withoutShared(r.Touches); len(r.Touches) == 0 {
		return nil
	}
	if err := s.reserve(r.Guest, f.layout, r.Touches); err != nil {
		return err
	}
	if err := s.check(ctx, f, r); err != nil {
		s.release(r.Guest.VMID)
		return err
	}
	return nil
}

// withoutShared leaves out the migration of volumes that every node has anyway.
func (f *frame) withoutShared(touches []cluster.Touch) []cluster.Touch {
	local := slices.DeleteFunc(slices.Clone(touches), func(t cluster.Touch) bool {
		return t.Effect == cluster.Migrates && t.Volume != "" && f.layout.isShared(guest.VolumeStorage(t.Volume))
	})
	if !slices.ContainsFunc(local, func(t cluster.Touch) bool { return t.Volume != "" || t.Effect != cluster.Migrates }) {
		return nil
	}
	return local
}

func (s *Source) check(ctx context.Context, f *frame, r Request) error {
	nodes := f.relevantNodes(r.Node, r.Touches)
	if node := f.offlineNode(nodes); node != "" {
		return &UnknownError{
			Cause: NodeOffline, What: "node " + node + " can access the volumes, has guests and is offline",
			Fix: "start the node; if it does not need the storage, remove it from the storage's list of nodes",
		}
	}
	view := view{frame: f, node: r.Node, fresh: newUses(), reread: make(map[int]bool)}
	for _, node := range nodes {
		p, err := s.sharedPart(ctx, f, node)
		if err != nil {
			return err
		}
		view.parts = append(view.parts, p)
	}
	if err := s.readChanged(ctx, &view, nodes); err != nil {
		return err
	}
	if err := s.checkAuditAgain(ctx, r); err != nil {
		return err
	}
	if err := s.checkOwners(ctx, &view, r); err != nil {
		return err
	}
	r.Touches = append(slices.Clone(r.Touches), s.savedStates(r)...)
	stored, err := s.readStored(ctx, f, r)
	if err != nil {
		return err
	}
	return verdict(view, stored, r)
}

// savedStates returns the saved memory of the guest's snapshots, which Proxmox deletes with the guest.
//
// Source: PVE::QemuServer destroy_vm.
func (s *Source) savedStates(r Request) []cluster.Touch {
	if r.Op != cluster.OpDestroy {
		return nil
	}
	var list []cluster.Touch
	for _, reference := range s.knownReferences(r.Guest.VMID).references {
		if owner, ok := guest.VolumeOwner(reference.Volume); ok && owner == r.Guest.VMID && reference.Key == "vmstate" && reference.Part == guest.InSnapshot {
			list = append(list, cluster.Touch{Volume: reference.Volume, Effect: cluster.Deletes})
		}
	}
	return list
}

// checkOwners refuses a call on a volume whose name has a vmid that the inventory does not list and that is taken: that guest is hidden from the token.
func (s *Source) checkOwners(ctx context.Context, v *view, r Request) error {
	for _, t := range r.Touches {
		owner, ok := guest.VolumeOwner(t.Volume)
		if _, listed := v.now.Row(owner); !ok || guest.BelongsToNoGuest(t.Volume) || listed || owner == r.Guest.VMID {
			continue
		}
		exists, err := s.reader.Exists(ctx, owner)
		switch {
		case err != nil:
			return unreadable(fmt.Sprintf("whether vmid %d is taken", owner), err)
		case exists:
			return hidden(owner)
		}
	}
	return nil
}

func hidden(vmid int) error {
	return &UnknownError{
		Cause: GuestHidden, What: fmt.Sprintf("guest %d exists, and the token may not see it", vmid),
		Fix: fmt.Sprintf("grant the token VM.Audit on /vms/%d", vmid),
	}
}
