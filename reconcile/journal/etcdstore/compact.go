package etcdstore

import (
	"context"

	"gitops-agent/reconcile/journal"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Replace implements journal.Blocks. The base is stored part by part, becomes the base with the head, and then the old blocks are removed in transactions of
// bounded size.
func (s *Store) Replace(ctx context.Context, base []byte, head journal.BlockHead) (replaced bool, err error) {
	folder := basesKey + number(head.Next) + "/"
	// Of an earlier compaction at the same record that was interrupted.
	if err := s.commit(ctx, s.head, clientv3.OpDelete(s.client.key(folder), clientv3.WithRange(s.client.key(end(folder))))); err != nil {
		return false, err
	}
	parts := split(base)
	for i, content := range parts {
		if err := s.put(ctx, folder, i, content); err != nil {
			return false, err
		}
	}
	next := storedHead{Version: storeVersion, Base: head.Next, Parts: len(parts), Next: head.Next, Journal: head.Data}
	if err := s.change(ctx, next); err != nil {
		return false, err
	}
	_, err = s.removeObsolete(ctx)
	return true, err
}

// removeObsolete removes the blocks that the head does not name: commits and bases that the base replaces, and parts that interrupted changes left.
func (s *Store) removeObsolete(ctx context.Context) (removed int, err error) {
	var names []string
	collect := func(folder string, obsolete func(uint64) bool) error {
		return s.keys(ctx, folder, func(name string) {
			if n, ok := parseNumber(name, folder); ok && obsolete(n) {
				names = append(names, name)
			}
		})
	}
	if err := collect(commitsKey, func(first uint64) bool { return first < s.now.Base || first >= s.now.Next }); err != nil {
		return 0, err
	}
	if err := collect(basesKey, func(next uint64) bool { return next != s.now.Base }); err != nil {
		return 0, err
	}
	for len(names) > removed {
		var ops []clientv3.Op
		for _, name := range names[removed:min(removed+maxOps, len(names))] {
			ops = append(ops, clientv3.OpDelete(s.client.key(name)))
		}
		if err := s.commit(ctx, s.head, ops...); err != nil {
			return removed, err
		}
		removed += len(ops)
	}
	return removed, nil
}

// keys passes the names in a folder.
func (s *Store) keys(ctx context.Context, folder string, visit func(name string)) error {
	const many = 1000
	from := folder
	for more := true; more; {
		limited, cancel := context.WithTimeout(ctx, requestTimeout)
		reply, err := s.client.etcd.Get(limited, s.client.key(from), clientv3.WithRange(s.client.key(end(folder))), clientv3.WithLimit(many), clientv3.WithKeysOnly())
		cancel()
		if err != nil {
			return requestError("list the journal", err)
		}
		for _, kv := range reply.Kvs {
			name := string(kv.Key[len(s.client.prefix):])
			visit(name)
			from = name + "\x00"
		}
		more = reply.More
	}
	return nil
}
