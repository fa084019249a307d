package journal

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// foldOf folds bodies with a minute between them, the first at noon.
func foldOf(bodies ...Body) *fold {
	f := newFold()
	for i, b := range bodies {
		f.add(Record{Seq: uint64(i) + 1, Time: noon.Add(time.Duration(i) * time.Minute), Body: b})
	}
	return f
}

func TestFold(t *testing.T) {
	begun := Begun{Step: "s", VMID: 7, Op: OpDestroy}
	owned := Owned{VMID: 7, Identity: "i", Origin: Created}
	guarded := Guarded{VMID: 7, Destroy: "deny"}
	tests := map[string]struct {
		bodies []Body
		want   State
	}{
		"nothing": {nil, State{}},
		"accepted_latest": {
			[]Body{Accepted{Commit: "a"}, Accepted{Commit: "b"}},
			State{Accepted: &Accepted{Commit: "b"}, AcceptedAt: noon.Add(time.Minute)},
		},
		"evidence": {
			[]Body{Accepted{Commit: "a"}, Evidence{Commit: "a", Bundle: "{}"}},
			State{Accepted: &Accepted{Commit: "a"}, AcceptedAt: noon, Evidence: &Evidence{Commit: "a", Bundle: "{}"}},
		},
		"evidence_of_the_revision_before": {
			[]Body{Accepted{Commit: "a"}, Evidence{Commit: "a", Bundle: "{}"}, Accepted{Commit: "b"}},
			State{Accepted: &Accepted{Commit: "b"}, AcceptedAt: noon.Add(2 * time.Minute)},
		},
		"begun": {[]Body{begun}, State{Open: []OpenStep{{Begun: begun, Seq: 1, Time: noon}}}},
		"dispatched": {
			[]Body{begun, Dispatched{Step: "s", UPID: "u1"}, Dispatched{Step: "s", UPID: "u2"}},
			State{Open: []OpenStep{{Begun: begun, Seq: 1, Time: noon, Dispatched: 2, UPID: "u2"}}},
		},
		"answered_at_once": {
			[]Body{begun, Dispatched{Step: "s"}},
			State{Open: []OpenStep{{Begun: begun, Seq: 1, Time: noon, Dispatched: 1}}},
		},
		"waited_latest": {
			[]Body{begun, Waited{Step: "s", Seconds: 60}, Waited{Step: "s", Seconds: 120, Uptime: 9, UptimeAt: 5}, Waited{Step: "other", Seconds: 240}},
			State{Open: []OpenStep{{Begun: begun, Seq: 1, Time: noon, Waited: 2 * time.Minute, Uptime: 9 * time.Second, UptimeAt: 5 * time.Second}}},
		},
		"ended_done":    {[]Body{begun, Ended{Step: "s", Result: Done}}, State{Destroys: []time.Time{noon.Add(time.Minute)}}},
		"ended_unknown": {[]Body{begun, Ended{Step: "s", Result: Unknown}}, State{Destroys: []time.Time{noon.Add(time.Minute)}}},
		"ended_sent": {
			[]Body{begun, Ended{Step: "s", Result: Failed, Sent: true}, begun, Ended{Step: "s", Result: NotRun, Sent: true}},
			State{Destroys: []time.Time{noon.Add(time.Minute), noon.Add(3 * time.Minute)}},
		},
		"ended_failed":    {[]Body{begun, Ended{Step: "s", Result: Failed}}, State{}},
		"ended_not_run":   {[]Body{begun, Ended{Step: "s", Result: NotRun}}, State{}},
		"ended_other_op":  {[]Body{Begun{Step: "s", VMID: 7, Op: "start"}, Ended{Step: "s", Result: Done}}, State{}},
		"ended_forgotten": {[]Body{Ended{Step: "s", Result: Done}, Dispatched{Step: "s"}}, State{}},
		"assigned":        {[]Body{Assigned{"Container", "a", 7}, Assigned{"Container", "a", 8}}, State{Assigned: map[Label]int{{"Container", "a"}: 8}}},
		"assigned_back":   {[]Body{Assigned{"Container", "a", 7}, Assigned{"Container", "a", 0}}, State{}},
		"owned_guarded":   {[]Body{owned, guarded}, State{Owned: map[int]Owned{7: owned}, Guarded: map[int]Guarded{7: guarded}}},
		"applied_latest": {
			[]Body{Applied{VMID: 7, Identity: "i", Fingerprints: map[string]string{"a": "1"}}, Applied{VMID: 7, Identity: "i"}},
			State{Applied: map[int]Applied{7: {VMID: 7, Identity: "i"}}},
		},
		"applied_disowned": {[]Body{owned, Applied{VMID: 7, Identity: "i"}, Disowned{VMID: 7}}, State{Freed: map[int]time.Time{7: noon.Add(2 * time.Minute)}}},
		"futile_latest": {
			[]Body{IneffectiveRestart{VMID: 7, Revision: "a", StepDigest: "d"}, IneffectiveRestart{VMID: 7, Revision: "b", StepDigest: "d"}},
			State{IneffectiveRestarts: map[int]IneffectiveRestart{7: {VMID: 7, Revision: "b", StepDigest: "d"}}},
		},
		"futile_over":     {[]Body{IneffectiveRestart{VMID: 7, Revision: "a", StepDigest: "d"}, IneffectiveRestart{VMID: 7, Revision: "a", StepDigest: "d", Over: true}}, State{}},
		"futile_disowned": {[]Body{owned, IneffectiveRestart{VMID: 7, Revision: "a", StepDigest: "d"}, Disowned{VMID: 7}}, State{Freed: map[int]time.Time{7: noon.Add(2 * time.Minute)}}},
		"attached_latest": {
			[]Body{Attached{VMID: 7, Identity: "i", Volumes: map[string]string{"scsi1": "a"}}, Attached{VMID: 7, Identity: "i"}},
			State{Attached: map[int]Attached{7: {VMID: 7, Identity: "i"}}},
		},
		"attached_disowned": {[]Body{owned, Attached{VMID: 7, Identity: "i"}, Disowned{VMID: 7}}, State{Freed: map[int]time.Time{7: noon.Add(2 * time.Minute)}}},
		"snapshots_latest": {
			[]Body{Snapshots{VMID: 7, Identity: "i", Due: noon, Failed: "no space"}, Snapshots{VMID: 7, Identity: "i", Due: noon}},
			State{Snapshots: map[int]Snapshots{7: {VMID: 7, Identity: "i", Due: noon}}},
		},
		"snapshots_disowned": {[]Body{owned, Snapshots{VMID: 7, Identity: "i"}, Disowned{VMID: 7}}, State{Freed: map[int]time.Time{7: noon.Add(2 * time.Minute)}}},
		"disowned":           {[]Body{owned, guarded, Disowned{VMID: 7}}, State{Freed: map[int]time.Time{7: noon.Add(2 * time.Minute)}}},
		"disowned_another":   {[]Body{owned, Disowned{VMID: 8}}, State{Owned: map[int]Owned{7: owned}, Freed: map[int]time.Time{8: noon.Add(time.Minute)}}},
		"order_latest": {
			[]Body{Ordered{Key: "k", State: OrderSeen}, Ordered{Key: "k", State: OrderRun}},
			State{Orders: map[string]Order{"k": {Ordered{Key: "k", State: OrderRun}, noon.Add(time.Minute)}}},
		},
		"event": {[]Body{Event{Name: "x"}}, State{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.want.Seq = uint64(len(tt.bodies))
			if diff := stateDiff(tt.want, foldOf(tt.bodies...).state()); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFoldForgets(t *testing.T) {
	f := foldOf(
		Begun{Step: "s1", VMID: 1, Op: OpDestroy}, Ended{Step: "s1", Result: Done},
		Begun{Step: "s2", VMID: 2, Op: OpDestroy}, Ended{Step: "s2", Result: Done},
		Disowned{VMID: 1}, Disowned{VMID: 2},
		Ordered{Key: "run", State: OrderRun},
		Ordered{Key: "run_later_proven", State: OrderRun, ProvenTime: noon.Add(time.Hour)},
		Ordered{Key: "seen", State: OrderSeen},
	)
	f.forgetPast(noon.Add(time.Minute + destroyWindow))
	f.forgetOrders(noon.Add(time.Minute+destroyWindow), 24*time.Hour)
	if got := f.state().Destroys; !cmp.Equal(got, []time.Time{noon.Add(3 * time.Minute)}) {
		t.Errorf("got destroys %v, want the second one: the first is 24 hours old", got)
	}
	if f.forgetPast(noon.Add(4*time.Minute + freedWindow)); !cmp.Equal(f.state().Freed, map[int]time.Time{2: noon.Add(5 * time.Minute)}) {
		t.Errorf("got freed %v, want the second one: the first is 24 hours old", f.state().Freed)
	}
	if len(f.orders.entries) != 3 {
		t.Errorf("got %d orders, want 3: none is 24 hours old yet", len(f.orders.entries))
	}
	f.forgetOrders(noon.Add(30*time.Minute+24*time.Hour), 24*time.Hour)
	if _, ok := f.orders.entries["run"]; ok || len(f.orders.entries) != 2 {
		t.Errorf("got %v, want only run removed: one was proven later and one has not ended", f.orders.entries)
	}
}

// The records that compaction keeps fold to the same state, for every history and every start of the kept history.
func TestCompactionKeepsState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		commits := drawHistory(t)
		now := noon.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "now")) * time.Hour)
		whole, total := newFold(), 0
		for _, f := range commits {
			addAll(t, whole, f)
			total += f.count
		}
		const keepOrders = 30 * time.Hour
		whole.forgetPast(now)
		whole.forgetOrders(now, keepOrders)

		p := pruner{
			needed: whole.needed(),
			cutoff: now.Add(-time.Duration(rapid.IntRange(0, 60).Draw(t, "age")) * time.Hour),
			skip:   total - rapid.IntRange(1, 40).Draw(t, "records"),
		}
		kept := newFold()
		for _, f := range commits {
			if err := p.pick(f, func(f frame) error { addAll(t, kept, f); return nil }); err != nil {
				t.Fatal(err)
			}
		}
		kept.forgetPast(now)
		kept.forgetOrders(now, keepOrders)
		kept.seq = whole.seq // the base's header contains it
		if diff := stateDiff(whole.state(), kept.state()); diff != "" {
			t.Fatalf("state (-whole +kept):\n%s", diff)
		}
		if diff := cmp.Diff(whole.admission(), kept.admission(), cmp.AllowUnexported(admission{})); diff != "" {
			t.Fatalf("admission of new records (-whole +kept):\n%s", diff)
		}
	})
}

