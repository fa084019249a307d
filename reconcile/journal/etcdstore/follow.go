package etcdstore

import (
	"context"
	"fmt"
	"time"

	"gitops-agent/reconcile/journal"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// contactEvery is how often a follower asks etcd whether it still answers.
const contactEvery = 5 * time.Second

// Follow implements journal.Blocks. It watches the head, and reads the commits before it. The client waits for ever for an etcd that it cannot reach, and
// continues the watch then, so only a request shows that etcd does not answer.
func (s *Store) Follow(ctx context.Context, first uint64, commit func([]byte) error) error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	first = max(first, 1)
	_, seen, err := s.readHead(ctx)
	if err != nil {
		return err
	}
	if err := s.takeUntil(ctx, &first, seen, commit); err != nil {
		return err
	}
	changes := s.client.etcd.Watch(ctx, s.client.key(headKey), clientv3.WithRev(seen+1))
	contact := time.NewTicker(contactEvery)
	defer contact.Stop()
	for {
		select {
		case reply, open := <-changes:
			if !open {
				return ctx.Err()
			}
			if err := s.takeChanges(ctx, reply, &first, commit); err != nil {
				return err
			}
			seen = max(seen, reply.Header.Revision)
		case <-contact.C:
			if seen, err = s.checkContact(ctx, seen); err != nil {
				return err
			}
		}
	}
}

// checkContact returns the present revision of etcd. It returns an error if etcd does not answer, or if its revision is older than one that this follower has
// seen: an older copy replaced it. A watch of such an etcd stays silent until it has caught up.
func (s *Store) checkContact(ctx context.Context, seen int64) (revision int64, err error) {
	limited, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	reply, err := s.client.etcd.Get(limited, s.client.key(headKey), clientv3.WithKeysOnly())
	switch {
	case err != nil:
		return 0, requestError("read the head of the journal", err)
	case reply.Header.Revision < seen:
		return 0, fmt.Errorf("%w: etcd is at revision %d, and was at %d", journal.ErrRolledBack, reply.Header.Revision, seen)
	}
	return reply.Header.Revision, nil
}

// takeChanges passes the commits from first up to the head that a watch reported.
func (s *Store) takeChanges(ctx context.Context, reply clientv3.WatchResponse, first *uint64, commit func([]byte) error) error {
	if err := reply.Err(); err != nil {
		return requestError("watch the journal", err)
	}
	for _, event := range reply.Events {
		if event.Type == clientv3.EventTypeDelete {
			return fmt.Errorf("%w: it has no head any more", journal.ErrRolledBack)
		}
		var err error
		if s.now, err = parseHead(string(event.Kv.Value)); err != nil {
			return err
		}
		if err := s.takeUntil(ctx, first, event.Kv.ModRevision, commit); err != nil {
			return err
		}
	}
	return nil
}

// takeUntil passes the commits from first up to the head, as of a revision.
func (s *Store) takeUntil(ctx context.Context, first *uint64, revision int64, commit func([]byte) error) error {
	switch next := s.now.Next; {
	case s.now.Base > *first:
		return journal.ErrCompacted
	case next == 0, next == *first:
		return nil
	case next < *first:
		return fmt.Errorf("%w: it ends with record %d", journal.ErrRolledBack, next-1)
	}
	if err := s.commits(ctx, *first, s.now.Next, revision, commit); err != nil {
		return err
	}
	*first = s.now.Next
	return nil
}
