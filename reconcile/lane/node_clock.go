package lane

import (
	"context"
	"time"

	"gitops-agent/reconcile/journal"
)

// nodeClock is a reading of the uptime of a step's node. It is a clock that no restart of the agent and no step of a time stops, until the node boots.
type nodeClock struct {
	uptime time.Duration // 0 if it was not read
	after  time.Duration // how long the step had been open for certain when it was read
}

// lastClock returns the last reading for a step: that of this process, or the journaled one.
func (w *Worker) lastClock(open journal.OpenStep) nodeClock {
	if clock, read := w.clocks.Load(open.Step); read {
		return clock.(nodeClock)
	}
	return nodeClock{open.Uptime, open.UptimeAt}
}

// askNode reads the uptime of the node of a step whose call may still act, and returns what is left of the doubt. It has to be read before the guest: what
// the node forgot in its boot cannot act on what the guest shows afterwards.
//
// The uptime continues while no agent runs, so it shows the time between two processes. And if the node was booted after the last call had been sent, and
// after Proxmox's proxies had stopped to forward it, the call is lost: it waited in a process of the node, which the boot ended.
func (w *Worker) askNode(ctx context.Context, open journal.OpenStep, d doubt) doubt {
	if !inDoubt(open) || d.repeats || !time.Now().Before(d.late) {
		return d
	}
	waited, before := time.Since(d.since), w.lastClock(open)
	uptime, err := w.cluster.Uptime(ctx, open.Node)
	if err != nil {
		return d // the wait goes on without it
	}
	if byNode := before.after + uptime - before.uptime - time.Second; before.uptime > 0 && byNode > waited && !w.begunHere(open.Step) {
		w.mu.Lock()
		w.waited[open.Step] += byNode - waited
		w.mu.Unlock()
		waited, d = byNode, w.doubtAbout(open)
	}
	w.clocks.Store(open.Step, nodeClock{uptime, waited})
	booted := waited-uptime > refusedTime || uptime < before.uptime && before.after > refusedTime
	if booted && open.Dispatched+1 == calls(open) { // another call of the step may have gone to another node
		d.late = time.Time{}
	}
	return d
}
