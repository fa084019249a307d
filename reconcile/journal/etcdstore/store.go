package etcdstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gitops-agent/reconcile/journal"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	headKey    = "head"
	commitsKey = "commits/"
	basesKey   = "bases/"

	partSize = 1 << 20 // of the 1.5 MiB that etcd takes in a request by default
	maxOps   = 100     // of the 128 in a transaction
	page     = 32      // keys of one reading
)

// storedHead is the value of the key head.
type storedHead struct {
	Version int    `json:"version"`
	Base    uint64 `json:"base,omitempty"` // the base continues with this record; 0 without a base
	Parts   int    `json:"parts,omitempty"`
	Next    uint64 `json:"next"`
	Journal []byte `json:"journal"`
}

const storeVersion = 1

// Store is the journal.Blocks in an etcd. One without a Leadership only reads.
type Store struct {
	client *Client
	leader *Leadership
	head   string // the value of the key head, "" if there is none
	now    storedHead
}

// Store returns the blocks of the journal. Without a leadership it can only be read.
func (c *Client) Store(l *Leadership) *Store { return &Store{client: c, leader: l} }

// Load implements journal.Blocks.
func (s *Store) Load(ctx context.Context, to journal.BlockVisitor) error {
	found, revision, err := s.readHead(ctx)
	if err != nil || !found {
		return err
	}
	if err := to.Head(journal.BlockHead{Next: s.now.Next, Data: s.now.Journal}); err != nil {
		return err
	}
	if s.now.Base > 0 {
		parts := 0
		var base bytes.Buffer
		from := basesKey + number(s.now.Base) + "/"
		err := s.each(ctx, from, end(from), revision, func(_ string, value []byte) error {
			parts++
			base.Write(value)
			return nil
		})
		if err == nil && parts != s.now.Parts {
			err = &journal.DamageError{File: s.client.key(from), Err: fmt.Errorf("got %d parts, want %d", parts, s.now.Parts)}
		}
		if err != nil {
			return err
		}
		if err := to.Base(base.Bytes()); err != nil {
			return err
		}
	}
	return s.commits(ctx, max(s.now.Base, 1), s.now.Next, revision, to.Commit)
}

// readHead reads the key head and remembers its value.
func (s *Store) readHead(ctx context.Context) (found bool, revision int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	reply, err := s.client.etcd.Get(ctx, s.client.key(headKey))
	if err != nil {
		return false, 0, requestError("read the head of the journal", err)
	}
	s.head, s.now = "", storedHead{}
	if len(reply.Kvs) == 0 {
		return false, reply.Header.Revision, nil
	}
	value := string(reply.Kvs[0].Value)
	now, err := parseHead(value)
	if err != nil {
		return true, 0, err
	}
	s.head, s.now = value, now
	return true, reply.Header.Revision, nil
}

func parseHead(value string) (storedHead, error) {
	var h storedHead
	if err := json.Unmarshal([]byte(value), &h); err != nil {
		return h, &journal.DamageError{File: headKey, Err: err}
	}
	if h.Version > storeVersion {
		return h, journal.ErrNewerFormat
	}
	return h, nil
}

