package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// Guest is a guest that shares a rollout, staged or not, as it is now.
type Guest struct {
	VMID    int
	Label   string
	Node    string
	Ready   bool   // it is available; of a guest that was released also: it has what was released, and its checks pass
	Unknown bool   // it is not ready because it was not read or checked yet, so it is not released
	Trouble bool   // it is not ready because something failed, and not because it waits or is being changed
	Why     string // it is not ready, for people
}

// Input is the progress of a rollout, and what is known of its guests.
type Input struct {
	Settings guest.Rollout
	Progress journal.Rollout
	Staged   map[int]journal.Staged // of the journal, by vmid
	Guests   []Guest                // all that share the rollout
	Check    string                 // why the query does not pass; "" if it does, or if there is none
	Unasked  bool                   // the query was not asked since the guests of the batch were changed
	Troubled time.Duration          // how long the batch has been in trouble without interruption
	Now      time.Time
}

// Decision is what follows from an Input.
type Decision struct {
	Release []Guest         // to be released now, in order
	Next    journal.Rollout // that of the input if nothing changes
	Trouble bool            // something of the batch failed; the batch has failed if that lasts
	Ready   bool            // the batch is ready
	Why     string          // what the rollout waits for, for people; "" if it does not
	Waits   map[int]string  // why guests of the present batch wait, by vmid
}

// state is an input while it is judged.
type state struct {
	Input
	limit       int
	unavailable int
	perNode     map[string]int // unavailable guests
	onNode      map[string]int // guests of the rollout
}

// Advance decides which guests are released now. It never releases more guests than may be unavailable, and counts those that are unavailable already for
// another reason.
func Advance(in Input) Decision {
	d := Decision{Next: in.Progress, Waits: make(map[int]string)}
	s := state{Input: in, limit: in.Settings.MaxUnavailable.Of(len(in.Guests)), perNode: make(map[string]int), onNode: make(map[string]int)}
	for _, g := range in.Guests {
		s.onNode[g.Node]++
		if !g.Ready {
			s.unavailable++
			s.perNode[g.Node]++
		}
	}
	switch in.Progress.State {
	case journal.RolloutRunning:
		s.release(&d)
		s.judgeBatch(&d)
		if d.Ready {
			s.endBatch(&d)
		}
	case journal.RolloutPaused:
		s.judgeBatch(&d)
		s.continuePaused(&d)
	case journal.RolloutFailed, journal.RolloutHeld:
		d.Why = in.Progress.Why
	case journal.RolloutAborted, journal.RolloutDone:
	}
	return d
}

// release releases guests of the present batch, and those of earlier ones that were not. A guest that is unavailable anyway is released in any case, since
// the change may be its repair.
func (s *state) release(d *Decision) {
	var waiting []Guest
	for _, g := range s.Guests {
		if staged := s.Staged[g.VMID]; staged.Withheld() && staged.Batch <= s.Progress.Batch {
			waiting = append(waiting, g)
		}
	}
	slices.SortStableFunc(waiting, func(a, b Guest) int {
		return cmp.Or(cmp.Compare(s.Staged[a.VMID].Batch, s.Staged[b.VMID].Batch), compareNames(a.Label, b.Label), cmp.Compare(a.VMID, b.VMID))
	})
	for _, g := range waiting {
		nodeLimit := s.Settings.MaxPerNode.Of(s.onNode[g.Node])
		switch {
		case g.Unknown:
			d.Waits[g.VMID] = g.Label + ": " + g.Why
			continue
		case !g.Ready:
		case s.unavailable >= s.limit:
			d.Waits[g.VMID] = fmt.Sprintf("%d of its %d guests are not available, and %d may be", s.unavailable, len(s.Guests), s.limit)
			continue
		case s.Settings.MaxPerNode != (guest.Share{}) && s.perNode[g.Node] >= nodeLimit:
			d.Waits[g.VMID] = fmt.Sprintf("%d of its guests on %s are not available, and %d may be", s.perNode[g.Node], g.Node, nodeLimit)
			continue
		default:
			s.unavailable++
			s.perNode[g.Node]++
		}
		d.Release = append(d.Release, g)
	}
}

// judgeBatch finds out whether every guest of the present batch is ready.
func (s *state) judgeBatch(d *Decision) {
	var unready []string
	for _, g := range s.Guests {
		staged := s.Staged[g.VMID]
		if staged.Batch != s.Progress.Batch || staged.Withheld() || g.Ready {
			continue
		}
		d.Trouble = d.Trouble || g.Trouble
		unready = append(unready, g.Label+": "+g.Why)
	}
	waiting := len(d.Release) + len(d.Waits)
	switch {
	case len(unready) > 0:
		d.Why = listed(unready)
	case waiting > 0:
		if first := slices.Sorted(maps.Keys(d.Waits)); len(first) > 0 {
			d.Why = d.Waits[first[0]]
		}
	case s.Check != "":
		d.Trouble, d.Why = !s.Unasked, s.Check
	default:
		d.Ready = true
	}
	if d.Trouble && s.Troubled >= s.Settings.FailAfter {
		s.fail(d)
	}
}

// maxListed bounds the guests that a text names.
const maxListed = 3

func listed(list []string) string {
	slices.SortFunc(list, compareNames)
	if more := len(list) - maxListed; more > 0 {
		list = append(list[:maxListed:maxListed], fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, "; ")
}

// fail ends the batch: nothing else is released without a signed order. Guests of it that were not released yet stay as they are.
func (s *state) fail(d *Decision) {
	d.Release = nil
	d.Next.State, d.Next.Since, d.Next.Why, d.Next.Failed = journal.RolloutFailed, s.Now, d.Why, nil
	for _, g := range s.Guests {
		if staged := s.Staged[g.VMID]; staged.Batch > 0 && staged.Released && !g.Ready {
			d.Next.Failed = append(d.Next.Failed, g.VMID)
		}
	}
	slices.Sort(d.Next.Failed)
}

// endBatch goes on after a batch that is ready.
func (s *state) endBatch(d *Decision) {
	d.Next.Why, d.Next.Failed = "", nil
	switch {
	case s.Progress.Batch == s.Progress.Batches:
		d.Next.State, d.Next.Since = journal.RolloutDone, s.Now
	case s.Settings.Approval || s.Settings.Pause > 0:
		d.Next.State, d.Next.Since = journal.RolloutPaused, s.Now
	default:
		d.Next.Batch, d.Next.Since = s.Progress.Batch+1, s.Now
	}
}

// continuePaused goes on when the pause is over and the batch is still ready.
func (s *state) continuePaused(d *Decision) {
	until := s.Progress.Since.Add(s.Settings.Pause)
	switch {
	case d.Next.State != journal.RolloutPaused || !d.Ready:
	case s.Settings.Approval:
		d.Why = "it waits for a signed order"
	case s.Now.Before(until):
		d.Why = "it pauses until " + until.UTC().Format(time.RFC3339)
	default:
		d.Next.State, d.Next.Batch, d.Next.Since = journal.RolloutRunning, s.Progress.Batch+1, s.Now
	}
}
