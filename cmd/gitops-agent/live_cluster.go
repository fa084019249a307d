package main

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"

	"gitops-agent/cmd/gitops-agent/internal/planview"
	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/plan"
)

// liveCluster is the cluster as a plan reads it: the guests that the agent owns from the beginning, while the manifests are read and parsed, and then
// the others. Its client cannot write.
type liveCluster struct {
	stop     func() // closes the connections
	early    *observe.Early
	progress *term.Progress
	guests   atomic.Int64 // that the plan reads; 0 shows no progress yet, because notes about the manifests may still be printed
}

func readCluster(ctx context.Context, config agent.Config, state journal.State, notes io.Writer, log *slog.Logger) (*liveCluster, error) {
	cluster, err := config.ProxmoxReader(log)
	if err != nil {
		return nil, err
	}
	c := &liveCluster{stop: cluster.Close, progress: term.NewProgress(notes)}
	counting := &observe.CountingReader{Reader: cluster, Counted: func(n int) {
		if guests := int(c.guests.Load()); guests != 0 {
			c.progress.Show("read %d of %d guests", n, max(guests, n))
		}
	}}
	c.early = observe.ReadEarly(ctx, counting, slices.Collect(maps.Keys(state.Owned)))
	return c, nil
}

// preview computes the plan for the cluster as it is now.
func (c *liveCluster) preview(ctx context.Context, config agent.Config, manifests planview.Subject) (reconcile.Preview, error) {
	defer c.progress.End()
	c.guests.Store(int64(guestsToRead(manifests)))
	return reconcile.NewPreview(ctx, c.early.All, manifests.Set, manifests.Revision, manifests.State, config.Minimum(), previewPolicy(config))
}

func (c *liveCluster) close() {
	c.early.Stop()
	c.progress.End()
	c.stop()
}

// previewPolicy returns the limits of the config's signers. Without a valid policy the agent does not start, and the plan shows no limits.
func previewPolicy(config agent.Config) reconcile.PreviewPolicy {
	p := reconcile.PreviewPolicy{SeparateApprover: config.Trust.Guards.SeparateApprover, OwnVMID: config.Proxmox.SelfVMID}
	if policy, err := config.Policy(); err == nil {
		p.Limits = intake.LimitsOf(policy)
	}
	return p
}

// guestsToRead counts the guests that a plan reads: those whose manifests have a vmid, and those that the agent owns. It ignores problems of
// the manifests, which the plan reports.
func guestsToRead(manifests planview.Subject) int {
	vmids := make(map[int]bool)
	for vmid := range manifests.State.Owned {
		vmids[vmid] = true
	}
	guests, _ := plan.WantedGuests(manifests.Set, manifests.State)
	for _, d := range guests {
		if d.VMID != 0 {
			vmids[d.VMID] = true
		}
	}
	return len(vmids)
}
