package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

var now = time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC)

var web = guest.Rollout{Name: "web", Canary: 1, MaxUnavailable: guest.Share{Value: 10, Percent: true}, FailAfter: 10 * time.Minute}

// vm returns a guest of a rollout, with a memory in MiB.
func vm(n int, memory string, r guest.Rollout) guest.Desired {
	return guest.Desired{
		Ref:     guest.Ref{Kind: guest.VirtualMachine, Name: fmt.Sprintf("web-%d", n), VMID: 100 + n},
		Intents: []guest.Intent{{Key: "memory", Verb: guest.Want, Text: memory}}, Rollout: r,
	}
}

// world is a journal and a revision in force.
type world struct {
	state  journal.State
	before map[int]guest.Desired
	former map[int]Former
}

// newWorld returns n guests that have a revision with 1024 MiB.
func newWorld(n int) world {
	w := world{before: map[int]guest.Desired{}, former: map[int]Former{}}
	w.state.Owned, w.state.Staged, w.state.Rollouts = map[int]journal.Owned{}, map[int]journal.Staged{}, map[string]journal.Rollout{}
	w.state.Guarded = map[int]journal.Guarded{}
	for i := 1; i <= n; i++ {
		d := vm(i, "1024", web)
		w.state.Owned[d.VMID] = journal.Owned{VMID: d.VMID}
		w.state.Guarded[d.VMID] = journal.Guarded{VMID: d.VMID, Rules: journal.GuardRules{Rollout: web.Encode()}}
		w.before[d.VMID], w.former[d.VMID] = d, Former{&d, "c1", "t1", nil}
	}
	return w
}

// apply folds records.
func (w *world) apply(records []journal.Body) {
	for _, record := range records {
		switch r := record.(type) {
		case journal.Rollout:
			if w.state.Rollouts[r.Name] = r; r.Revision == "" {
				delete(w.state.Rollouts, r.Name)
			}
		case journal.Staged:
			if w.state.Staged[r.VMID] = r; r.Batch == 0 {
				delete(w.state.Staged, r.VMID)
			}
		}
	}
}

// accept accepts a revision in which every guest has a memory.
func (w *world) accept(commit string, guests ...guest.Desired) []journal.Body {
	records := Begin(Acceptance{Commit: commit, Guests: guests, Before: w.before, Former: w.former, State: w.state, Now: now})
	w.apply(records)
	for _, d := range guests {
		w.before[d.VMID] = d
		if !w.state.Staged[d.VMID].Withheld() {
			w.former[d.VMID] = Former{&d, commit, "t-" + commit, nil}
		}
	}
	return records
}

func all(n int, memory string, r guest.Rollout) []guest.Desired {
	var guests []guest.Desired
	for i := 1; i <= n; i++ {
		guests = append(guests, vm(i, memory, r))
	}
	return guests
}

// batches returns the names of the staged guests, batch by batch.
func (w *world) batches() []string {
	var list []string
	for batch := 1; batch <= w.state.Rollouts["web"].Batches; batch++ {
		var names []string
		for _, s := range w.state.Staged {
			if s.Batch == batch {
				names = append(names, s.Name)
			}
		}
		slices.SortFunc(names, compareNames)
		list = append(list, strings.Join(names, " "))
	}
	return list
}

func TestBegin(t *testing.T) {
	t.Parallel()
	tagged := func(n int) guest.Desired {
		d := vm(n, "1024", web)
		d.Intents = append(d.Intents, guest.Intent{Key: "tags", Verb: guest.Want, Text: "a"})
		return d
	}
	live, named, share := web, web, web
	live.Live, named.CanaryGuests, share.MaxUnavailable = true, "VirtualMachine/web-1?", guest.Share{Value: 30, Percent: true}
	liveTag := tagged(1)
	liveTag.Rollout = live
	tests := map[string]struct {
		guests []guest.Desired
		want   []string // batches
	}{
		"nothing":          {all(10, "1024", web), nil},
		"canary_and_tenth": {all(10, "2048", web), []string{"web-1", "web-2", "web-3", "web-4", "web-5", "web-6", "web-7", "web-8", "web-9", "web-10"}},
		"larger_batches":   {all(10, "2048", share), []string{"web-1", "web-2 web-3 web-4", "web-5 web-6 web-7", "web-8 web-9 web-10"}},
		"named_canary":     {all(10, "2048", named), []string{"web-10", "web-1", "web-2", "web-3", "web-4", "web-5", "web-6", "web-7", "web-8", "web-9"}},
		"one_of_them":      {append(all(9, "1024", web), vm(10, "2048", web)), []string{"web-10"}},
		"new_guest":        {append(all(10, "1024", web), vm(11, "2048", web)), nil},
		"live_change":      {append(all(10, "1024", web)[1:], tagged(1)), nil},
		"live_is_asked":    {[]guest.Desired{liveTag}, []string{"web-1", "web-2", "web-3", "web-4", "web-5", "web-6", "web-7", "web-8", "web-9", "web-10"}}, // nine are removed
		"no_rollout":       {all(10, "2048", guest.Rollout{}), nil},
		"removed":          {all(8, "1024", web), []string{"web-9", "web-10"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(10)
			w.accept("c2", test.guests...)
			if got := w.batches(); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			for _, s := range w.state.Staged {
				if s.Commit != "c1" || s.Tree != "t1" || !s.Withheld() || s.Rollout != "web" {
					t.Errorf("got %+v, want the guest held to the revision c1", s)
				}
			}
		})
	}
}

