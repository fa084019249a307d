package journal_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/journal/storetest"

	"github.com/google/go-cmp/cmp"
)

func TestFilesAsStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Place { return journal.NewFilesPlace() })
}

func TestServiceAsStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Place { return newMemoryPlace(t) })
}

// memoryPlace is a journal in a service in memory.
type memoryPlace struct {
	service *storetest.Memory
	dir     string // of the host in charge
	process *storetest.Process
	journal *journal.Journal
}

func newMemoryPlace(t *testing.T) *memoryPlace {
	return &memoryPlace{service: &storetest.Memory{}, dir: t.TempDir()}
}

func (p *memoryPlace) Open(t *testing.T, opts journal.Options) *journal.Journal {
	t.Helper()
	if p.process == nil {
		p.process = p.service.Lead()
	}
	opts.Dir, opts.Blocks = p.dir, p.process
	j, err := journal.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Healthy(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	p.journal = j
	return j
}

func (p *memoryPlace) Kill(t *testing.T) {
	t.Helper()
	p.process = p.service.Lead()
	if err := p.journal.Close(); err != nil {
		t.Fatal(err)
	}
}

// Tear has nothing to do: the service makes a change as a whole.
func (p *memoryPlace) Tear(*testing.T) {}

func (p *memoryPlace) Slow(_ *testing.T, by time.Duration) {
	p.service.Before = func() (bool, error) {
		time.Sleep(by)
		return true, nil
	}
}

func (p *memoryPlace) Cut(*testing.T) {
	p.service.Before = func() (bool, error) { return true, storetest.ErrCut }
}

func (p *memoryPlace) Heal(*testing.T) { p.service.Before = nil }

func (p *memoryPlace) Succeed(t *testing.T) error {
	p.process, p.dir = p.service.Lead(), t.TempDir()
	return nil
}

func (p *memoryPlace) Read() journal.Reader {
	return journal.InBlocks(context.Background(), p.service.Watch())
}

// A service that shows less than this host has seen acknowledged takes no records: it was restored from an old copy, replaced, or continued elsewhere.
func TestRolledBack(t *testing.T) {
	tests := map[string]func(old *storetest.Memory) *storetest.Memory{
		"an old copy": func(old *storetest.Memory) *storetest.Memory { return old },
		"nothing":     func(*storetest.Memory) *storetest.Memory { return &storetest.Memory{} },
		"an old copy that another host has continued": func(old *storetest.Memory) *storetest.Memory {
			other := &memoryPlace{service: old, dir: t.TempDir()}
			j := other.Open(t, journal.Options{})
			appendAll(t, j, event("other 1"), event("other 2"), event("other 3"))
			return old
		},
		"another journal": func(*storetest.Memory) *storetest.Memory {
			other := newMemoryPlace(t)
			appendAll(t, other.Open(t, journal.Options{}), event("a"), event("b"), event("c"), event("d"))
			return other.service
		},
	}
	for name, replace := range tests {
		t.Run(name, func(t *testing.T) {
			p := newMemoryPlace(t)
			j := p.Open(t, journal.Options{})
			appendAll(t, j, event("1"))
			old := p.service.Copy()
			appendAll(t, j, event("2"), event("3"))
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			service := replace(old)
			before := service.Copy()
			j, err := journal.Open(journal.Options{Dir: p.dir, Blocks: service.Lead()})
			if err != nil {
				t.Fatal(err)
			}
			defer j.Close()
			if got := journal.FaultOf(j.Healthy()); got != journal.FaultRolledBack {
				t.Errorf("got the fault %s (%v), want %s", got, j.Healthy(), journal.FaultRolledBack)
			}
			if err := j.Append(context.Background(), event("4")); !errors.Is(err, journal.ErrRolledBack) {
				t.Errorf("got %v, want ErrRolledBack", err)
			}
			if diff := cmp.Diff(summaryOf(before), summaryOf(service)); diff != "" {
				t.Errorf("the service was changed (-before +after):\n%s", diff)
			}
		})
	}
}

func summaryOf(m *storetest.Memory) journal.Summary {
	s, _ := journal.InBlocks(context.Background(), m.Watch())(func(journal.Record) error { return nil })
	return s
}

// A state directory with a journal in files prevents that an empty service begins another journal, which would know no guest.
func TestServiceDoesNotReplaceFiles(t *testing.T) {
	dir := t.TempDir()
	j, err := journal.Open(journal.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	service := &storetest.Memory{}
	j, err = journal.Open(journal.Options{Dir: dir, Blocks: service.Lead()})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if !errors.Is(j.Healthy(), fs.ErrExist) {
		t.Errorf("got %v, want that the journal has to be copied", j.Healthy())
	}
}

// A commit in the service that was changed is damage.
func TestDamagedService(t *testing.T) {
	p := newMemoryPlace(t)
	appendAll(t, p.Open(t, journal.Options{}), event("1"), event("2"))
	p.service.Flip()
	var damage *journal.DamageError
	if _, err := p.Read()(func(journal.Record) error { return nil }); !errors.As(err, &damage) {
		t.Errorf("got %v, want damage", err)
	}
}

// A torn write of the mark leaves the mark before.
func TestTornMark(t *testing.T) {
	p := newMemoryPlace(t)
	j := p.Open(t, journal.Options{})
	appendAll(t, j, event("1"))
	old := p.service.Copy()
	appendAll(t, j, event("2"), event("3"))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(p.dir, "acknowledged")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[70] ^= 1 // the slot of one of the last two commits
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	j, err = journal.Open(journal.Options{Dir: p.dir, Blocks: old.Lead()})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if got := journal.FaultOf(j.Healthy()); got != journal.FaultRolledBack {
		t.Errorf("got the fault %s, want %s by the other slot", got, journal.FaultRolledBack)
	}
}

// A follower shows each record once, also when a compaction was faster, and writes nothing.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newMemoryPlace(t)
		j := p.Open(t, journal.Options{SegmentSize: 600, CompactAfter: 1, Retain: journal.Retain{Records: 2}})
		appendAll(t, j, event("1"))
		var told []uint64
		follower, err := journal.Follow(t.Context(), journal.Options{
			Dir: t.TempDir(), Blocks: p.service.Watch(), OnRecord: func(r journal.Record) { told = append(told, r.Seq) },
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 40 {
			appendAll(t, j, journal.Assigned{Kind: "Container", Name: "a", VMID: 100 + i}, event("x"))
			if i%3 == 0 {
				time.Sleep(2 * time.Second)
			}
		}
		time.Sleep(5 * time.Second)
		got, want := follower.State(), j.State()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("state (-leader +follower):\n%s", diff)
		}
		for i := 1; i < len(told); i++ {
			if told[i] <= told[i-1] {
				t.Fatalf("got record %d after record %d", told[i], told[i-1])
			}
		}
		if err := follower.Append(t.Context(), event("y")); !errors.Is(err, journal.ErrStandby) {
			t.Errorf("got %v, want ErrStandby", err)
		}
		if err := errors.Join(follower.Close(), j.Close()); err != nil {
			t.Error(err)
		}
	})
}

func event(text string) journal.Body { return journal.Event{Name: "note", Message: text} }

func appendAll(t *testing.T, j *journal.Journal, bodies ...journal.Body) {
	t.Helper()
	for _, b := range bodies {
		if err := j.Append(context.Background(), b); err != nil {
			t.Fatal(err)
		}
	}
}
