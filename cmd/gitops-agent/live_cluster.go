package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/planview"
	"gitops-agent/cmd/gitops-agent/internal/prerequisites"
	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"
	"gitops-agent/internal/proxmox"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/preflight"
	"gitops-agent/reconcile/recovery"
)

// liveCluster is the cluster as a plan reads it: the guests with an agent's marker from the beginning, while the journal and the manifests are read, and then
// the others. Its client cannot write.
type liveCluster struct {
	reader   *proxmox.Reader
	early    *observe.Early
	progress *term.Progress
	guests   atomic.Int64 // that the plan reads; 0 shows no progress yet, because notes about the manifests may still be printed
}

func readCluster(ctx context.Context, config agent.Config, notes io.Writer, log *slog.Logger) (*liveCluster, error) {
	client, err := config.ProxmoxReader(log)
	if err != nil {
		return nil, err
	}
	c := &liveCluster{reader: client, progress: term.NewProgress(notes)}
	counting := &observe.CountingReader{Reader: client, Counted: func(n int) {
		if guests := int(c.guests.Load()); guests != 0 {
			c.progress.Show("read %d of %d guests", n, max(guests, n))
		}
	}}
	c.early = observe.ReadEarly(ctx, counting)
	return c, nil
}

// preview computes the plan for the cluster as it is now.
func (c *liveCluster) preview(ctx context.Context, config agent.Config, manifests planview.Subject) (reconcile.Preview, error) {
	defer c.progress.End()
	c.guests.Store(int64(guestsToRead(manifests)))
	read := reconcile.PreviewReader{Guests: c.early.All, Guest: func(ctx context.Context, row cluster.Row, snapshots bool) (guest.Observed, error) {
		seen, err := observe.ReadGuest(ctx, c.reader, row, guest.Version{})
		if err != nil || !snapshots {
			return seen, err
		}
		return observe.WithSnapshots(ctx, c.reader, seen)
	}, Files: func(ctx context.Context, places []cluster.FilePlace) map[cluster.FilePlace]cluster.Files {
		return observe.ReadFiles(ctx, c.reader, places)
	}, Objects: func(ctx context.Context, reads map[guest.Kind][]string) map[guest.Kind]cluster.Objects {
		return observe.ReadObjects(ctx, c.reader, reads)
	}}
	host := previewPolicy(config)
	var err error
	if host.Rules, err = config.Rules(); err != nil {
		return reconcile.Preview{}, err
	}
	return reconcile.NewPreview(ctx, read, manifests.Set, manifests.Revision, manifests.State, config.Minimum(), host)
}

func (c *liveCluster) close() {
	c.early.Stop()
	c.progress.End()
	c.reader.Close()
}

// assume returns the state of an agent that has created the guests of some manifests, as far as the cluster shows it.
func (c *liveCluster) assume(ctx context.Context, base planview.Subject) (journal.State, error) {
	guests, err := plan.WantedGuests(base.Set, base.State)
	if err != nil {
		return journal.State{}, err
	}
	var vmids []int
	for i := range guests {
		if guests[i].VMID != 0 {
			vmids = append(vmids, guests[i].VMID)
		}
	}
	got, err := c.early.All(ctx, vmids, nil, nil)
	if err != nil {
		return journal.State{}, fmt.Errorf("read cluster: %w", err)
	}
	return recovery.Assume(recovery.Input{Cluster: base.Set.Cluster.Name, Guests: guests, VMIDs: base.Set.Cluster.VMIDs, Got: got}, time.Now()), nil
}

// problems returns what the guests and other objects of a plan that differ need, and the cluster does not have. Writer is the token with which the agent writes, "" for
// the one that reads. It adds to the preview the volumes of new guests that are larger than their manifests ask for.
func (c *liveCluster) problems(ctx context.Context, preview reconcile.Preview, labels []string, writer string) []planview.Problem {
	guests := preflight.Concerned(preview.Guests, preview.Plan, preview.Observed.Inventory)
	images := preflight.ConcernedImages(preview.Images, preview.Plan)
	former := preflight.ConcernedFormer(preview.Plan)
	objects := preflight.ConcernedObjects(preview.Objects, preview.Plan)
	takings := plan.Takings(preview.Plan, preview.Observed)
	if len(labels) > 0 {
		takings = slices.DeleteFunc(takings, func(t plan.Taking) bool { return !slices.Contains(labels, t.Ref.Label()) })
		objects = slices.DeleteFunc(objects, func(d kind.Desired) bool { return !slices.Contains(labels, d.Label()) })
		images = slices.DeleteFunc(images, func(d image.Desired) bool { return !slices.Contains(labels, d.Ref().Label()) })
		former = slices.DeleteFunc(former, func(f image.Former) bool { return !slices.Contains(labels, f.Ref().Label()) })
		guests = slices.DeleteFunc(guests, func(d guest.Desired) bool { return !slices.Contains(labels, d.Label()) })
	}
	if len(guests)+len(images)+len(former)+len(objects) == 0 {
		return nil
	}
	found := prerequisites.Find(ctx, c.reader, prerequisites.Options{Guests: guests, Changing: objects, ChangingImages: images, Objects: preview.Objects, Images: preview.Images, Made: preview.Guests, Takings: takings, Inventory: &preview.Observed.Inventory, Writer: writer, OnlyNeeded: true})
	maps.Copy(preview.Larger, found.Larger)
	var problems []planview.Problem
	for _, f := range found.Failures {
		problems = append(problems, planview.Problem{Check: f.Check, Message: "not checked: " + f.Err.Error(), Hint: hintFor(f.Err), Unchecked: true})
	}
	if found.ReadOnly {
		problems = append(problems, planview.Problem{
			Check: "privileges", Message: "not checked: the token may only read", Hint: "--agent-token USER@REALM!NAME checks those of the agent's token", Unchecked: true,
		})
	}
	return append(problems, planview.NewProblems(found.Unresolved, found.Missing(guests, images, former, objects))...)
}

// previewPolicy returns the limits of the config's signers. Without a valid policy the agent does not start, and the plan shows no limits.
func previewPolicy(config agent.Config) reconcile.PreviewPolicy {
	p := reconcile.PreviewPolicy{SeparateApprover: config.Trust.Guards.SeparateApprover, OwnVMID: config.Proxmox.SelfVMID, AllowedServer: config.AllowedServer(), Fingerprints: config.FingerprintKey()}
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
