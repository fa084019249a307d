package lane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/queue"
	"gitops-agent/reconcile/volumes"
)

// images returns the Images of the manifests and the files that were downloaded for Images.
func (b *Basis) images(state journal.State) plan.Images {
	return plan.Images{Wanted: b.Images, Downloaded: state.Downloaded, Open: state.Open, Allowed: b.AllowedServer}
}

// image returns what the manifests want of an Image, and whether one describes it.
func (b *Basis) image(name string) (image.Desired, bool) {
	i := slices.IndexFunc(b.Images, func(d image.Desired) bool { return d.Name == name })
	if i < 0 {
		return image.Desired{}, false
	}
	return b.Images[i], true
}

// plannedImage returns the plan of an Image whose files were read now, and whether there is anything to plan.
func (b *Basis) plannedImage(images plan.Images, files map[cluster.FilePlace]cluster.Files) (plan.Guest, bool) {
	want := plan.Desired{Cluster: b.Cluster, Revision: b.Revision, Images: images, Others: b.Guests, NoRevision: b.Revision == ""}
	planned := plan.New(want, cluster.Snapshot{Inventory: b.Inventory, Files: files, Guests: b.Seen})
	if len(planned.Guests) != 1 {
		return plan.Guest{}, false
	}
	return planned.Guests[0], true
}

// advanceImage executes the next released step of an Image. It returns whether another step may follow.
func (w *Worker) advanceImage(ctx context.Context, t *turn) (again bool, err error) {
	basis, state := w.basis(), w.journal.State()
	images := basis.images(state).For(t.Key.Label)
	t.Files = observe.ReadFiles(ctx, w.cluster, images.Places(basis.Inventory))
	planned, ok := basis.plannedImage(images, t.Files)
	if !ok {
		return false, nil
	}
	judge := basis.Gate(state, time.Now())
	for _, step := range planned.Steps {
		verdict := judge.Judge(step)
		if verdict.Held {
			continue
		}
		if step.Former == nil {
			if slices.ContainsFunc(step.Uses(), func(s queue.Resource) bool { return !slices.Contains(t.uses, s) }) {
				return false, nil // the engine offers the Image again with what this step uses
			}
			return true, w.runImage(ctx, basis, t, step, verdict)
		}
		refusal := w.checkFormer(ctx, step) // before an intent is journaled: a file may be in use for months
		if refusal == nil {
			return true, w.runImage(ctx, basis, t, step, verdict)
		}
		t.refuse(step, refusal)
		if err == nil {
			t.Step, err = step, refusal // another former file may be free
		}
	}
	return false, err
}

// runImage executes a step of an Image.
func (w *Worker) runImage(ctx context.Context, basis *Basis, t *turn, step plan.Step, verdict gate.Verdict) error {
	err := w.runObject(ctx, basis, t, step, verdict)
	if step.Former != nil {
		w.volumes.Written(0)
		t.refuse(step, err)
	}
	t.Heavy = t.Heavy || err == nil && step.Op.IsHeavy()
	return err
}

// refuse keeps why a former file was not deleted, if a check of its users refused that.
func (t *turn) refuse(step plan.Step, err error) {
	if _, _, refused := volumes.Refusal(err); !refused {
		return
	}
	if t.Refused == nil {
		t.Refused = make(map[journal.FileOn]error)
	}
	t.Refused[step.Former.On()] = err
}

// filePlace returns where the file of a step is, from the id of its volume.
func filePlace(begun journal.Begun) cluster.FilePlace {
	return cluster.FilePlaceOf(begun.Node, begun.Detail[detailVolume])
}

// fileResult derives the outcome of a call about a file whose task is not known from the list of files: Proxmox shows a file only when it is complete.
func fileResult(ctx context.Context, reader cluster.Reader, open journal.OpenStep) (journal.Result, error) {
	files, err := reader.Files(ctx, filePlace(open.Begun))
	if err != nil {
		return "", fmt.Errorf("list files for step %s: %w", open.Step, err)
	}
	_, exists := files[open.Detail[detailVolume]]
	return resultOf(exists == (cluster.Op(open.Op) == cluster.OpDownload)), nil
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
	prune := step.Detail[detailPrune] != ""
	if d, named := w.basis().image(step.Name); named {
		prune = d.Prune
	}
	c.file = &journal.Downloaded{Name: step.Name, Node: step.Node, Volume: volume, Size: size, Task: c.task, Prune: prune}
	return c
}
