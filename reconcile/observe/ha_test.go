package observe

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/internal/fixture"
)

// TestObserverReadsHA checks that the observer asks the HA manager if a manifest uses HA, and that a missing answer never means "no resource".
func TestObserverReadsHA(t *testing.T) {
	entry := guest.HA{State: "started", MaxRestart: 1, MaxRelocate: 1}
	type resource struct {
		HA       bool
		Resource *guest.HA
	}
	tests := map[string]struct {
		hastate string // of the inventory
		listed  bool   // by the HA manager
		fails   bool   // from the second read on
		want    resource
		trouble string
	}{
		"entry":                  {hastate: "started", listed: true, want: resource{true, &entry}},
		"none":                   {want: resource{false, nil}},
		"added_a_moment_ago":     {listed: true, want: resource{true, &entry}},
		"removed_a_moment_ago":   {hastate: "started", want: resource{false, nil}},
		"fails_with_an_entry":    {hastate: "started", listed: true, fails: true, want: resource{true, nil}, trouble: cluster.ErrDenied.Error()},
		"fails_without_an_entry": {fails: true, want: resource{true, nil}, trouble: cluster.ErrDenied.Error()},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			reader := &fixture.FakeReader{Answers: fixture.Answers{Listed: rows(201), Guests: map[int]guest.Observed{201: seenAt(201, time.Now())}, HAResources: map[int]guest.HA{}}}
			reader.Listed.Rows[0].HAState = test.hastate
			if test.listed {
				reader.HAResources[201] = entry
			}
			o := New(reader, time.Second, time.Second)
			for range 2 {
				if err := o.Observe(t.Context(), []int{201}, []int{201}); err != nil {
					t.Fatal(err)
				}
				if test.fails {
					reader.HAErr = cluster.ErrDenied
				}
			}
			seen := o.seen[201]
			if diff := cmp.Diff(test.want, resource{seen.HA, seen.Resource}); diff != "" || o.haTrouble != test.trouble {
				t.Errorf("got trouble %q, want %q; HA differs (-want +got):\n%s", o.haTrouble, test.trouble, diff)
			}
		})
	}
}

// TestLaneReadsHA checks that a lane, which has no earlier readings, leaves HA unknown if it cannot read it.
func TestLaneReadsHA(t *testing.T) {
	seen := guest.Observed{Ref: guest.Ref{VMID: 201}, HA: true}
	named := []guest.Desired{{Ref: guest.Ref{VMID: 201}, HA: &guest.HAWanted{State: "started"}}}
	reader := &fixture.FakeReader{Answers: fixture.Answers{HAErr: cluster.ErrNotReady}}
	if got := WithHAFor(t.Context(), reader, named, seen); !got.HA || got.Resource != nil {
		t.Errorf("got %t, %+v without an answer, want an unknown entry", got.HA, got.Resource)
	}
	if got := WithHAFor(t.Context(), reader, nil, seen); got.HA != seen.HA {
		t.Errorf("got %t for a guest whose manifest has no HA, want the inventory's value", got.HA)
	}
	reader.Answers = fixture.Answers{HAResources: map[int]guest.HA{201: {State: "stopped"}}}
	if got := WithHAFor(t.Context(), reader, named, seen); got.Resource == nil || got.Resource.State != "stopped" {
		t.Errorf("got %+v, want the entry", got.Resource)
	}
}

// TestLaneKnowsHABetterThanAnOlderAnswer lets a lane add a guest to the HA manager while the observer asks it: the answer, from before, does not take the entry away, and
// a newer one does.
func TestLaneKnowsHABetterThanAnOlderAnswer(t *testing.T) {
	t.Parallel()
	asked := time.Now()
	o := New(&fixture.FakeReader{}, time.Second, time.Hour)
	o.underHA, o.vmids = map[int]bool{201: true}, map[int]bool{201: true}
	lane := seenAt(201, asked.Add(time.Second))
	lane.HA, lane.Resource = true, &guest.HA{State: "started"}
	o.Learn(Sighting{VMID: 201, Seen: lane})
	o.keepHA([]int{201}, haResources{}, asked, nil)
	if got := o.seen[201]; !got.HA || got.Resource == nil {
		t.Errorf("got HA %t, %v after an answer from before the lane's, want the entry", got.HA, got.Resource)
	}
	o.keep(Reading{VMID: 201, Seen: seenAt(201, asked.Add(2*time.Second))}, asked.Add(2*time.Second))
	if got := o.seen[201]; !got.HA || got.Resource == nil {
		t.Errorf("got HA %t, %v after a newer reading of the guest alone, want the entry", got.HA, got.Resource)
	}
	o.keepHA([]int{201}, haResources{}, asked.Add(3*time.Second), nil)
	if got := o.seen[201]; got.HA || got.Resource != nil {
		t.Errorf("got HA %t, %v after a newer answer, want none", got.HA, got.Resource)
	}
}

// TestUnreadableMasterIsNotAbsent reads the state of the HA manager, which then cannot be read: that is said at once, and the last known master counts as acting for as long as a
// master may take between two rounds.
func TestUnreadableMasterIsNotAbsent(t *testing.T) {
	t.Parallel()
	now := time.Now()
	at := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
	acts := func(round int) *cluster.HAMaster { return &cluster.HAMaster{Node: "pve1", RoundAt: at(round)} }
	const unread, dead = "it is unknown whether the HA manager acts, since its state cannot be read: access denied", "the HA manager has no active master"
	type answer struct {
		at             int
		master         *cluster.HAMaster
		err            error
		stands, unread string // what is said, "" for nothing
	}
	for name, answers := range map[string][]answer{
		"once": {
			{at: 0, master: acts(0)},
			{at: 5, err: cluster.ErrDenied, unread: unread},
			{at: 10, master: acts(10)},
		},
		"for_long": {
			{at: 0, master: acts(0)},
			{at: 29, err: cluster.ErrDenied, unread: unread},
			{at: 40, err: cluster.ErrDenied, unread: unread, stands: unread},
			{at: 45, master: acts(40)},
		},
		"from_the_start": {
			{at: 0, err: cluster.ErrDenied, unread: unread},
			{at: 40, err: cluster.ErrDenied, unread: unread, stands: unread},
		},
		"the_round_from_before_it_stands": {
			{at: 0, master: acts(0)},
			{at: 20, err: cluster.ErrDenied, unread: unread},
			{at: 40, master: acts(0), stands: dead},
		},
		"no_guest_waits": {
			{at: 0, master: acts(0)},
			{at: 20},
			{at: 40, err: cluster.ErrDenied, unread: unread},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := New(&fixture.FakeReader{}, time.Second, time.Hour)
			for _, a := range answers {
				o.keepMaster(a.master, a.err, at(a.at))
				if got := o.Snapshot(); got.HAUnread != a.unread || !strings.HasPrefix(got.HAStands, a.stands) || (got.HAStands == "") != (a.stands == "") {
					t.Errorf("after %d s: got %q and %q, want %q and %q", a.at, got.HAStands, got.HAUnread, a.stands, a.unread)
				}
			}
		})
	}
}