// commits passes the commits with the records from first up to but not next, as of a revision.
func (s *Store) commits(ctx context.Context, first, next uint64, revision int64, visit func([]byte) error) error {
	var whole []byte
	var of string
	flush := func() error {
		if of == "" {
			return nil
		}
		return visit(whole)
	}
	err := s.each(ctx, commitsKey+number(first)+"/", commitsKey+number(next), revision, func(name string, value []byte) error {
		commit, _, _ := strings.Cut(strings.TrimPrefix(name, commitsKey), "/")
		if commit == of {
			whole = append(whole, value...)
			return nil
		}
		if err := flush(); err != nil {
			return err
		}
		of, whole = commit, bytes.Clone(value)
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}

// each passes the keys of a range in order, without the prefix, as of a revision.
func (s *Store) each(ctx context.Context, from, to string, revision int64, visit func(name string, value []byte) error) error {
	for more := true; more; {
		limited, cancel := context.WithTimeout(ctx, requestTimeout)
		reply, err := s.client.etcd.Get(limited, s.client.key(from), clientv3.WithRange(s.client.key(to)), clientv3.WithLimit(page), clientv3.WithRev(revision))
		cancel()
		if errors.Is(err, rpctypes.ErrCompacted) {
			return fmt.Errorf("%w: the journal changed while it was read", journal.ErrUnreachable)
		}
		if err != nil {
			return requestError("read the journal", err)
		}
		for _, kv := range reply.Kvs {
			name := strings.TrimPrefix(string(kv.Key), s.client.prefix)
			if err := visit(name, kv.Value); err != nil {
				return err
			}
			from = name + "\x00"
		}
		more = reply.More
	}
	return nil
}

// Begin implements journal.Blocks.
func (s *Store) Begin(ctx context.Context, head journal.BlockHead) (removed int, err error) {
	if s.head == "" {
		return 0, s.change(ctx, storedHead{Version: storeVersion, Next: head.Next, Journal: head.Data})
	}
	return s.removeObsolete(ctx)
}

// Append implements journal.Blocks.
func (s *Store) Append(ctx context.Context, first uint64, commit []byte, head journal.BlockHead) error {
	next := s.now
	next.Next, next.Journal = head.Next, head.Data
	parts := split(commit)
	folder := commitsKey + number(first) + "/"
	last := len(parts) - 1
	for i, part := range parts[:last] {
		if err := s.put(ctx, folder, i, part); err != nil {
			return err
		}
	}
	// Parts that an interrupted append left beyond the last one would become a part of this commit.
	return s.change(ctx, next,
		clientv3.OpDelete(s.client.key(folder+part(last+1)), clientv3.WithRange(s.client.key(end(folder)))),
		clientv3.OpPut(s.client.key(folder+part(last)), string(parts[last])))
}

// put stores a part of a block that no head names yet.
func (s *Store) put(ctx context.Context, folder string, i int, content []byte) error {
	return s.commit(ctx, s.head, clientv3.OpPut(s.client.key(folder+part(i)), string(content)))
}

// change replaces the head, together with other changes.
func (s *Store) change(ctx context.Context, next storedHead, ops ...clientv3.Op) error {
	value := encode(next)
	if err := s.commit(ctx, value, append(ops, clientv3.OpPut(s.client.key(headKey), value))...); err != nil {
		return err
	}
	s.head, s.now = value, next
	return nil
}

// commit makes changes in one transaction, if this agent leads and the head is the one that it knows. It tries again as long as the lease lasts, because an
// error does not say whether etcd made the changes. After is the value of the head after them.
func (s *Store) commit(ctx context.Context, after string, ops ...clientv3.Op) error {
	if s.leader == nil {
		return journal.ErrNotLeader
	}
	c := s.client
	sameHead := clientv3.Compare(clientv3.CreateRevision(c.key(headKey)), "=", 0)
	if s.head != "" {
		sameHead = clientv3.Compare(clientv3.Value(c.key(headKey)), "=", s.head)
	}
	var failed error
	for {
		left := s.leader.Left()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case left == 0 && failed != nil:
			return fmt.Errorf("%w: its lease has ended: %w", journal.ErrNotLeader, failed)
		case left == 0:
			return fmt.Errorf("%w: its lease has ended", journal.ErrNotLeader)
		}
		limited, cancel := context.WithTimeout(ctx, min(left, attemptTimeout))
		reply, err := c.etcd.Txn(limited).
			If(clientv3.Compare(clientv3.Value(c.key(leaderKey)), "=", s.leader.value), sameHead).
			Then(ops...).
			Else(clientv3.OpGet(c.key(leaderKey)), clientv3.OpGet(c.key(headKey))).
			Commit()
		cancel()
		switch {
		case err == nil && reply.Succeeded:
			return nil
		case err == nil:
			return s.refused(reply, after)
		case isPermanent(err):
			return requestError("write the journal", err)
		}
		failed = requestError("write the journal", err)
		time.Sleep(min(pause, left))
	}
}

// refused returns what it means that a transaction found another leader or another head. If the head is the one after the changes, an earlier try made them.
func (s *Store) refused(reply *clientv3.TxnResponse, after string) error {
	value := func(i int) string {
		kvs := reply.Responses[i].GetResponseRange().GetKvs()
		if len(kvs) == 0 {
			return ""
		}
		return string(kvs[0].GetValue())
	}
	leader, head := value(0), value(1)
	found, err := storedHead{}, error(nil)
	if head != "" {
		found, err = parseHead(head)
	}
	switch {
	case head == after && after != s.head:
		return nil
	case err != nil:
		return err
	case found.Next < s.now.Next:
		return fmt.Errorf("%w: it ends with record %d, this agent has written record %d", journal.ErrRolledBack, max(found.Next, 1)-1, s.now.Next-1)
	case leader != s.leader.value:
		return fmt.Errorf("%w: etcd does not show it as the leader", journal.ErrNotLeader)
	}
	return fmt.Errorf("%w: the journal has another head than this agent wrote", journal.ErrNotLeader)
}

// isPermanent reports whether trying a transaction again is useless.
func isPermanent(err error) bool {
	for _, permanent := range []error{
		rpctypes.ErrNoSpace, rpctypes.ErrRequestTooLarge, rpctypes.ErrTooManyOps, rpctypes.ErrPermissionDenied, rpctypes.ErrAuthFailed, rpctypes.ErrUserEmpty,
	} {
		if errors.Is(err, permanent) {
			return true
		}
	}
	return false
}

func isGone(err error) bool { return errors.Is(err, rpctypes.ErrLeaseNotFound) }

func number(n uint64) string { return fmt.Sprintf("%020d", n) }
func part(i int) string      { return fmt.Sprintf("%04d", i) }

// end returns the first name after those that begin with a folder, which ends with a slash.
func end(folder string) string { return strings.TrimSuffix(folder, "/") + "0" } // '0' follows '/'

func parseNumber(name, folder string) (uint64, bool) {
	digits, _, _ := strings.Cut(strings.TrimPrefix(name, folder), "/")
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil
}

// split returns the parts in which a block is stored, at least one.
func split(b []byte) [][]byte {
	parts := [][]byte{}
	for len(b) > partSize {
		parts = append(parts, b[:partSize])
		b = b[partSize:]
	}
	return append(parts, b)
}
