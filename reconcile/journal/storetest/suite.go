package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"gitops-agent/reconcile/journal"

	"github.com/google/go-cmp/cmp"
)

// Place is where a journal is. Each test has a place of its own.
type Place interface {
	// Open opens the journal as the process in charge. Options.Dir and the place itself are set by the place.
	Open(t *testing.T, opts journal.Options) *journal.Journal
	// Kill ends that process without a word. What it was writing may be there or not, or in part.
	Kill(t *testing.T)
	// Tear leaves the beginning of another commit behind, as a process does that is killed in the middle of an append. It is called after Kill.
	Tear(t *testing.T)
	// Slow lets each further write take longer.
	Slow(t *testing.T, by time.Duration)
	// Cut lets each further write fail, after it took effect or before; Heal ends that.
	Cut(t *testing.T)
	Heal(t *testing.T)
	// Succeed puts another process in charge while the first one still runs. It returns the error with which the place keeps the other one out, if it does.
	Succeed(t *testing.T) error
	// Read reads the journal.
	Read() journal.Reader
}

// Run tests a place. Each test begins with a new one.
func Run(t *testing.T, newPlace func(t *testing.T) Place) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Place){
		"reopened": reopened, "killed": killed, "torn": torn, "slow": slow, "cut": cut, "succeeded": succeeded, "compacted": compacted, "large": large,
	} {
		t.Run(name, func(t *testing.T) { test(t, newPlace(t)) })
	}
}

// note is a record that can be found again.
func note(i int) journal.Body { return journal.Event{Name: "note", Message: fmt.Sprint(i)} }

// assign is a record of the state.
func assign(i int) journal.Body {
	return journal.Assigned{Kind: "VirtualMachine", Name: fmt.Sprintf("vm-%d", i), VMID: 1000 + i}
}

func appendTo(t *testing.T, j *journal.Journal, bodies ...journal.Body) {
	t.Helper()
	if err := j.Append(context.Background(), bodies...); err != nil {
		t.Fatal(err)
	}
}

