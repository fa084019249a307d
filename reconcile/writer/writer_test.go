package writer

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/reconcile/journal"
)

// pool is a pool of the cluster. It counts the requests, and can delay, refuse or lose them.
type pool struct {
	mu            sync.Mutex
	comment       string
	found         bool
	reads, writes int
	readDelay     time.Duration
	writeDelay    time.Duration
	writeErr      error
	lost          bool   // a write acts and gets no reply
	before        func() // runs before a write acts
}

func (p *pool) PoolComment(context.Context, string) (string, bool, error) {
	p.mu.Lock()
	p.reads++
	delay := p.readDelay
	p.mu.Unlock()
	time.Sleep(delay)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.comment, p.found, nil
}

func (p *pool) SetPoolComment(_ context.Context, _, comment string) error {
	p.mu.Lock()
	delay, before := p.writeDelay, p.before
	p.mu.Unlock()
	time.Sleep(delay)
	if before != nil {
		before()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes++
	if p.writeErr != nil && !p.lost {
		return p.writeErr
	}
	p.comment, p.found = comment, true
	return p.writeErr
}

func (p *pool) set(change func(p *pool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

var accepted = journal.Accepted{Commit: floorCommit, ProvenTime: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Sequence: 3}

// host is a state directory whose journal has an accepted revision.
type host struct {
	*testing.T
	dir     string
	pool    *pool
	journal *journal.Journal
}

// onHost runs a test in virtual time with a new state directory.
func onHost(t *testing.T, test func(h *host)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &host{T: t, dir: filepath.Join(t.TempDir(), "journal"), pool: &pool{}}
		h.start(false)
		h.ok(h.journal.Append(t.Context(), accepted))
		test(h)
		h.ok(h.journal.Close())
	})
}

func (h *host) ok(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// start ends the process before, and returns the writer of the next one.
func (h *host) start(takeOver bool) *Writer {
	h.Helper()
	if h.journal != nil {
		h.ok(h.journal.Close())
	}
	j, err := journal.Open(journal.Options{Dir: h.dir})
	h.ok(err)
	h.journal = j
	return New(Options{Keeper: h.pool, Journal: j, TakeOver: takeOver})
}

// claim brings a writer to the end of its claim.
func (h *host) claim(w *Writer) Standing {
	h.Helper()
	h.ok(w.Claim(h.Context()))
	time.Sleep(3 * time.Second)
	h.ok(w.Claim(h.Context()))
	return w.State().Standing
}

// foreign writes the comment of an agent on another host.
func (h *host) foreign() {
	h.pool.set(func(p *pool) {
		p.comment, p.found = Comment{Floor: FloorOf(accepted), Writer: Mark{9, "ANOTHERAGENTABCD"}}.String(), true
	})
}

func TestClaimNeedsTheWaitAndASecondReading(t *testing.T) {
	onHost(t, func(h *host) {
		w := h.start(false)
		if err := w.Confirm(h.Context(), Recent); !errors.Is(err, ErrNotWriter) || h.pool.reads != 0 {
			h.Errorf("before: got %v after %d readings, want ErrNotWriter and none", err, h.pool.reads)
		}
		h.ok(w.Claim(h.Context()))
		h.ok(w.Claim(h.Context()))
		time.Sleep(3*time.Second - 1)
		h.ok(w.Claim(h.Context()))
		if s := w.State(); s.Standing != Claimed || h.pool.reads != 1 || h.pool.writes != 1 {
			h.Errorf("in the wait: got %+v after %d readings and %d writes, want one of each and no more", s, h.pool.reads, h.pool.writes)
		}
		if err := w.Confirm(h.Context(), Recent); !errors.Is(err, ErrNotWriter) {
			h.Errorf("in the wait: got %v, want ErrNotWriter", err)
		}
		time.Sleep(time.Nanosecond)
		h.ok(w.Claim(h.Context()))
		if s := w.State(); s.Standing != Confirmed || s.Mark.Number != 1 || h.pool.reads != 2 {
			h.Errorf("after the wait: got %+v after %d readings, want confirmed after two", s, h.pool.reads)
		}
		c, err := Parse(h.pool.comment)
		if err != nil || c.Floor != FloorOf(accepted) || c.Writer != w.State().Mark {
			h.Errorf("got comment %q, want the floor and the mark", h.pool.comment)
		}
	})
}

// TestConfirmSharesReadings asks for many calls at once, and for calls within the time that a reading counts as recent.
func TestConfirmSharesReadings(t *testing.T) {
	onHost(t, func(h *host) {
		w := h.start(false)
		h.claim(w)
		h.pool.set(func(p *pool) { p.reads, p.readDelay = 0, 100*time.Millisecond })
		ask := func(n int, recent time.Duration) int {
			before := h.pool.reads
			var wg sync.WaitGroup
			for range n {
				wg.Go(func() { h.ok(w.Confirm(h.Context(), recent)) })
			}
			wg.Wait()
			return h.pool.reads - before
		}
		if got := ask(50, 0); got > 2 {
			h.Errorf("50 risky calls at once: got %d readings, want at most 2", got)
		}
		if got := ask(50, Recent); got != 0 {
			h.Errorf("50 other calls afterwards: got %d readings, want none", got)
		}
		time.Sleep(Recent)
		if got := ask(50, Recent); got == 0 || got > 2 {
			h.Errorf("50 other calls two seconds later: got %d readings, want 1 or 2", got)
		}
	})
}

// TestConfirmUsesNoEarlierReading changes the comment while a reading for an earlier call is on its way: a later risky call must not use it.
func TestConfirmUsesNoEarlierReading(t *testing.T) {
	onHost(t, func(h *host) {
		w := h.start(false)
		h.claim(w)
		h.ok(w.Confirm(h.Context(), 0)) // at this instant
		h.foreign()
		if err := w.Confirm(h.Context(), Recent); err != nil {
			h.Errorf("a call without a risk: got %v, want the recent reading to count", err)
		}
		if err := w.Confirm(h.Context(), 0); !errors.Is(err, ErrNotWriter) {
			h.Errorf("a risky call: got %v, want ErrNotWriter", err)
		}
		if err := w.Confirm(h.Context(), Recent); !errors.Is(err, ErrNotWriter) {
			h.Errorf("every later call: got %v, want ErrNotWriter", err)
		}
	})
}

// TestWhoMayClaim starts a process with different comments: after a restart, an edit, a copy and a loss.
func TestWhoMayClaim(t *testing.T) {
	tests := map[string]struct {
		arrange  func(h *host)
		takeOver bool
		want     Standing
	}{
		"first_start":  {func(*host) {}, false, Confirmed},
		"older_floor":  {func(h *host) { h.pool.comment, h.pool.found = Comment{Floor: FloorOf(accepted)}.String(), true }, false, Confirmed},
		"edited":       {func(h *host) { h.pool.comment, h.pool.found = "do not touch", true }, false, Confirmed},
		"after_itself": {func(h *host) { h.claim(h.start(false)) }, false, Confirmed},
		"after_a_claim_that_was_not_written": {func(h *host) {
			h.claim(h.start(false))
			w := h.start(false)
			h.pool.writeErr = errors.New("connection refused")
			if err := w.Claim(h.Context()); err == nil {
				h.Error("got no error, want one")
			}
			h.pool.writeErr = nil
		}, false, Confirmed},
		"after_seven_restarts_a_late_write": {func(h *host) {
			h.claim(h.start(false))
			first := h.pool.comment
			for range 7 {
				h.claim(h.start(false))
			}
			h.pool.comment = first
		}, false, Confirmed},
		"another_agent":             {func(h *host) { h.claim(h.start(false)); h.foreign() }, false, Superseded},
		"new_directory":             {func(h *host) { h.foreign() }, false, Superseded},
		"another_agent_taken_over":  {func(h *host) { h.foreign() }, true, Confirmed},
		"take_over_without_a_cause": {func(*host) {}, true, Confirmed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			onHost(t, func(h *host) {
				test.arrange(h)
				w := h.start(test.takeOver)
				if got := h.claim(w); got != test.want {
					h.Errorf("got standing %d, want %d", got, test.want)
				}
				if s := w.State(); s.TakeOver || test.want == Superseded && s.Other.Number != 9 {
					h.Errorf("got %+v, want no more take-over and the other agent's number", s)
				}
			})
		})
	}
}

// TestTakeOverCountsOnce supersedes a process that has taken over: it must not take over again.
func TestTakeOverCountsOnce(t *testing.T) {
	onHost(t, func(h *host) {
		h.foreign()
		w := h.start(true)
		h.claim(w)
		h.foreign()
		if got := h.claim(w); got != Superseded {
			h.Errorf("got standing %d, want superseded", got)
		}
	})
}

// TestClaimsAtTheSameTime lets another agent write its mark in the middle of a claim: the last write stays.
func TestClaimsAtTheSameTime(t *testing.T) {
	onHost(t, func(h *host) {
		w := h.start(false)
		h.pool.before = h.foreign // after the reading, before the write
		if got := h.claim(w); got != Confirmed {
			h.Errorf("the last write: got standing %d, want confirmed", got)
		}
		h.pool.before = nil
		w = h.start(false)
		h.ok(w.Claim(h.Context()))
		time.Sleep(time.Second)
		h.foreign()
		time.Sleep(2 * time.Second)
		h.ok(w.Claim(h.Context()))
		if got := w.State().Standing; got != Superseded {
			h.Errorf("the earlier write: got standing %d, want superseded", got)
		}
	})
}

// TestLostReplyOfAClaim loses the reply to a write that acts: the next attempt finds the mark, and waits before it counts.
func TestLostReplyOfAClaim(t *testing.T) {
	onHost(t, func(h *host) {
		w := h.start(false)
		h.pool.writeErr, h.pool.lost = errors.New("no reply"), true
		if err := w.Claim(h.Context()); err == nil {
			h.Error("got no error, want one")
		}
		time.Sleep(time.Minute)
		h.ok(w.Claim(h.Context()))
		if s := w.State(); s.Standing != Claimed || h.pool.writes != 1 {
			h.Errorf("got %+v after %d writes, want it claimed by the first", s, h.pool.writes)
		}
		time.Sleep(3 * time.Second)
		h.ok(w.Claim(h.Context()))
		if got := w.State().Standing; got != Confirmed {
			h.Errorf("got standing %d, want confirmed", got)
		}
	})
}

// TestFailedClaimsForgetNoMark lets more claims fail than the journal keeps marks, within one process and by many processes, as while the cluster has no
// quorum. The mark of the last process that claimed stays known, and the journal grows by two records for each process at most.
func TestFailedClaimsForgetNoMark(t *testing.T) {
	for name, restarts := range map[string]bool{"tries": false, "starts": true} {
		t.Run(name, func(t *testing.T) {
			onHost(t, func(h *host) {
				h.claim(h.start(false))
				w := h.start(false)
				h.pool.set(func(p *pool) { p.writeErr = errors.New("no quorum") })
				for range 20 {
					if err := w.RaiseFloor(h.Context()); err == nil {
						h.Fatal("got no error of a write that failed")
					}
					if restarts {
						w = h.start(false)
					}
				}
				h.pool.set(func(p *pool) { p.writeErr = nil })
				if got := h.claim(w); got != Confirmed {
					h.Errorf("got %+v after claims that failed, want it confirmed", w.State())
				}
			})
		})
	}
}

// TestEditedCommentIsClaimedAgain removes the mark while the process is the writer. It stops, claims again and waits.
func TestEditedCommentIsClaimedAgain(t *testing.T) {
	for name, comment := range map[string]string{"no_mark": Comment{Floor: FloorOf(accepted)}.String(), "words": "do not touch"} {
		t.Run(name, func(t *testing.T) {
			onHost(t, func(h *host) {
				w := h.start(false)
				h.claim(w)
				h.pool.set(func(p *pool) { p.comment = comment })
				if err := w.Confirm(h.Context(), 0); !errors.Is(err, ErrNotWriter) {
					h.Errorf("got %v, want ErrNotWriter", err)
				}
				if got := h.claim(w); got != Confirmed || w.State().Mark.Number != 2 {
					h.Errorf("got %+v, want confirmed with the next number", w.State())
				}
			})
		})
	}
}

// TestRaiseFloorKeepsTheMark writes a newer floor. Only a slow write needs another wait. An agent that is superseded does not write.
func TestRaiseFloorKeepsTheMark(t *testing.T) {
	newer := accepted
	newer.Sequence++
	for name, test := range map[string]struct {
		delay time.Duration
		want  Standing
	}{"fast": {900 * time.Millisecond, Confirmed}, "slow": {1100 * time.Millisecond, Claimed}} {
		t.Run(name, func(t *testing.T) {
			onHost(t, func(h *host) {
				w := h.start(false)
				h.claim(w)
				h.ok(w.RaiseFloor(h.Context()))
				if h.pool.writes != 1 {
					h.Errorf("got %d writes of the same floor, want that of the claim", h.pool.writes)
				}
				h.ok(h.journal.Append(h.Context(), newer))
				h.pool.writeDelay = test.delay
				h.ok(w.RaiseFloor(h.Context()))
				c, err := Parse(h.pool.comment)
				if err != nil || c.Floor != FloorOf(newer) || c.Writer != w.State().Mark || w.State().Standing != test.want {
					h.Errorf("got comment %q and %+v, want the newer floor, the mark, and standing %d", h.pool.comment, w.State(), test.want)
				}
				h.foreign()
				newest := newer
				newest.Sequence++
				h.ok(h.journal.Append(h.Context(), newest))
				if err := w.RaiseFloor(h.Context()); !errors.Is(err, ErrNotWriter) || !strings.Contains(h.pool.comment, "ANOTHERAGENTABCD") {
					h.Errorf("superseded: got %v and comment %q, want it unchanged", err, h.pool.comment)
				}
			})
		})
	}
}

// TestFloorIsNeverLowered claims with a journal that is older than the floor in the comment.
func TestFloorIsNeverLowered(t *testing.T) {
	onHost(t, func(h *host) {
		floor := FloorOf(accepted)
		floor.Sequence = 99
		h.pool.comment, h.pool.found = Comment{Floor: floor}.String(), true
		w := h.start(false)
		h.claim(w)
		if c, err := Parse(h.pool.comment); err != nil || c.Floor != floor {
			h.Errorf("got comment %q, want floor %d", h.pool.comment, floor.Sequence)
		}
	})
}

// TestDryRunHasNoOpinion reads a foreign comment in a dry run.
func TestDryRunHasNoOpinion(t *testing.T) {
	onHost(t, func(h *host) {
		h.foreign()
		w := New(Options{Keeper: h.pool, Journal: h.journal, DryRun: true})
		c, err := w.Read(h.Context())
		if s := w.State(); err != nil || c.Floor != FloorOf(accepted) || s.Standing != Unclaimed || h.pool.writes != 0 {
			h.Errorf("got %+v, %v and %+v, want the floor and no standing", c, err, s)
		}
	})
}

// TestTwoWritersExcludeEachOther runs pairs of processes with every delay of the second claim and of its requests. At no time do both confirm a call.
func TestTwoWritersExcludeEachOther(t *testing.T) {
	runs := 0
	for _, later := range []time.Duration{0, time.Second, 2999 * time.Millisecond, 3 * time.Second, 3001 * time.Millisecond, 7 * time.Second} {
		for _, slow := range []time.Duration{0, 500 * time.Millisecond, 2 * time.Second, 6 * time.Second} {
			runs++
			t.Run(fmt.Sprintf("%s_%s", later, slow), func(t *testing.T) {
				onHost(t, func(h *host) {
					first := h.start(false)
					other := &host{T: h.T, dir: filepath.Join(h.TempDir(), "journal"), pool: h.pool}
					other.start(false)
					h.ok(other.journal.Append(h.Context(), accepted))
					second := other.start(true)
					second.opts.Keeper = &slowPool{h.pool, slow}
					ctx, cancel := context.WithTimeout(h.Context(), 40*time.Second)
					defer cancel()
					var mu sync.Mutex
					var calls []int
					run := func(i int, w *Writer) {
						for ctx.Err() == nil {
							if w.State().Standing != Confirmed {
								_ = w.Claim(ctx)
							}
							if w.Confirm(ctx, Recent) == nil {
								mu.Lock()
								calls = append(calls, i)
								mu.Unlock()
							}
							time.Sleep(50 * time.Millisecond)
						}
					}
					var wg sync.WaitGroup
					wg.Go(func() { run(1, first) })
					wg.Go(func() { time.Sleep(later); run(2, second) })
					wg.Wait()
					h.ok(other.journal.Close())
					changes := 0
					for i := 1; i < len(calls); i++ {
						if calls[i] != calls[i-1] {
							changes++
						}
					}
					if changes > 1 || len(calls) == 0 {
						h.Errorf("got %d changes of the writer in %d calls, want at most one", changes, len(calls))
					}
				})
			})
		}
	}
	t.Logf("%d pairs of writers", runs)
}

// slowPool is a pool that a process reaches slowly.
type slowPool struct {
	*pool
	delay time.Duration
}

func (p *slowPool) SetPoolComment(ctx context.Context, name, comment string) error {
	time.Sleep(p.delay)
	return p.pool.SetPoolComment(ctx, name, comment)
}