// step advances the rollout once. Ready says which guests are ready.
func (w *world) step(r guest.Rollout, troubled time.Duration, at time.Time, ready func(n int) bool) Decision {
	in := Input{Settings: r, Progress: w.state.Rollouts["web"], Staged: w.state.Staged, Troubled: troubled, Now: at}
	for vmid := range w.state.Owned {
		g := Guest{VMID: vmid, Label: fmt.Sprintf("VirtualMachine/web-%d", vmid-100), Node: fmt.Sprintf("pve%d", vmid%2+1), Ready: ready(vmid - 100)}
		g.Trouble, g.Why = !g.Ready, "is down"
		in.Guests = append(in.Guests, g)
	}
	slices.SortFunc(in.Guests, func(a, b Guest) int { return a.VMID - b.VMID })
	d := Advance(in)
	w.apply(d.Records(in.Progress, w.state))
	for _, g := range d.Release {
		now := w.before[g.VMID]
		w.former[g.VMID] = Former{&now, "c2", "t2", nil}
	}
	return d
}

// released returns how many guests have the newest revision.
func (w *world) released() int {
	n := 0
	for vmid := range w.state.Owned {
		if !w.state.Staged[vmid].Withheld() {
			n++
		}
	}
	return n
}

func everything(int) bool { return true }

// TestAdvance follows a rollout whose third batch fails, and that one order continues.
func TestAdvance(t *testing.T) {
	t.Parallel()
	w := newWorld(200)
	w.accept("c2", all(200, "2048", web)...)
	if got := w.state.Rollouts["web"]; got.Batches != 11 || got.Guests != 200 || got.Revision != "c2" {
		t.Fatalf("got %+v, want 11 batches of 200 guests", got)
	}
	var sizes []int
	for w.state.Rollouts["web"].Batch < 3 {
		if d := w.step(web, 0, now, everything); len(d.Release) > 0 {
			sizes = append(sizes, len(d.Release))
		}
	}
	broken := func(n int) bool { return n != 25 }
	w.step(web, 0, now, everything) // releases the third batch
	if d := w.step(web, time.Minute, now, broken); d.Next.State != journal.RolloutRunning || !d.Trouble || d.Why != "VirtualMachine/web-25: is down" {
		t.Errorf("got %+v, want a batch in trouble", d)
	}
	w.step(web, web.FailAfter, now, broken)
	failed := w.state.Rollouts["web"]
	if failed.State != journal.RolloutFailed || failed.Batch != 3 || !slices.Equal(failed.Failed, []int{125}) || w.released() != 41 || !slices.Equal(sizes, []int{1, 20}) {
		t.Fatalf("got %+v with %d released guests after batches %v, want it failed with 41", failed, w.released(), sizes)
	}
	if d := w.step(web, 0, now, everything); len(d.Release) > 0 || d.Next.State != journal.RolloutFailed {
		t.Errorf("got %+v, want a failed rollout held although its guests are ready", d)
	}
	w.apply(Progressed(Apply(OpPromote, "k1", failed, w.state.Staged, now), w.state))
	for i := 0; i < 50 && w.state.Rollouts["web"].State != journal.RolloutDone; i++ {
		if d := w.step(web, 0, now, everything); len(d.Release) > 20 {
			t.Errorf("got %d guests released at once", len(d.Release))
		}
	}
	if got := w.state.Rollouts["web"]; got.State != journal.RolloutDone || len(w.state.Staged) > 0 {
		t.Errorf("got %+v with %d staged guests, want it done", got, len(w.state.Staged))
	}
}

