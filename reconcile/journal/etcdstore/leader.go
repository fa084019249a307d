package etcdstore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"gitops-agent/reconcile/journal"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// TTL is how long a leader leads without an answer of etcd.
	TTL = 10 * time.Second
	// Margin is how much of its lease a leader must have left to send a call to the cluster.
	Margin = 3 * time.Second
	// Quiet is how long a new leader leaves guests alone for which its predecessor may still have sent a call. It is longer than any call.
	Quiet = 40 * time.Second

	renewEvery = TTL / 5
)

const (
	leaderKey = "leader"
	epochKey  = "epoch"
)

// Leader is who leads.
type Leader struct {
	Number uint64 `json:"number"` // counts the elections
	Name   string `json:"name"`
	Nonce  string `json:"nonce"`
}

// lastEpoch is the value of the key epoch.
type lastEpoch struct {
	Leader
	Released bool `json:"released"` // no call of that leader awaits a reply
}

// Leadership is the right to write to the journal, as long as its lease lasts. It may be used from several goroutines.
type Leadership struct {
	Leader
	// QuietUntil is until when guests with open steps of the predecessor are left alone; zero if it had released its lease.
	QuietUntil time.Time

	client *Client
	value  string // of the key leader
	lease  clientv3.LeaseID
	ended  chan struct{}
	stop   context.CancelFunc
	wait   sync.WaitGroup

	mu       sync.Mutex
	deadline time.Time // by the monotonic clock of this host: etcd does not end the lease before
	cause    error
}

// Leader returns who leads, or false if nobody does.
func (c *Client) Leader(ctx context.Context) (Leader, bool, error) {
	var now Leader
	value, found, err := c.get(ctx, leaderKey)
	if err == nil && found {
		err = json.Unmarshal([]byte(value), &now)
	}
	return now, found, err
}

// Elect waits until nobody leads and makes this agent the leader under a name. It returns an error only if ctx ends; it passes other errors, and nil when the
// next try got an answer, to report.
func (c *Client) Elect(ctx context.Context, name string, report func(error)) (*Leadership, error) {
	for {
		l, err := c.tryElect(ctx, name)
		if ctx.Err() != nil {
			if l != nil {
				l.Release(true)
			}
			return nil, ctx.Err()
		}
		if report(err); l != nil {
			return l, nil
		}
		if err == nil {
			err = c.awaitNoLeader(ctx)
		}
		if err != nil && ctx.Err() == nil {
			report(err)
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}
}

// TryElect makes this agent the leader if nobody leads. It returns nil if another agent does.
func (c *Client) TryElect(ctx context.Context, name string) (*Leadership, error) {
	return c.tryElect(ctx, name)
}

func (c *Client) tryElect(ctx context.Context, name string) (*Leadership, error) {
	if _, found, err := c.get(ctx, leaderKey); found || err != nil {
		return nil, err
	}
	before, known, err := c.get(ctx, epochKey)
	if err != nil {
		return nil, err
	}
	var last lastEpoch
	if known {
		if err := json.Unmarshal([]byte(before), &last); err != nil {
			return nil, fmt.Errorf("read %s: %w", c.key(epochKey), err)
		}
	}
	asked := time.Now()
	limited, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	lease, err := c.etcd.Grant(limited, int64(TTL/time.Second))
	if err != nil {
		return nil, requestError("get a lease", err)
	}
	l := &Leadership{
		Leader: Leader{Number: last.Number + 1, Name: name, Nonce: rand.Text()[:16]}, client: c, lease: lease.ID, ended: make(chan struct{}),
		deadline: asked.Add(time.Duration(lease.TTL) * time.Second),
	}
	l.value = encode(l.Leader)
	sameEpoch := clientv3.Compare(clientv3.CreateRevision(c.key(epochKey)), "=", 0)
	if known {
		sameEpoch = clientv3.Compare(clientv3.Value(c.key(epochKey)), "=", before)
	}
	won, err := c.etcd.Txn(limited).
		If(clientv3.Compare(clientv3.CreateRevision(c.key(leaderKey)), "=", 0), sameEpoch).
		Then(clientv3.OpPut(c.key(leaderKey), l.value, clientv3.WithLease(lease.ID)), clientv3.OpPut(c.key(epochKey), encode(lastEpoch{Leader: l.Leader}))).
		Commit()
	if err != nil || !won.Succeeded {
		l.revoke()
		if err != nil {
			return nil, requestError("become the leader", err)
		}
		return nil, nil //nolint:nilnil // another agent was faster
	}
	if known && !last.Released {
		l.QuietUntil = time.Now().Add(Quiet)
	}
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	l.wait.Go(func() { l.renew(renewing) })
	return l, nil
}

// awaitNoLeader returns when nobody leads.
func (c *Client) awaitNoLeader(ctx context.Context) error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	limited, stop := context.WithTimeout(ctx, requestTimeout)
	now, err := c.etcd.Get(limited, c.key(leaderKey))
	stop()
	if err != nil {
		return requestError("read the leader", err)
	}
	if len(now.Kvs) == 0 {
		return nil
	}
	changes := c.etcd.Watch(ctx, c.key(leaderKey), clientv3.WithRev(now.Header.Revision+1))
	contact := time.NewTicker(contactEvery)
	defer contact.Stop()
	for {
		select {
		case reply, open := <-changes:
			if !open {
				return ctx.Err()
			}
			if err := reply.Err(); err != nil {
				return requestError("watch the leader", err)
			}
			for _, event := range reply.Events {
				if event.Type == clientv3.EventTypeDelete {
					return nil
				}
			}
		case <-contact.C: // a watch of an etcd that went back to an older copy stays silent until it has caught up
			if _, found, err := c.get(ctx, leaderKey); !found || err != nil {
				return err
			}
		}
	}
}