func addAll(t *rapid.T, to *fold, f frame) {
	records, err := f.records()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		to.add(r)
	}
}

// drawHistory returns commits about a few guests, steps and orders, so that records often undo each other. The clock sometimes steps
// back.
func drawHistory(t *rapid.T) []frame {
	small := rapid.IntRange(1, 4)
	body := rapid.Custom(func(t *rapid.T) Body {
		n := small.Draw(t, "n")
		step, key := fmt.Sprint("s", n), fmt.Sprint("k", n)
		return rapid.SampledFrom([]Body{
			Accepted{Commit: step},
			Evidence{Commit: step, Bundle: key},
			Begun{Step: step, VMID: n, Op: OpDestroy},
			Begun{Step: step, VMID: n, Op: "start"},
			Dispatched{Step: step, UPID: key},
			Waited{Step: step, Seconds: int64(n)},
			Ended{Step: step, Result: Done},
			Ended{Step: step, Result: Failed},
			Ended{Step: step, Result: NotRun, Sent: true},
			Assigned{"Container", key, n},
			Assigned{"Container", key, 0},
			Owned{VMID: n, Identity: key, Origin: Created},
			Disowned{VMID: n},
			Guarded{VMID: n, Destroy: "deny"},
			Guarded{VMID: n, Destroy: "deny", Recreate: "allow"},
			Applied{VMID: n, Identity: key, Fingerprints: map[string]string{"cipassword": step}},
			IneffectiveRestart{VMID: n, Revision: step, StepDigest: key},
			Attached{VMID: n, Identity: key, Volumes: map[string]string{"scsi1": step}},
			Ordered{Key: key, State: OrderSeen},
			Ordered{Key: key, State: OrderRun},
			Event{Name: key},
		}).Draw(t, "body")
	})
	var commits []frame
	seq, hour := uint64(1), 0
	for _, bodies := range rapid.SliceOfN(rapid.SliceOfN(body, 1, 4), 0, 25).Draw(t, "history") {
		hour += rapid.IntRange(-2, 6).Draw(t, "hours")
		f := frame{seq: seq, time: noon.Add(time.Duration(hour) * time.Hour).UnixNano(), count: len(bodies)}
		var elements []element
		for _, b := range bodies {
			e, err := encodeBody(b)
			if err != nil {
				t.Fatal(err)
			}
			elements = append(elements, e)
		}
		f.payload = payloadOf(elements)
		commits = append(commits, f)
		seq = f.last() + 1
	}
	return commits
}

// TestWindowsIgnoreStepsOfTheClock steps the clock of the host by a day while the journal is open: no window ends early.
func TestWindowsIgnoreStepsOfTheClock(t *testing.T) {
	j := openJournal(t, Options{Dir: t.TempDir()})
	real := time.Now()
	for _, step := range []time.Duration{15 * time.Minute, 24 * time.Hour} {
		if got := j.steady(real.Add(step).Round(0)); got.Sub(real.Round(0)) > 10*time.Minute {
			t.Errorf("got %s after a step by %s, want the time that has passed", got.Sub(real.Round(0)), step)
		}
		if got := j.steady(real.Add(-step).Round(0)); !got.Equal(real.Add(-step).Round(0)) {
			t.Errorf("got %s after a step by %s, want the time of the host, by which windows last longer", got, -step)
		}
	}
}