// TestUnavailableGuestsCount: guests that are down for another reason use up what may be unavailable. One of the batch that is down is changed anyway.
func TestUnavailableGuestsCount(t *testing.T) {
	t.Parallel()
	r := web
	r.Canary, r.MaxUnavailable = 4, guest.Share{Value: 3}
	w := newWorld(20)
	w.accept("c2", all(20, "2048", r)...)
	d := w.step(r, 0, now, func(n int) bool { return n != 2 && n != 11 && n != 12 })
	if names := released(d); names != "web-2" || !strings.Contains(d.Waits[101], "3 of its 20 guests are not available, and 3 may be") {
		t.Errorf("got %s released, %q, want the guest that is down", names, d.Waits[101])
	}
	in := Input{Settings: r, Progress: w.state.Rollouts["web"], Staged: w.state.Staged, Now: now, Guests: []Guest{{VMID: 101, Label: "VirtualMachine/web-1", Unknown: true, Why: "not read"}}}
	if d := Advance(in); len(d.Release) > 0 || !strings.Contains(d.Waits[101], "not read") {
		t.Errorf("got %+v, want nothing released of which nothing is known", d)
	}
	if names := released(w.step(r, 0, now, func(n int) bool { return n != 2 })); names != "web-1 web-3" {
		t.Errorf("got %s released, want as many as may be unavailable", names)
	}
	perNode := r
	perNode.MaxPerNode = guest.Share{Value: 1}
	w = newWorld(20)
	w.accept("c2", all(20, "2048", perNode)...)
	if names := released(w.step(perNode, 0, now, everything)); names != "web-1 web-2" {
		t.Errorf("got %s released, want one on each node", names)
	}
}

func released(d Decision) string {
	var names []string
	for _, g := range d.Release {
		names = append(names, strings.TrimPrefix(g.Label, "VirtualMachine/"))
	}
	return strings.Join(names, " ")
}

func TestPause(t *testing.T) {
	t.Parallel()
	timed, approval := web, web
	timed.Pause, approval.Approval = 10*time.Minute, true
	for name, r := range map[string]guest.Rollout{"timed": timed, "approval": approval} {
		w := newWorld(10)
		w.accept("c2", all(10, "2048", r)...)
		w.step(r, 0, now, everything)
		w.step(r, 0, now, everything)
		if got := w.state.Rollouts["web"]; got.State != journal.RolloutPaused || got.Batch != 1 {
			t.Fatalf("%s: got %+v, want it paused", name, got)
		}
		w.step(r, 0, now.Add(10*time.Minute), func(n int) bool { return n != 1 })
		if got := w.state.Rollouts["web"]; got.State != journal.RolloutPaused {
			t.Errorf("%s: got %+v while a guest of the batch is not ready, want it paused", name, got)
		}
		w.step(r, 0, now.Add(10*time.Minute), everything)
		if got := w.state.Rollouts["web"]; (got.Batch == 2) != (name == "timed") {
			t.Errorf("%s: got %+v after ten minutes", name, got)
		}
	}
}

// TestAnotherRevision: a revision that changes the guests begins again, guests that are not ready come first, and a revision that changes others does not.
func TestAnotherRevision(t *testing.T) {
	t.Parallel()
	w := newWorld(10)
	w.accept("c2", all(10, "2048", web)...)
	for range 3 {
		w.step(web, 0, now, everything) // web-1 and web-2 are released
	}
	if records := w.accept("c3", all(10, "2048", web)...); len(records) > 0 || w.released() != 2 {
		t.Fatalf("got %v with %d released, want a revision that changes nothing to continue the rollout", records, w.released())
	}
	w.step(web, web.FailAfter, now, func(n int) bool { return n != 2 })
	w.accept("c4", all(10, "4096", web)...)
	if got, want := w.batches()[0], "web-2"; got != want || w.state.Rollouts["web"].Revision != "c4" || w.released() != 0 {
		t.Errorf("got the canary %s, want %s: %+v", got, want, w.state.Rollouts["web"])
	}
	if s := w.state.Staged[101]; s.Commit != "c3" || w.state.Staged[105].Commit != "c1" {
		t.Errorf("got %+v, want each guest held to what was released for it", s)
	}
	w.accept("c5", all(10, "1024", web)...) // what most of them have
	if got := w.batches(); !slices.Equal(got, []string{"web-1", "web-2"}) || w.state.Rollouts["web"].State != journal.RolloutRunning {
		t.Errorf("got %q, want a revert to begin at the canary with the guests that were changed", got)
	}
}

// TestRevertBeforeTheCanary: nothing is left to do.
func TestRevertBeforeTheCanary(t *testing.T) {
	t.Parallel()
	w := newWorld(10)
	w.accept("c2", all(10, "2048", web)...)
	w.accept("c3", all(10, "1024", web)...)
	if len(w.state.Rollouts) > 0 || len(w.state.Staged) > 0 {
		t.Errorf("got %v, %v, want no rollout", w.state.Rollouts, w.state.Staged)
	}
}

