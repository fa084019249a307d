package lane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/queue"
)

// image returns what the manifests want of an Image, and whether one describes it.
func (b *Basis) image(label string) (image.Desired, bool) {
	i := slices.IndexFunc(b.Images, func(d image.Desired) bool { return d.Ref().Label() == label })
	if i < 0 {
		return image.Desired{}, false
	}
	return b.Images[i], true
}

// plannedImage returns the plan of an Image that was read now.
func (b *Basis) plannedImage(d image.Desired, files map[cluster.FilePlace]cluster.Files, state journal.State) plan.Guest {
	want := plan.Desired{Cluster: b.Cluster, Revision: b.Revision, Images: plan.Images{Wanted: []image.Desired{d}, Downloaded: state.Downloaded, Allowed: b.AllowedServer}}
	return plan.New(want, cluster.Snapshot{Inventory: b.Inventory, Files: files}).Guests[0]
}

// advanceImage executes the next released step of an Image. It returns whether another step may follow.
func (w *Worker) advanceImage(ctx context.Context, t *turn) (again bool, err error) {
	basis := w.basis()
	wanted, named := basis.image(t.Key.Label)
	if !named {
		return false, nil
	}
	t.Files = observe.ReadFiles(ctx, w.cluster, plan.ImagePlaces([]image.Desired{wanted}, basis.Inventory))
	state := w.journal.State()
	step, verdict, ok := basis.Gate(state, time.Now()).Next(basis.plannedImage(wanted, t.Files, state))
	if !ok || slices.ContainsFunc(step.Uses(), func(s queue.Resource) bool { return !slices.Contains(t.uses, s) }) {
		return false, nil
	}
	if err := w.runObject(ctx, basis, t, step, verdict); err != nil {
		return false, err
	}
	t.Heavy = true
	return true, nil
}

// filePlace returns where the file of a step is, from the id of its volume.
func filePlace(begun journal.Begun) cluster.FilePlace {
	storage, path, _ := strings.Cut(begun.Detail[detailVolume], ":")
	content, _, _ := strings.Cut(path, "/")
	return cluster.FilePlace{Node: begun.Node, Storage: storage, Content: content}
}

// fileResult derives the outcome of a download whose task is not known from the list of files: Proxmox shows a file only when it is complete.
func fileResult(ctx context.Context, reader cluster.Reader, open journal.OpenStep) (journal.Result, error) {
	files, err := reader.Files(ctx, filePlace(open.Begun))
	if err != nil {
		return "", fmt.Errorf("list files for step %s: %w", open.Step, err)
	}
	_, exists := files[open.Detail[detailVolume]]
	return resultOf(exists), nil
}

var errNoFile = errors.New("its task succeeded, and the storage does not list the file")

// finishDownload reads the size that the node lists for a downloaded file, by which the agent recognises it later. Until then the step stays open.
func (w *Worker) finishDownload(ctx context.Context, step journal.OpenStep, c conclusion) conclusion {
	if c.result != journal.Done {
		return c
	}
	volume := step.Detail[detailVolume]
	files, err := w.cluster.Files(ctx, filePlace(step.Begun))
	if err != nil {
		return conclusion{err: fmt.Errorf("%s of %s/%s: read what was downloaded: %w", step.Op, step.Kind, step.Name, err), warnings: c.warnings}
	}
	size, exists := files[volume]
	if !exists {
		c.result, c.err = journal.Failed, fmt.Errorf("%s of %s/%s: %w", step.Op, step.Kind, step.Name, errNoFile)
		return c
	}
	c.file = &journal.Downloaded{Name: step.Name, Node: step.Node, Volume: volume, Size: size, Task: c.task}
	return c
}
