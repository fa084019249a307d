package observe

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// readsPerNode is how many guests of a node are read at the same time. Proxmox answers with three workers. With six requests in flight each
// worker finds its next request waiting, instead of waiting for a reply and the next request to travel.
const readsPerNode = 6

// nodeReads are the readings of the guests of one node. Each node has readers of its own, so that a node that does not answer delays no other node.
type nodeReads struct {
	mu      sync.Mutex
	queue   []readJob
	readers int
}

type readJob struct {
	round   *round
	row     cluster.Row
	listed  bool
	version guest.Version

	states      *runStates   // of the guests of the node, nil if the guest itself is asked
	inInventory guest.Status // the run state there, which may lag

	firewall, names bool // also read the guest's firewall, and its aliases and sets

	snapshots bool // also read the guest's snapshots
}

// flight is a reading that was asked for and has not arrived.
type flight struct {
	since time.Time
	node  string
}

// next returns the next reading. Without one the reader ends.
func (n *nodeReads) next() (readJob, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.queue) == 0 {
		n.readers--
		return readJob{}, false
	}
	job := n.queue[0]
	n.queue = n.queue[1:]
	return job, true
}

// add queues readings and returns how many readers have to start.
func (n *nodeReads) add(jobs []readJob) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.queue = append(n.queue, jobs...)
	start := max(min(readsPerNode-n.readers, len(jobs)), 0)
	n.readers += start
	return start
}

// launch starts the readings of guests, with a bounded number in flight for each node.
func (o *Observer) launch(ctx context.Context, r *round, vmids []int) {
	now := time.Now()
	jobs := make(map[string][]readJob)
	for _, vmid := range vmids {
		row, listed := o.rowOf(vmid)
		inInventory, _ := o.inventory.Row(vmid)
		jobs[row.Node] = append(jobs[row.Node], readJob{
			round: r, row: row, listed: listed, version: o.inventory.Version, snapshots: r.request.Snapshots[vmid], firewall: o.firewallDue(vmid, now), names: o.firewalls[vmid],
			inInventory: inInventory.Status,
		})
		o.flying[vmid] = flight{since: now, node: row.Node}
		delete(o.due, vmid)
	}
	o.expect(r, len(vmids))
	for name, list := range jobs {
		shareRunStates(name, list)
		n := o.nodes[name]
		if n == nil {
			n = &nodeReads{}
			o.nodes[name] = n
		}
		for range n.add(list) {
			o.calls.Go(func() { // one goroutine reads many guests, so that its stack grows once
				for job, more := n.next(); more; job, more = n.next() {
					began := time.Now()
					reading := Find(ctx, o.reader, job.states.confirm(ctx, o.reader, job.row, job.inInventory), job.listed, job.version)
					if job.snapshots && reading.Err == nil && reading.Absence == "" {
						reading.Seen, _ = WithSnapshots(ctx, o.reader, reading.Seen) // without them the order waits for the next reading
					}
					if job.firewall && reading.Err == nil && reading.Absence == "" {
						reading.Seen = WithFirewall(ctx, o.reader, reading.Seen, job.names)
					}
					o.mail.post(arrival{round: job.round, part: PartGuests, began: began, reading: reading})
				}
			})
		}
	}
}

// pendingNodes returns the nodes with readings that were asked for before a time and have not arrived, sorted by name.
func (o *Observer) pendingNodes(before time.Time) []Pending {
	nodes := make(map[string]*Pending)
	for _, f := range o.flying {
		if !f.since.Before(before) {
			continue
		}
		if nodes[f.node] == nil {
			nodes[f.node] = &Pending{Part: PartGuests, Node: f.node, Since: f.since}
		}
		nodes[f.node].Calls++
		if f.since.Before(nodes[f.node].Since) {
			nodes[f.node].Since = f.since
		}
	}
	var list []Pending
	for _, p := range nodes {
		list = append(list, *p)
	}
	slices.SortFunc(list, func(a, b Pending) int { return strings.Compare(a.Node, b.Node) })
	return list
}