func TestLost(t *testing.T) {
	t.Parallel()
	w := newWorld(10)
	w.apply(Begin(Acceptance{Commit: "c2", Guests: all(10, "1024", web), State: w.state, Lost: true, Now: now}))
	got := w.state.Rollouts["web"]
	if got.State != journal.RolloutHeld || got.Guests != 10 || w.released() != 0 || w.state.Staged[101].Commit != "" {
		t.Errorf("got %+v, want all guests held", got)
	}
	if next := Apply(OpPromote, "k", got, w.state.Staged, now); next.State != journal.RolloutRunning || next.Batch != 1 {
		t.Errorf("got %+v, want an order to begin at the canary", next)
	}
	w = newWorld(10)
	w.apply(Lost("c2", all(10, "1024", web), map[int]bool{103: true}, w.state, now))
	w.apply(Lost("c2", all(10, "1024", web), map[int]bool{101: true}, w.state, now))
	if got := w.batches(); !slices.Equal(got, []string{"web-1", "web-3"}) || w.state.Rollouts["web"].State != journal.RolloutHeld {
		t.Errorf("got %q, want the claimed guests held", got)
	}
}

func TestRefuse(t *testing.T) {
	t.Parallel()
	rollouts := map[string]journal.Rollout{}
	for _, s := range journal.RolloutStates() {
		rollouts[string(s)] = journal.Rollout{Name: string(s), Revision: "c2", State: s, Batch: 1, Batches: 2}
	}
	tests := map[string]struct{ op, name, revision, want string }{
		"unknown":    {OpPromote, "db", "c2", "there is no Rollout/db"},
		"superseded": {OpPromote, "failed", "c1", "has the revision c2, and the order names c1"},
		"failed":     {OpPromote, "failed", "c2", ""},
		"paused":     {OpPromote, "paused", "c2", ""},
		"held":       {OpPromote, "held", "c2", ""},
		"running":    {OpPromote, "running", "c2", "waits for no order"},
		"aborted":    {OpPromote, "aborted", "c2", "was aborted"},
		"done":       {OpAbort, "done", "c2", "is done"},
		"abort":      {OpAbort, "running", "c2", ""},
	}
	for name, test := range tests {
		if got := Refuse(Order{test.op, test.name, test.revision}, rollouts); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
	if got := Apply(OpAbort, "k", rollouts["running"], nil, now); got.State != journal.RolloutAborted || got.Order != "k" {
		t.Errorf("got %+v, want it aborted", got)
	}
}

// TestGuests: the guests of a rollout are also those whose manifests were removed, and no guest of another rollout.
func TestGuests(t *testing.T) {
	t.Parallel()
	staged := map[int]journal.Staged{
		103: {VMID: 103, Kind: "VirtualMachine", Name: "web-3", Rollout: "web", Batch: 1, Removed: true},
		101: {VMID: 101, Kind: "Container", Name: "web-1", Rollout: "web", Batch: 2},
		102: {VMID: 102, Kind: "VirtualMachine", Name: "db-1", Rollout: "db", Batch: 1},
	}
	want := []guest.Ref{{Kind: guest.Container, Name: "web-1", VMID: 101}, {Kind: guest.VirtualMachine, Name: "web-3", VMID: 103}}
	if diff := cmp.Diff(want, Guests("web", staged)); diff != "" {
		t.Errorf("guests (-want +got):\n%s", diff)
	}
	if got := Guests("mail", staged); len(got) > 0 {
		t.Errorf("got %v of a rollout without guests, want none", got)
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]int{1, 2, 1}, Sizes(guest.Rollout{Canary: 1, MaxUnavailable: guest.Share{Value: 2}}, []string{"a/1", "a/2", "a/3", "a/4"}, 4)); diff != "" {
		t.Errorf("sizes (-want +got):\n%s", diff)
	}
}

// TestLeft: guests whose manifests ask for no rollout any more, as approved, get the revision in force.
func TestLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(10)
	w.accept("c2", all(10, "2048", web)...)
	names := map[int]string{}
	for vmid := range w.state.Owned {
		names[vmid] = "web"
	}
	if records := Left(names, w.state); len(records) > 0 {
		t.Errorf("got %v, want nothing to end", records)
	}
	names[101] = ""
	w.apply(Left(names, w.state))
	if w.released() != 1 || len(w.state.Rollouts) != 1 {
		t.Errorf("got %d released, want the guest without a rollout", w.released())
	}
	for vmid := range names {
		names[vmid] = ""
	}
	w.apply(Left(names, w.state))
	if len(w.state.Staged)+len(w.state.Rollouts) > 0 {
		t.Errorf("got %v, want no rollout left", w.state.Rollouts)
	}
}