// MayLead returns why etcd would let no agent lead although it can be read: it has no space left, or refuses the user. It asks for a lease that nothing uses.
// Another error, such as a missing answer, says nothing about that: then it returns nil.
func (c *Client) MayLead(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	lease, err := c.etcd.Grant(limited, int64(TTL/time.Second))
	switch {
	case err == nil:
		_, _ = c.etcd.Revoke(limited, lease.ID) // it ends by itself
		return nil
	case isPermanent(err):
		return requestError("get a lease", err)
	}
	return nil
}

// renew renews the lease until ctx ends, or until etcd may have ended the lease.
func (l *Leadership) renew(ctx context.Context) {
	defer close(l.ended)
	failed := errors.New("no answer of etcd")
	wait := renewEvery
	for {
		left := l.left()
		if left <= 0 {
			l.lose(failed)
			return
		}
		select {
		case <-ctx.Done():
			l.lose(errReleased)
			return
		case <-time.After(min(wait, left)):
		}
		asked := time.Now()
		limited, cancel := context.WithTimeout(ctx, attemptTimeout)
		reply, err := l.client.etcd.KeepAliveOnce(limited, l.lease)
		cancel()
		if err == nil {
			l.extend(asked.Add(time.Duration(reply.TTL) * time.Second))
			wait = renewEvery
			continue
		}
		failed, wait = err, pause
		if isGone(err) {
			l.lose(err)
			return
		}
	}
}

var errReleased = errors.New("its lease was released")

func (l *Leadership) extend(deadline time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if deadline.After(l.deadline) {
		l.deadline = deadline
	}
}

// lose ends the leadership.
func (l *Leadership) lose(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deadline, l.cause = time.Time{}, err
}

// left returns how much of the lease is left for certain. A process that was stopped meanwhile finds the time that has passed.
func (l *Leadership) left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Until(l.deadline)
}

// Left returns how much of the lease is left for certain, 0 if nothing is.
func (l *Leadership) Left() time.Duration { return max(l.left(), 0) }

// Check returns an error that wraps journal.ErrNotLeader if less than Margin of the lease is left.
func (l *Leadership) Check() error {
	if left := l.left(); left < Margin {
		return fmt.Errorf("%w: %.1f s of its lease are left, want %s", journal.ErrNotLeader, max(left, 0).Seconds(), Margin)
	}
	return nil
}

// Ended is closed when this agent does not lead any more.
func (l *Leadership) Ended() <-chan struct{} { return l.ended }

// Cause returns why this agent does not lead any more, nil while it does.
func (l *Leadership) Cause() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}

// Release ends the leadership, so that another agent leads at once. Clean says that no call of this agent awaits a reply: then the successor leaves no guest
// alone. Without an answer of etcd, the lease ends by itself.
func (l *Leadership) Release(clean bool) {
	l.stop()
	l.wait.Wait()
	defer l.revoke()
	if !clean {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), attemptTimeout)
	defer cancel()
	c := l.client
	_, _ = c.etcd.Txn(ctx).
		If(clientv3.Compare(clientv3.Value(c.key(leaderKey)), "=", l.value)).
		Then(clientv3.OpDelete(c.key(leaderKey)), clientv3.OpPut(c.key(epochKey), encode(lastEpoch{l.Leader, true}))).
		Commit()
}

func (l *Leadership) revoke() {
	ctx, cancel := context.WithTimeout(context.Background(), attemptTimeout)
	defer cancel()
	_, _ = l.client.etcd.Revoke(ctx, l.lease) // it ends by itself
}

// encode returns v as JSON. The types of this package cannot fail.
func encode(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}
