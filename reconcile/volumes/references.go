package volumes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/observe"
)

// readsPerNode is how many guests of a node are read at the same time.
const readsPerNode = 6

// maxTries is how often a guest is read whose configuration changes between the reading of its values and of its snapshots.
const maxTries = 3

// part is the uses of volumes by the guests of one node.
type part struct{ uses uses }

// knownReferences are the references of a guest's configuration with a digest.
type knownReferences struct {
	digest     string
	references []guest.Reference
}

// readPart reads every guest of a node.
func (s *Source) readPart(ctx context.Context, f *frame, node string) (*part, error) {
	p := &part{newUses()}
	var rows []cluster.Row
	for _, row := range f.inventory.Rows {
		if row.Node == node {
			rows = append(rows, row)
		}
	}
	found, err := s.readGuests(ctx, rows)
	for _, g := range found {
		p.uses.add(f.layout, g)
	}
	return p, err
}

// guestReferences are the references of one guest.
type guestReferences struct {
	ref        guest.Ref
	node       string
	creating   bool // a call is creating the guest, or left it partly created
	references []guest.Reference
}

// readGuests reads guests with a bounded number of requests in flight, and stops at the first error.
func (s *Source) readGuests(ctx context.Context, rows []cluster.Row) ([]guestReferences, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	found := make([]guestReferences, len(rows))
	var next atomic.Int64
	var readers sync.WaitGroup
	for range min(len(rows), readsPerNode) {
		readers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(rows) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				g, err := s.readGuest(ctx, rows[i])
				if err != nil {
					cancel(err)
					return
				}
				found[i] = g
			}
		})
	}
	readers.Wait()
	return found, context.Cause(ctx)
}

// readGuest reads the references of the guest of a row. A guest that is gone has none; a guest that moved is read where it is now.
func (s *Source) readGuest(ctx context.Context, row cluster.Row) (guestReferences, error) {
	g, err := s.readAt(ctx, row)
	if errors.Is(err, cluster.ErrNotExist) {
		var exists bool
		if exists, err = s.reader.Exists(ctx, row.VMID); err == nil && !exists {
			return guestReferences{ref: guest.Ref{Kind: row.Kind, Name: row.Name, VMID: row.VMID}, node: row.Node}, nil
		}
		var now cluster.Inventory
		if err == nil {
			now, err = s.reader.Inventory(ctx)
		}
		if moved, listed := now.Row(row.VMID); err == nil && listed {
			g, err = s.readAt(ctx, moved)
		} else if err == nil {
			err = observe.ErrMoved
		}
	}
	if err != nil {
		return g, &UnknownError{
			Cause: GuestUnread, What: fmt.Sprintf("guest %d on %s could not be read", row.VMID, row.Node),
			Fix: "make the guest readable for the agent's token; the agent tries again by itself", Err: err,
		}
	}
	return g, nil
}

// readAt reads the references of a guest at the place of its row. It reads the snapshots only if the digest of the configuration is new.
func (s *Source) readAt(ctx context.Context, row cluster.Row) (guestReferences, error) {
	row.Status = guest.StatusStopped // the run state does not matter, and is not read
	for try := 1; ; try++ {
		seen, err := observe.ReadGuest(ctx, s.reader, row, guest.Version{})
		if err != nil {
			return guestReferences{}, err
		}
		g := guestReferences{ref: seen.Ref, node: row.Node, creating: cluster.PartlyCreated(seen)}
		if known := s.knownReferences(row.VMID); known.digest == seen.Digest {
			g.references = known.references
			return g, nil
		}
		snapshots, err := s.reader.Snapshots(ctx, row)
		switch {
		case err == nil && snapshots.Digest == seen.Digest:
			g.references = guest.References(seen)
			for _, section := range snapshots.Sections {
				g.references = append(g.references, guest.SnapshotReferences(seen.Kind, section.Name, section.Keys)...)
			}
			s.keep(row.VMID, knownReferences{seen.Digest, g.references})
			return g, nil
		case err != nil && !errors.Is(err, cluster.ErrConflict):
			return g, err
		case try == maxTries:
			return g, fmt.Errorf("its configuration changes again and again: %w", cluster.ErrConflict)
		}
	}
}

func (s *Source) knownReferences(vmid int) knownReferences {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[vmid]
}

func (s *Source) keep(vmid int, known knownReferences) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[vmid] = known
}
