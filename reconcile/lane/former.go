package lane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/epoch"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/volumes"
	"gitops-agent/reconcile/writer"
)

// checkFormer refuses the deletion of a former file that something uses, or whose users are not known.
func (w *Worker) checkFormer(ctx context.Context, step plan.Step) error {
	if err := w.checkOpenWrites(); err != nil {
		return fmt.Errorf("%s of %s: %w", step.Op, step.Guest, err)
	}
	if err := w.checkVolumes(ctx, step); err != nil {
		return fmt.Errorf("%s of %s: %w", step.Op, step.Guest, err)
	}
	return nil
}

// checkOpenWrites refuses while a step of this agent is open that creates a guest or writes its configuration: it may have begun under an earlier revision, whose
// manifests named the file.
func (w *Worker) checkOpenWrites() error {
	for _, open := range w.journal.State().Open {
		if op := cluster.Op(open.Op); open.VMID != 0 && (op == cluster.OpCreate || op == cluster.OpConfig) {
			ref := guest.Ref{Kind: guest.Kind(open.Kind), Name: open.Name, VMID: open.VMID}
			return &volumes.UnknownError{
				Cause: volumes.GuestUnread, What: fmt.Sprintf("the %s of %s has not ended", op, ref), Fix: "wait until it has ended; the agent tries again by itself",
			}
		}
	}
	return nil
}

// errFileChanged refuses to delete a file that is not the one that the agent downloaded.
var errFileChanged = errors.New("the file is not the one that the agent downloaded")

// lastCheckFormer reads the file again before the call that deletes it, which must be the one of the record, and then its users: Proxmox does not look at them, and each
// call after this reading is time in which a person may insert the file into a drive. No digest protects the call, so what needs no reading is compared last.
func (w *Worker) lastCheckFormer(ctx context.Context, basis *Basis, step plan.Step, call cluster.Call) error {
	files, err := w.cluster.Files(ctx, cluster.FilePlaceOf(call.Node, call.File()))
	if err != nil {
		return fmt.Errorf("list files again before the call: %w", err)
	}
	if err := w.confirmWriter(ctx, 0); err != nil {
		return err
	}
	if err := w.checkVolumesSince(ctx, step, time.Now()); err != nil {
		return err
	}
	if err := w.confirmWriter(ctx, writer.Recent); err != nil { // reads the mark again only if the reading of the users was slow
		return err
	}
	size, exists := files[call.File()]
	record, recorded := w.journal.State().Downloaded[step.Former.On()]
	switch {
	case w.superseded(basis):
		return epoch.ErrSuperseded
	case !exists || !recorded || size != record.Size || record.Size != step.Former.Size:
		return errFileChanged
	}
	return w.checkOpenWrites()
}

// noteFile adds to the intent of a step about a file what settling needs.
func noteFile(b *journal.Begun, step plan.Step, call cluster.Call) {
	b.TaskID, b.Detail[detailVolume] = call.Params[cluster.ParamFile], call.File()
	if step.Prunes {
		b.Detail[detailPrune] = "true"
	}
	if step.Former != nil {
		b.TaskID, b.Detail[detailRecorded] = call.Params[cluster.ParamStorage], step.Former.Node
	}
}

var errFileStays = errors.New("its task succeeded, and the storage still lists the file")

// finishDeletion reads whether a deleted file is gone. Until then the step stays open.
func (w *Worker) finishDeletion(ctx context.Context, step journal.OpenStep, c conclusion) conclusion {
	if c.result != journal.Done {
		return c
	}
	files, err := w.cluster.Files(ctx, filePlace(step.Begun))
	if err != nil {
		return conclusion{err: fmt.Errorf("%s of %s/%s: read what is left: %w", step.Op, step.Kind, step.Name, err), warnings: c.warnings}
	}
	if _, exists := files[step.Detail[detailVolume]]; exists {
		c.result, c.err = journal.Failed, fmt.Errorf("%s of %s/%s: %w", step.Op, step.Kind, step.Name, errFileStays)
	}
	return c
}

// closingFile returns the record that the file of a step is gone.
func closingFile(begun journal.Begun, c conclusion, state journal.State) []journal.Body {
	if cluster.Op(begun.Op) != cluster.OpDeleteFile || c.result != journal.Done {
		return nil
	}
	record, recorded := state.Downloaded[journal.FileOn{Node: begun.Detail[detailRecorded], Volume: begun.Detail[detailVolume]}]
	if !recorded {
		return nil
	}
	record.Gone = true
	return []journal.Body{record.Downloaded}
}
