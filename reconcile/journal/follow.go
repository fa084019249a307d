package journal

import (
	"context"
	"fmt"
	"time"
)

// followAgain is how long a follower waits before it loads the journal again.
const followAgain = time.Second

// Follow returns a journal that another process writes: its State follows the service, and Append returns ErrStandby. It locks opts.Dir and writes the mark
// of what the service acknowledged there, and nothing to the service. Healthy returns why the state may be old, nil while it follows. Opts.Blocks is
// required, and opts.Before must be closed. ctx bounds only the first reading; without an answer, the follower tries again until Close.
func Follow(ctx context.Context, opts Options) (*Journal, error) {
	opts = opts.withDefaults()
	s, err := openBlocks(opts)
	if err != nil {
		return nil, fmt.Errorf("follow journal: %w", err)
	}
	j := newJournal(opts, s)
	j.standby, j.opened = true, time.Now()
	if err = j.reload(ctx, s); err != nil && opts.Before != nil {
		j.beginWith(opts.Before)
	}
	j.fail(err)
	j.recovery = Recovery{Records: s.stored}
	go j.follow(s, err)
	return j, nil
}

// beginWith takes the state of a journal that was closed, until the service was read. Its records are told then.
func (j *Journal) beginWith(before *Journal) {
	before.mu.Lock()
	defer before.mu.Unlock()
	j.fold, j.lineage, j.since = before.fold, before.lineage, before.since
}

// follow takes the commits of the service until the journal is closed.
func (j *Journal) follow(s *blocks, failed error) {
	defer close(j.stopped)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-j.closing
		cancel()
	}()
	for {
		if failed == nil { // until something prevents it, which the next reading reports if it lasts
			_ = s.remote.Follow(ctx, j.chain.next, func(b []byte) error { return j.takeCommit(s, b) })
		}
		wait := time.NewTimer(followAgain)
		select {
		case <-j.closing:
			wait.Stop()
			return
		case <-wait.C:
		}
		failed = j.reload(ctx, s)
		if ctx.Err() == nil {
			j.fail(failed)
		}
	}
}

// takeCommit folds the next commit of the service.
func (j *Journal) takeCommit(s *blocks, b []byte) error {
	f, err := followingFrame(j.chain, b)
	if err != nil {
		return err
	}
	records, err := f.records()
	if err != nil {
		return err
	}
	j.mu.Lock()
	for _, r := range records {
		j.fold.add(r)
		j.tell(r)
	}
	j.chain.next, j.chain.link = f.last()+1, f.link
	j.mu.Unlock()
	return s.mark.set(j.chain)
}

// reload reads the whole journal. A journal that cannot be read leaves the state as it was.
func (j *Journal) reload(ctx context.Context, s *blocks) error {
	fresh, records := newFold(), []Record{}
	found, err := s.loadContext(ctx, eachRecord(func(r Record) error {
		fresh.add(r)
		if r.Seq > j.told {
			records = append(records, r)
		}
		return nil
	}))
	switch {
	case err != nil:
		return err
	case s.doubt != nil:
		return s.doubt
	case found.files == 0:
		return nil // no agent has begun the journal yet
	}
	fresh.seq = max(found.chain.next, 1) - 1
	fresh.forgetOrders(time.Now(), j.opts.Retain.Orders)
	j.mu.Lock()
	j.fold, j.chain = fresh, found.chain
	j.lineage, j.since = found.chain.lineage(), found.chain.since()
	for _, r := range records {
		j.tell(r)
	}
	j.mu.Unlock()
	return s.mark.set(j.chain)
}

// tell passes a record to OnRecord once, however often the journal is loaded. The caller has locked mu.
func (j *Journal) tell(r Record) {
	if r.Seq > j.told {
		j.told = r.Seq
		j.opts.OnRecord(r)
	}
}
