package reconcile

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/report"
)

// readings tracks what is read of the cluster, and whether the cluster can be worked with. It belongs to the engine's goroutine.
type readings struct {
	observer *observe.Observer
	said     *event.Subject
	ask      func() []cluster.Endpoint // the state of each endpoint; nil if it is not known
	vmlist   string                    // the vmlist file
	tick     time.Duration

	rounds    rounds
	proxmox   report.Proxmox
	listErr   error              // why the newest list of guests could not be read
	readyErr  error              // why the cluster could not be written to when it was asked last
	outages   int                // consecutive readings of the cluster that failed
	endpoints []cluster.Endpoint // in this cycle
}

func newReadings(opts Options, events *event.Sink) readings {
	r := readings{
		observer: observe.New(opts.Cluster, opts.Tick, opts.Resync), said: events.Subject().ReadEvery(opts.Tick), ask: opts.Endpoints, vmlist: opts.VMList, tick: opts.Tick,
	}
	r.said.Assume(event.ClusterLost, event.ID{string(cluster.OutageUnread)}) // so that the first answer is told
	r.observer.UseVMList(opts.VMList, opts.Check)
	r.rounds.deadline = time.NewTimer(time.Hour)
	r.rounds.deadline.Stop()
	return r
}

// Begin takes the state of the cluster and of its endpoints for a cycle.
func (r *readings) Begin(time.Time) {
	r.proxmox = r.state()
	if r.ask != nil {
		r.endpoints = r.ask()
	}
}

// Report prints the state of the cluster.
func (r *readings) Report(out *report.Report) {
	out.Proxmox = r.proxmox
	out.Proxmox.Endpoints = r.endpoints
}

// Tell states whether the cluster can be worked with, and which clocks differ.
func (r *readings) Tell(ctx context.Context) {
	r.noteOutage(ctx)
	r.noteClocks()
}

// noteOutage states whether the cluster can be worked with, and why not.
func (r *readings) noteOutage(ctx context.Context) {
	p := &r.proxmox
	if p.Reason == cluster.OutageUnread || ctx.Err() != nil {
		return
	}
	r.said.Is(event.ClusterLost, p.Reason != cluster.OutageNone, event.ID{string(p.Reason)}, func() event.Details {
		return event.Details{Fields: []any{"reason", string(p.Reason), "error", p.Error}}
	}, nil)
}

// noteClocks states which clocks of endpoints differ from the clock of this host.
func (r *readings) noteClocks() {
	for _, endpoint := range r.endpoints {
		if endpoint.ClockDiffers() {
			r.said.Lasts(event.ClockDiffers, event.ID{endpoint.Address}, func() event.Details {
				return event.Details{Fields: []any{"endpoint", endpoint.Address, "ahead_seconds", endpoint.ClockAhead}}
			})
		}
	}
	r.said.Rest(event.ClockDiffers, nil)
}

// clocksDiffer reports whether the clock of a node is known to differ from the clock of this host.
func (r *readings) clocksDiffer() bool {
	return slices.ContainsFunc(r.endpoints, cluster.Endpoint.ClockDiffers)
}

// noteTrouble states which sources of readings fail.
func (r *readings) noteTrouble(now observe.Trouble) {
	r.said.Is(event.VMListUnused, now.VMList != "", event.ID{now.VMList}, func() event.Details {
		return event.Details{Fields: []any{"path", r.vmlist, "reason", now.VMList}}
	}, nil)
	r.said.Is(event.HAUnread, now.HA != "", event.ID{now.HA}, func() event.Details { return event.Details{Fields: []any{"error", now.HA}} }, nil)
}

// rounds are the readings of the cluster as the engine sees them: it begins rounds, goes on without waiting, and runs a cycle when a round has ended or
// its deadline is over.
type rounds struct {
	began    time.Time // of the newest round; zero if it has ended
	due      bool      // another round begins when the present one has ended
	deadline *time.Timer
}

// isLate reports whether the newest round has not ended within its deadline.
func (r *rounds) isLate(now time.Time) bool {
	return !r.began.IsZero() && now.Sub(r.began) >= cycleDeadline
}

// noteList notes whether the list of guests could be read.
func (r *readings) noteList(err error) {
	if r.listErr = err; err == nil {
		r.proxmox.LastSuccess = time.Now()
	}
}

// state returns the state of the cluster for the report.
func (r *readings) state() report.Proxmox {
	p := report.Proxmox{LastSuccess: r.proxmox.LastSuccess, HAError: r.observer.Trouble().HA, VMList: r.observer.VMListStatus()}
	err := r.err()
	if p.Reason = cluster.OutageOf(err); err != nil {
		p.Error = err.Error()
	} else if p.LastSuccess.IsZero() {
		p.Reason = cluster.OutageUnread
	}
	p.Ready = p.Reason == cluster.OutageNone
	return p
}

// err returns why the cluster cannot be worked with, nil if it can.
func (r *readings) err() error {
	switch {
	case r.listErr != nil:
		return r.listErr
	case r.readyErr != nil:
		return fmt.Errorf("not ready for writes: %w", r.readyErr)
	}
	return nil
}

// maxTick bounds the time between two readings of a cluster that does not answer.
const maxTick = 2 * time.Minute

// nextTick returns the time until the next reading of a cluster that does not answer. It grows with each failure.
func (r *readings) nextTick() time.Duration {
	r.outages = min(r.outages+1, 4)
	return max(r.tick, min(r.tick<<(r.outages-1), maxTick))
}

// cycleDeadline is how long a cycle waits for replies that it has asked for. Afterwards it goes on with what is known, and the report names what is late.
const cycleDeadline = 5 * time.Second
