package adoption

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/observe"
)

// guestReader reads guests in full and shows the progress.
type guestReader struct {
	cluster  cluster.Reader
	progress *term.Progress
	notes    io.Writer
}

// liveGuests are the observations of the guests to adopt.
type liveGuests struct {
	vmids  []int // sorted
	guests map[int]guest.Observed
	absent map[int]cluster.Absence
	fault  map[int]string
}

// read reads the guests with the given vmids, or all guests of the cluster if there are none.
func (r guestReader) read(ctx context.Context, vmids []int) (liveGuests, error) {
	if len(vmids) == 0 {
		inventory, err := r.cluster.Inventory(ctx)
		if err != nil {
			return liveGuests{}, fmt.Errorf("list guests: %w", err)
		}
		for _, row := range inventory.Rows {
			vmids = append(vmids, row.VMID)
		}
	}
	counting := &observe.CountingReader{Reader: r.cluster, Counted: func(n int) {
		r.progress.Show("read %d of %d guests", n, max(len(vmids), n))
	}}
	firewalls := make(map[int]bool, len(vmids))
	for _, vmid := range vmids {
		firewalls[vmid] = true // with aliases and sets
	}
	seen, err := observe.ReadAll(ctx, counting, vmids, nil, firewalls)
	if err != nil {
		return liveGuests{}, fmt.Errorf("read guests: %w", err)
	}
	out := liveGuests{vmids: vmids, guests: seen.Guests, absent: seen.Absent, fault: seen.ReadErrors}
	r.addResources(ctx, out)
	return out, nil
}

// addResources reads the HA entries if one of the guests has one.
func (r guestReader) addResources(ctx context.Context, found liveGuests) {
	managed := slices.ContainsFunc(found.vmids, func(vmid int) bool { return found.guests[vmid].HA })
	if !managed {
		return
	}
	resources, err := r.cluster.HA(ctx)
	if err != nil {
		_, _ = fmt.Fprintf(r.notes, "gitops-agent: note: HA entries are not pinned: %s\n", term.Printable(err.Error()))
		return
	}
	for vmid, o := range found.guests {
		if resource, there := resources[vmid]; there {
			o.Resource = &resource
			found.guests[vmid] = o
		}
	}
}

// guest returns an observation, or an error if the guest was not read.
func (l liveGuests) guest(vmid int) (guest.Observed, error) {
	o, read := l.guests[vmid]
	switch {
	case read:
		return o, nil
	case l.fault[vmid] != "":
		return o, fmt.Errorf("could not be read: %s", l.fault[vmid])
	case l.absent[vmid] == cluster.Hidden:
		return o, term.WithHint(errors.New("exists, but the token may not read it"), "give the token VM.Audit on /vms")
	default:
		return o, errors.New("does not exist")
	}
}
