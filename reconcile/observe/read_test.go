package observe

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/internal/fixture"
)

// movingGuests is a fakeReader whose guests are on nodes of their own, whatever its inventory contains.
type movingGuests struct {
	*fixture.FakeReader
	nodes map[int]string
	next  []cluster.Inventory // after the first one
}

func (h *movingGuests) Inventory(ctx context.Context) (cluster.Inventory, error) {
	h.Note("inventory")
	inventory, err := h.FakeReader.Inventory(ctx)
	if len(h.next) > 0 {
		h.Listed, h.next = h.next[0], h.next[1:]
	}
	return inventory, err
}

func (h *movingGuests) Observe(ctx context.Context, row cluster.Row) (guest.Observed, error) {
	if h.nodes[row.VMID] != row.Node {
		h.Note("miss %d on %s", row.VMID, row.Node)
		return guest.Observed{}, fmt.Errorf("read %d: %w", row.VMID, cluster.ErrNotExist)
	}
	seen, err := h.FakeReader.Observe(ctx, row)
	seen.Node = row.Node
	return seen, err
}

// moved returns an inventory with one guest on another node.
func moved(i cluster.Inventory, vmid int, node string) cluster.Inventory {
	i.Rows = slices.Clone(i.Rows)
	for at := range i.Rows {
		if i.Rows[at].VMID == vmid {
			i.Rows[at].Node = node
		}
	}
	return i
}

// TestObserverFollowsAGuest checks that a guest that moves between inventory and read is read again at its new node before the observer reports
// anything about it.
func TestObserverFollowsAGuest(t *testing.T) {
	before := rows(201, 202)
	tests := map[string]struct {
		node    string              // where the guest is
		next    []cluster.Inventory // after the first one, which has it on pve1
		want    cluster.Absence
		asked   []string
		present bool
	}{
		"moved": {
			node: "pve2", next: []cluster.Inventory{moved(before, 202, "pve2")}, present: true,
			asked: []string{"inventory", "miss 202 on pve1", "exists 202", "inventory", "observe 202"},
		},
		"on_its_way": {
			node: "pve2", want: cluster.Unknown,
			asked: []string{"inventory", "miss 202 on pve1", "exists 202", "inventory"},
		},
		"moved_twice": {
			node: "pve3", next: []cluster.Inventory{moved(before, 202, "pve2")}, want: cluster.Unknown,
			asked: []string{"inventory", "miss 202 on pve1", "exists 202", "inventory", "miss 202 on pve2", "exists 202"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			reader := &movingGuests{
				FakeReader: &fixture.FakeReader{Answers: fixture.Answers{Listed: before, Guests: map[int]guest.Observed{202: seenAt(202, time.Now())}, Taken: map[int]bool{202: true}}},
				nodes:      map[int]string{202: test.node}, next: test.next,
			}
			got, err := ReadAll(t.Context(), reader, []int{202}, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.asked, reader.Asked); diff != "" {
				t.Errorf("calls differ (-want +got):\n%s", diff)
			}
			seen, present := got.Guests[202]
			if got.Absent[202] != test.want || present != test.present || present && seen.Node != test.node {
				t.Errorf("got %+v, absent %q, trouble %q, want %q", seen, got.Absent[202], got.ReadErrors[202], test.want)
			}
		})
	}
}

// TestObserverReadsAGuestThatTheListOmits checks that the observer reads a guest that the list omits at its last node, and keeps it if it answers.
func TestObserverReadsAGuestThatTheListOmits(t *testing.T) {
	tests := map[string]struct {
		node string // where the guest is, having been on pve1
		err  error  // of reading it
		free bool   // the cluster's answer for the vmid
		want cluster.Absence
	}{
		"answers":       {node: "pve1"},
		"not_to_be_had": {node: "pve1", err: cluster.ErrNotReady, want: cluster.Unknown},
		"not_ours":      {node: "pve1", err: cluster.ErrDenied, want: cluster.Hidden},
		"elsewhere":     {node: "pve2", want: cluster.Hidden},
		"destroyed":     {free: true, want: cluster.Gone},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			reader := &movingGuests{
				FakeReader: &fixture.FakeReader{Answers: fixture.Answers{
					Listed: rows(201, 202), Guests: map[int]guest.Observed{202: seenAt(202, time.Now())}, RunState: guest.StatusRunning,
				}},
				nodes: map[int]string{202: "pve1"}, next: []cluster.Inventory{rows(201)},
			}
			o := New(reader, time.Second, time.Hour)
			for range 2 {
				if err := o.Observe(t.Context(), []int{202}, nil); err != nil {
					t.Fatal(err)
				}
				reader.nodes[202], reader.ObserveErr, reader.Taken = test.node, map[int]error{202: test.err}, map[int]bool{202: !test.free}
			}
			_, seen := o.seen[202]
			if stays := test.want == "" || test.want == cluster.Unknown; o.absent[202] != test.want || seen != stays {
				t.Errorf("got absent %q, trouble %q, last reading kept %t, want %q", o.absent[202], o.trouble[202], seen, test.want)
			}
			if row, listed := o.inventory.Row(202); test.want == "" && (!listed || row.Node != "pve1") {
				t.Errorf("got row %+v, listed %t, want lanes to find the guest where it answered", row, listed)
			}
		})
	}
}
