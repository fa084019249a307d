package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/journal/etcdstore"
	"gitops-agent/reconcile/report"
)

// replicas is this agent among others that share a journal in etcd: the leader writes, the others follow and are ready to lead.
type replicas struct {
	client *etcdstore.Client
	name   string
	agents int // that share the journal, as the config says
	log    *slog.Logger
	said   *event.Subject // whether etcd can be asked who leads; only campaign uses it

	mu      sync.Mutex
	leading *etcdstore.Leadership // nil for a standby
	leader  etcdstore.Leader      // that was seen last
	refusal error                 // why etcd would let no agent lead although it answers; nil if it would
	since   time.Time             // when this agent got its role
}

// openReplicas returns nil if the journal is in files.
func (c Config) openReplicas(log *slog.Logger) (*replicas, error) {
	if !c.UsesEtcd() {
		return nil, nil //nolint:nilnil // one agent has no replicas
	}
	client, err := c.OpenEtcd()
	if err != nil {
		return nil, err
	}
	return &replicas{client: client, name: c.replicaName(), agents: c.replicas(), log: log, said: event.NewSink(log).Subject(), since: time.Now()}, nil
}

// leadership returns the right to write, nil for a standby.
func (r *replicas) leadership() *etcdstore.Leadership {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leading
}

// isStandby reports whether another agent writes.
func (r *replicas) isStandby() bool { return r != nil && r.leadership() == nil }

// campaign waits until this agent leads, or until ctx ends. It returns whether it leads.
func (r *replicas) campaign(ctx context.Context) bool {
	watching, stop := context.WithCancel(ctx)
	var wait sync.WaitGroup
	wait.Go(func() { r.watch(watching) })
	l, err := r.client.Elect(ctx, r.name, r.noteTrouble)
	stop()
	wait.Wait()
	if err != nil {
		return false
	}
	r.lead(l)
	return true
}

func (r *replicas) lead(l *etcdstore.Leadership) {
	r.mu.Lock()
	r.leading, r.leader, r.since = l, l.Leader, time.Now()
	r.mu.Unlock()
	r.log.Info("this agent leads", "name", r.name, "number", l.Number, "quiet", max(time.Until(l.QuietUntil), 0).Round(time.Second))
}

// leadNow makes this agent the leader if nobody leads.
func (r *replicas) leadNow(ctx context.Context) error {
	l, err := r.client.TryElect(ctx, r.name)
	if err != nil {
		return err
	}
	if l == nil {
		now, _, _ := r.client.Leader(ctx) // only for the message
		return fmt.Errorf("another agent leads: %s; stop it first", now.Name)
	}
	r.lead(l)
	return nil
}

// stepDown ends the leadership, if there is one. Clean says that no call of this agent awaits a reply.
func (r *replicas) stepDown(clean bool) {
	r.mu.Lock()
	l := r.leading
	r.leading, r.since = nil, time.Now()
	r.mu.Unlock()
	if l == nil {
		return
	}
	cause := l.Cause()
	clean = clean && !time.Now().Before(l.QuietUntil) // a call of the leader before may still act
	l.Release(clean)
	r.log.Info("this agent does not lead any more", "name", r.name, "number", l.Number, "clean", clean, "cause", cause)
}

// noteTrouble states that etcd does not answer, so that no agent can be elected. That it refuses to let one lead is told by the session, for the journal.
func (r *replicas) noteTrouble(err error) {
	r.said.Is(event.EtcdSilent, journal.FaultOf(err) == journal.FaultUnreachable, event.ID{}, func() event.Details { return event.Details{Fields: []any{"error", err}} }, nil)
}

// probeEvery is how often an agent asks etcd for a lease that nothing uses.
const probeEvery = 15 * time.Second

// probe finds out, until ctx ends, whether etcd would let an agent lead. The leader needs that as well: its lease lives on in an etcd that takes no records.
func (r *replicas) probe(ctx context.Context) {
	for ctx.Err() == nil {
		err := r.client.MayLead(ctx)
		if ctx.Err() != nil {
			return
		}
		r.mu.Lock()
		r.refusal = err
		r.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(probeEvery):
		}
	}
}

// refused returns why etcd would let no agent lead although it answers, nil if it would.
func (r *replicas) refused() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refusal
}

// watchEvery is how often a standby reads who leads.
const watchEvery = 5 * time.Second

// watch reads who leads, until ctx ends.
func (r *replicas) watch(ctx context.Context) {
	for ctx.Err() == nil {
		now, found, err := r.client.Leader(ctx)
		if ctx.Err() != nil {
			return
		}
		r.mu.Lock()
		if !found || err != nil { // no agent leads, or it is not known which one
			now = etcdstore.Leader{Number: r.leader.Number} // of the newest election
		}
		r.leader = now
		r.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(watchEvery):
		}
	}
}

// report describes this agent among the others.
func (r *replicas) report() *report.Replica {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := &report.Replica{Role: report.RoleStandby, Name: r.name, Leader: r.leader.Name, Number: r.leader.Number, Since: r.since, Agents: r.agents}
	if r.leading != nil {
		now.Role, now.LeaseMS = report.RoleLeader, r.leading.Left().Milliseconds()
	}
	return now
}

// openJournal opens the journal as the leader, or follows it. Before is the one of the session before, which is closed; nil at the start.
func (r *replicas) openJournal(opts journal.Options, before *journal.Journal) (*journal.Journal, error) {
	l := r.leadership()
	opts.Blocks = r.client.Store(l)
	if l != nil {
		return journal.Open(opts)
	}
	opts.Before = before
	return journal.Follow(context.Background(), opts)
}

// close ends the connection.
func (r *replicas) close() error {
	if r == nil {
		return nil
	}
	return r.client.Close()
}

// journalLost waits until a leader has to step down: its lease has ended, or the journal takes no records. An etcd that was rolled back is no reason: as
// long as this agent leads, no agent that does not know of it can write.
func journalLost(ctx context.Context, l *etcdstore.Leadership, j *journal.Journal) {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.Ended():
			return
		case <-look.C:
			if err := j.Healthy(); err != nil && !errors.Is(err, journal.ErrRolledBack) {
				return
			}
		}
	}
}