// notes returns the notes in the journal, and fails if the journal is not whole.
func notes(t *testing.T, p Place) []string {
	t.Helper()
	var found []string
	_, err := p.Read()(func(r journal.Record) error {
		if e, ok := r.Body.(journal.Event); ok && e.Name == "note" {
			found = append(found, e.Message)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("the journal is not whole: %v", err)
	}
	return found
}

func wantNotes(t *testing.T, p Place, n int) {
	t.Helper()
	var want []string
	for i := range n {
		want = append(want, fmt.Sprint(i))
	}
	if diff := cmp.Diff(want, notes(t, p)); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

func reopened(t *testing.T, p Place) {
	j := p.Open(t, journal.Options{})
	for i := range 20 {
		appendTo(t, j, note(i), assign(i))
	}
	want := j.State()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = p.Open(t, journal.Options{})
	if diff := cmp.Diff(want, j.State()); diff != "" {
		t.Errorf("state (-before +after):\n%s", diff)
	}
	appendTo(t, j, note(20))
	wantNotes(t, p, 21)
	if summary, err := p.Read()(func(journal.Record) error { return nil }); err != nil || summary.Seq != 41 || summary.Lineage != want.Lineage {
		t.Errorf("got %+v and %v, want record 41 of %s", summary, err, want.Lineage)
	}
}

func killed(t *testing.T, p Place) {
	acknowledged := 0
	for range 5 {
		j := p.Open(t, journal.Options{})
		for range 5 {
			appendTo(t, j, note(acknowledged), assign(acknowledged))
			acknowledged++
		}
		p.Kill(t)
	}
	j := p.Open(t, journal.Options{})
	if got := len(j.State().Assigned); got != acknowledged {
		t.Errorf("got %d assigned vmids, want the %d acknowledged ones", got, acknowledged)
	}
	wantNotes(t, p, acknowledged)
}

func torn(t *testing.T, p Place) {
	j := p.Open(t, journal.Options{})
	appendTo(t, j, note(0))
	before := j.State()
	p.Kill(t)
	p.Tear(t)
	j = p.Open(t, journal.Options{})
	if diff := cmp.Diff(before, j.State()); diff != "" {
		t.Errorf("state (-before +after the torn commit):\n%s", diff)
	}
	appendTo(t, j, note(1))
	wantNotes(t, p, 2)
}

func slow(t *testing.T, p Place) {
	var mu sync.Mutex
	commits := 0
	j := p.Open(t, journal.Options{OnSync: func(journal.Sync) {
		mu.Lock()
		defer mu.Unlock()
		commits++
	}})
	p.Slow(t, 20*time.Millisecond)
	const appends = 64
	var callers sync.WaitGroup
	for i := range appends {
		callers.Go(func() {
			if err := j.Append(context.Background(), assign(i)); err != nil {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if got := len(j.State().Assigned); got != appends || commits > appends/4 {
		t.Errorf("got %d records in %d commits, want %d in at most %d", got, commits, appends, appends/4)
	}
}

func cut(t *testing.T, p Place) {
	j := p.Open(t, journal.Options{})
	appendTo(t, j, note(0))
	p.Cut(t)
	if err := j.Append(context.Background(), note(1)); !errors.Is(err, journal.ErrAppend) {
		t.Errorf("got %v, want ErrAppend", err)
	}
	p.Heal(t)
	if err := j.Append(context.Background(), note(2)); err == nil || j.Healthy() == nil {
		t.Errorf("got %v and healthy %v after a failed append, want a journal that takes nothing more", err, j.Healthy())
	}
	if j.State().Seq != 1 {
		t.Errorf("got record %d in the state, want that of the acknowledged one", j.State().Seq)
	}
	p.Kill(t)
	j = p.Open(t, journal.Options{})
	appendTo(t, j, note(3))
	if got := strings.Join(notes(t, p), " "); got != "0 3" && got != "0 1 3" {
		t.Errorf("got the notes %s, want 0, perhaps 1, and 3", got)
	}
}

func succeeded(t *testing.T, p Place) {
	first := p.Open(t, journal.Options{})
	appendTo(t, first, note(0))
	if err := p.Succeed(t); err != nil {
		appendTo(t, first, note(1)) // the other process was kept out
		wantNotes(t, p, 2)
		return
	}
	second := p.Open(t, journal.Options{})
	appendTo(t, second, note(1))
	err := first.Append(context.Background(), note(99))
	if !errors.Is(err, journal.ErrAppend) || journal.FaultOf(first.Healthy()) != journal.FaultNotLeader {
		t.Errorf("got %v and %v, want that the first process takes no records because it does not lead", err, first.Healthy())
	}
	appendTo(t, second, note(2))
	wantNotes(t, p, 3)
}

func compacted(t *testing.T, p Place) {
	const records = 60
	compactions := 0
	opts := journal.Options{
		SegmentSize: 1000, CompactAfter: 2, Retain: journal.Retain{Records: 5},
		OnCompact: func(c journal.Compacted) {
			if compactions++; c.Err != nil {
				t.Error(c.Err)
			}
		},
	}
	j := p.Open(t, opts)
	for i := range records {
		appendTo(t, j, assign(i%10), note(i))
	}
	want := j.State()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	summary, err := p.Read()(func(journal.Record) error { return nil })
	if err != nil || summary.Seq != 2*records || summary.Records >= records || compactions == 0 {
		t.Errorf("got %d of %d records after %d compactions, %v", summary.Records, summary.Seq, compactions, err)
	}
	j = p.Open(t, opts)
	if diff := cmp.Diff(want, j.State()); diff != "" {
		t.Errorf("state (-before +after):\n%s", diff)
	}
	appendTo(t, j, note(records))
}

func large(t *testing.T, p Place) {
	j := p.Open(t, journal.Options{})
	var bodies []journal.Body
	for i := range 60 {
		bodies = append(bodies, journal.Event{Name: "large", Message: strings.Repeat("x", 100_000) + fmt.Sprint(i)})
	}
	appendTo(t, j, note(0))
	appendTo(t, j, bodies...)
	appendTo(t, j, note(1))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = p.Open(t, journal.Options{})
	if got := j.Recovered().Records; got != 62 {
		t.Errorf("got %d records, want 62", got)
	}
	wantNotes(t, p, 2)
}
