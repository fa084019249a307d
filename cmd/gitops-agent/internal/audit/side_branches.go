package audit

import (
	"container/heap"
	"context"
	"errors"
	"slices"

	"gitops-agent/gitsource"
)

// maxSide bounds the number of commits that are read to find those of side branches.
const maxSide = 1_000_000

// A merge is a commit on the first-parent path of a range, with its other parents.
type merge struct {
	id    gitsource.ID
	other []gitsource.ID
}

// A sideCommit is a commit that a merge of a range brings in from a side branch.
type sideCommit struct{ id, merge gitsource.ID }

// sideBranches finds the commits of side branches: those that can be reached from the merges of a range and neither lie on its path nor below its floor.
// Each belongs to the oldest merge that brings it in. The result has for each merge its commits, parents first; complete is false if there are
// more than maxSide to read. A commit that cannot be read is in the result; its parents are not known.
func (a auditor) sideBranches(ctx context.Context, floor gitsource.ID, path []gitsource.ID, merges []merge) (side []sideCommit, complete bool, err error) {
	if len(merges) == 0 {
		return nil, true, nil
	}
	w := sideWalk{auditor: a, state: make(map[gitsource.ID]sideState, len(path)), links: map[gitsource.ID]gitsource.Links{}}
	for _, id := range path {
		w.state[id] = sidePath
	}
	if floor != "" {
		if err := w.markBelow(ctx, floor, merges); err != nil {
			return nil, false, err
		}
	}
	for _, m := range merges {
		for _, id := range m.other {
			if err := w.collect(ctx, m.id, id); err != nil {
				return nil, false, err
			}
		}
	}
	return w.found, w.read < maxSide, nil
}

type sideState byte

const (
	sideUnknown sideState = iota
	sidePath              // on the path of the range
	sideBelow             // below the floor
	sideQueued            // may be above the floor
	sideFound             // in the result
)

type sideWalk struct {
	auditor
	state map[gitsource.ID]sideState
	links map[gitsource.ID]gitsource.Links // of commits that are not below the floor
	read  int
	found []sideCommit
	queue byTime
}

// linksOf returns the links of a commit, or none if it cannot be followed.
func (w *sideWalk) linksOf(ctx context.Context, id gitsource.ID) (gitsource.Links, error) {
	if l, known := w.links[id]; known {
		return l, nil
	}
	if w.read == maxSide {
		return gitsource.Links{}, nil
	}
	w.read++
	w.progress("reading side branches: %d commits", w.read)
	l, err := w.repo.Links(ctx, id)
	if errors.Is(err, gitsource.ErrNotFound) || errors.Is(err, gitsource.ErrTooLarge) {
		err = nil
	}
	return l, err
}

// markBelow marks the commits that lead to the floor, from newer to older ones by the time that they claim, until all that remain are below the floor.
// With wrong times a commit below the floor may stay unmarked; it then counts as one of a side branch.
func (w *sideWalk) markBelow(ctx context.Context, floor gitsource.ID, merges []merge) error {
	if err := w.push(ctx, floor, sideBelow); err != nil {
		return err
	}
	for _, m := range merges {
		for _, id := range m.other {
			if err := w.push(ctx, id, sideQueued); err != nil {
				return err
			}
		}
	}
	for w.queue.undecided > 0 {
		next := heap.Pop(&w.queue).(queued) //nolint:forcetypeassert // byTime holds nothing else
		if next.state == sideQueued && w.state[next.id] == sideBelow {
			continue // it was marked while it waited
		}
		for _, parent := range next.parents {
			if err := w.push(ctx, parent, next.state); err != nil {
				return err
			}
		}
	}
	w.queue = byTime{}
	return nil
}

// push marks a commit and queues it, unless it has this mark or a stronger one.
func (w *sideWalk) push(ctx context.Context, id gitsource.ID, state sideState) error {
	if known := w.state[id]; known == sidePath || known == sideBelow || known == state {
		return nil
	}
	l, err := w.linksOf(ctx, id)
	if err != nil {
		return err
	}
	w.state[id] = state
	if state == sideQueued {
		w.links[id] = l
	} else {
		delete(w.links, id)
	}
	heap.Push(&w.queue, queued{id, state, l.Committed, l.Parents})
	return nil
}

// collect adds a commit of a side branch and what is below it, parents first.
func (w *sideWalk) collect(ctx context.Context, merge, tip gitsource.ID) error {
	open := []gitsource.ID{tip}
	from := len(w.found)
	for len(open) > 0 {
		id := open[len(open)-1]
		open = open[:len(open)-1]
		if s := w.state[id]; s == sidePath || s == sideBelow || s == sideFound {
			continue
		}
		l, err := w.linksOf(ctx, id)
		if err != nil {
			return err
		}
		delete(w.links, id)
		w.state[id] = sideFound
		w.found = append(w.found, sideCommit{id, merge})
		open = append(open, l.Parents...)
	}
	slices.Reverse(w.found[from:])
	return nil
}

// queued is a commit that waits in byTime.
type queued struct {
	id        gitsource.ID
	state     sideState
	committed int64
	parents   []gitsource.ID
}

// byTime is a heap of commits, the newest first. It counts those that are not known to be below the floor.
type byTime struct {
	list      []queued
	undecided int
}

func (q *byTime) Len() int           { return len(q.list) }
func (q *byTime) Less(i, j int) bool { return q.list[i].committed > q.list[j].committed }
func (q *byTime) Swap(i, j int)      { q.list[i], q.list[j] = q.list[j], q.list[i] }

// Push implements heap.Interface.
func (q *byTime) Push(x any) {
	added := x.(queued) //nolint:forcetypeassert // byTime holds nothing else
	if added.state == sideQueued {
		q.undecided++
	}
	q.list = append(q.list, added)
}

// Pop implements heap.Interface.
func (q *byTime) Pop() any {
	last := q.list[len(q.list)-1]
	q.list = q.list[:len(q.list)-1]
	if last.state == sideQueued {
		q.undecided--
	}
	return last
}
