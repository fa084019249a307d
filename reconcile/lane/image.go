package lane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/epoch"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/object"
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

// advanceImage executes the next released step of an Image. It returns whether another step may follow. A turn has one step about each file: a file that
// disappears again at once is no loop of downloads. A step that fails ends the turn only after the steps about the other files: a full storage of one node is no
// reason to withhold the file from another.
func (w *Worker) advanceImage(ctx context.Context, t *turn) (again bool, err error) {
	basis, state := w.basis(), w.journal.State()
	images := basis.images(state).For(t.Key.Label)
	t.Files = observe.ReadFiles(ctx, w.cluster, images.Places(basis.Inventory))
	planned, ok := basis.plannedImage(images, t.Files)
	if !ok {
		return false, t.endOfFiles()
	}
	judge := basis.Gate(state, time.Now())
	for _, step := range planned.Steps {
		verdict := judge.Judge(step)
		if verdict.Held || t.files.tried[fileOf(step)] {
			continue
		}
		if step.Former == nil && slices.ContainsFunc(step.Uses(), func(s queue.Resource) bool { return !slices.Contains(t.uses, s) }) {
			break // the engine offers the Image again with what this step uses
		}
		if step.Former != nil {
			if refusal := w.checkFormer(ctx, step); refusal != nil { // before an intent is journaled: a file may be in use for months
				t.refuse(step, refusal)
				t.files.note(step, refusal)
				continue
			}
		}
		err := w.runImage(ctx, basis, t, step, verdict)
		if err != nil && !w.mayTryOthers(ctx, t.Key, err) {
			return false, err
		}
		t.files.note(step, err)
		return true, nil
	}
	return false, t.endOfFiles()
}

// mayTryOthers reports whether the turn may go on with other files of an Image after a step about one failed: the failure says nothing about them, and nothing of the
// Image is open.
func (w *Worker) mayTryOthers(ctx context.Context, key object.Key, err error) bool {
	isOpen := slices.ContainsFunc(w.journal.State().Open, func(open journal.OpenStep) bool { return open.Key() == key })
	return ctx.Err() == nil && !isOpen && !errors.Is(err, epoch.ErrSuperseded) && !errors.Is(err, cluster.ErrWritesStopped)
}

// triedFiles are the files of an Image that a turn had a step about.
type triedFiles struct {
	tried map[journal.FileOn]bool
	step  plan.Step // of err
	err   error     // the first failure; a refusal to delete a file only if nothing else failed; nil if nothing did
}

// note takes the outcome of a step, nil if it succeeded.
func (f *triedFiles) note(step plan.Step, err error) {
	if f.tried == nil {
		f.tried = make(map[journal.FileOn]bool)
	}
	f.tried[fileOf(step)] = true
	_, _, onlyRefused := volumes.Refusal(f.err)
	if _, _, isRefusal := volumes.Refusal(err); err != nil && (f.err == nil || onlyRefused && !isRefusal) {
		f.step, f.err = step, err
	}
}

// fileOf returns the file that a step of an Image is about.
func fileOf(step plan.Step) journal.FileOn {
	return journal.FileOn{Node: step.Calls[0].Node, Volume: step.Calls[0].File()}
}

// endOfFiles returns the failure with which a turn ends that has no step about another file, nil if no step failed.
func (t *turn) endOfFiles() error {
	if t.files.err != nil {
		t.Step = t.files.step
	}
	return t.files.err
}

// runImage executes a step of an Image. It repairs something only if it downloads a file that the agent has downloaded before.
func (w *Worker) runImage(ctx context.Context, basis *Basis, t *turn, step plan.Step, verdict gate.Verdict) error {
	_, hadFile := w.journal.State().Downloaded[fileOf(step)]
	err := w.runObject(ctx, basis, t, step, verdict)
	if err == nil && hadFile && step.Former == nil {
		t.Repairs++
		t.Heavy = t.Heavy || step.Op.IsHeavy()
	}
	if step.Former != nil {
		w.volumes.Written(0)
		t.refuse(step, err)
	}
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
	prune, file := step.Detail[detailPrune] != "", ""
	if d, named := w.basis().image(step.Name); named {
		prune, file = d.Prune, d.Origin.File
	}
	c.file = &journal.Downloaded{Name: step.Name, Node: step.Node, Volume: volume, Size: size, Task: c.task, Prune: prune, File: file}
	return c
}
