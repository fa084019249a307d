package observe

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/internal/fixture"
)

// listCounter counts the lists of guests.
type listCounter struct {
	*fixture.FakeReader
	lists int
}

func (c *listCounter) Inventory(ctx context.Context) (cluster.Inventory, error) {
	c.lists++
	return c.FakeReader.Inventory(ctx)
}

// TestEarlyReadsOnlyWhatIsMissing compares an early reading with one that begins when all guests are known, and counts its readings. A second
// round reads the guest with the oldest reading again, as every round does.
func TestEarlyReadsOnlyWhatIsMissing(t *testing.T) {
	for name, test := range map[string]struct {
		marked, wanted, underHA []int
		lists                   int
		asked                   []string
	}{
		"the same guests":    {marked: []int{202, 201}, wanted: []int{201, 202}, lists: 1, asked: []string{"observe 201", "observe 202"}},
		"no guest yet":       {wanted: []int{201, 202}, lists: 2, asked: []string{"observe 201", "observe 202"}},
		"guests under HA":    {marked: []int{201}, wanted: []int{201}, underHA: []int{201}, lists: 2, asked: []string{"observe 201", "observe 201"}},
		"a hidden vmid":      {marked: []int{201}, wanted: []int{201, 209}, lists: 2, asked: []string{"exists 209", "observe 201", "observe 201"}},
		"one guest less":     {marked: []int{201, 202}, wanted: []int{201}, lists: 2, asked: []string{"observe 201", "observe 201", "observe 202"}},
		"a guest wanted too": {marked: []int{201}, wanted: []int{202, 201}, lists: 2, asked: []string{"observe 201", "observe 201", "observe 202"}},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			answers := fixture.Answers{Listed: tagged(rows(201, 202), test.marked...), Guests: map[int]guest.Observed{201: seenAt(201, now), 202: seenAt(202, now)}}
			reader := &listCounter{FakeReader: &fixture.FakeReader{Answers: answers}}
			early := ReadEarly(t.Context(), reader)
			defer early.Stop()
			got, err := early.All(t.Context(), test.wanted, test.underHA, nil)
			if err != nil {
				t.Fatal(err)
			}
			want, err := ReadAll(t.Context(), &fixture.FakeReader{Answers: answers}, test.wanted, test.underHA, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("reading differs (-want +got):\n%s", diff)
			}
			slices.Sort(reader.Asked)
			if reader.lists != test.lists || !slices.Equal(reader.Asked, test.asked) {
				t.Errorf("got %d lists and %q, want %d and %q", reader.lists, reader.Asked, test.lists, test.asked)
			}
		})
	}
}

// TestEarlyReadsForgottenGuestsAgain asks for the guests of the first round after a round that did not need one of them.
func TestEarlyReadsForgottenGuestsAgain(t *testing.T) {
	now := time.Now()
	early := ReadEarly(t.Context(), &fixture.FakeReader{Answers: fixture.Answers{
		Listed: tagged(rows(201, 202), 201, 202), Guests: map[int]guest.Observed{201: seenAt(201, now), 202: seenAt(202, now)},
	}})
	defer early.Stop()
	for _, vmids := range [][]int{{201}, {201, 202}} {
		got, err := early.All(t.Context(), vmids, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if seen := slices.Sorted(maps.Keys(got.Guests)); !slices.Equal(seen, vmids) {
			t.Errorf("got guests %d, want %d", seen, vmids)
		}
	}
}

// TestEarlyReportsTheError checks that a cluster that does not answer costs its time-out once.
func TestEarlyReportsTheError(t *testing.T) {
	reader := &listCounter{FakeReader: &fixture.FakeReader{Answers: fixture.Answers{InventoryErr: cluster.ErrNotReady}}}
	early := ReadEarly(t.Context(), reader)
	defer early.Stop()
	if _, err := early.All(t.Context(), []int{201, 202}, nil, nil); !errors.Is(err, cluster.ErrNotReady) || reader.lists != 1 {
		t.Errorf("got %v after %d lists, want ErrNotReady after one", err, reader.lists)
	}
}

// hangingReader answers no reading of a guest before its context ends.
type hangingReader struct{ *fixture.FakeReader }

func (h hangingReader) Observe(ctx context.Context, _ cluster.Row) (guest.Observed, error) {
	<-ctx.Done()
	return guest.Observed{}, ctx.Err()
}

// TestEarlyStops ends a reading whose results are not needed, because the manifests have errors. No goroutine is left.
func TestEarlyStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		early := ReadEarly(t.Context(), hangingReader{&fixture.FakeReader{Answers: fixture.Answers{Listed: tagged(rows(201, 202), 201, 202)}}})
		synctest.Wait()
		early.Stop()
	})
}

// tagged gives guests of a list an agent's marker.
func tagged(list cluster.Inventory, vmids ...int) cluster.Inventory {
	for i := range list.Rows {
		if slices.Contains(vmids, list.Rows[i].VMID) {
			list.Rows[i].Tags = "web;gitops-0a1b2c3d"
		}
	}
	return list
}
