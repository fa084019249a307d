package lane

import (
	"context"
	"errors"
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/plan"
)

// afterRefusal reads the guest to find out what a call wrote that Proxmox refused with cluster.ErrRefusedLate. If the guest shows the whole change,
// it returns the refusal as a warning and no error. If nothing was written, the error does not wrap cluster.ErrOutcomeUnknown. In any other case
// it returns the refusal.
func (w *Worker) afterRefusal(ctx context.Context, basis *Basis, step plan.Step, call cluster.Call, refusal error) (warning string, err error) {
	row := cluster.Row{Kind: call.Kind, VMID: call.VMID, Node: call.Node, Status: guest.StatusUnknown}
	seen, err := observe.ReadGuest(ctx, w.cluster, row, basis.Inventory.Version)
	switch {
	case err != nil || call.Digest == "" || seen.Digest == "":
		return "", refusal
	case seen.Digest == call.Digest:
		return "", wroteNothing(refusal)
	case w.shows(basis, step, call, seen):
		return refusal.Error(), nil
	}
	return "", refusal
}

// shows reports whether a guest shows every change of a call: the deleted keys are gone, and a new plan contains none of the changes.
func (w *Worker) shows(basis *Basis, step plan.Step, call cluster.Call, seen guest.Observed) bool {
	for _, key := range call.Delete {
		if _, left := seen.Keys[key].Next(); left {
			return false
		}
	}
	want := basis.desiredFor(call.VMID, w.journal.State())
	want.Secrets = w.vault.States(want.Guests)
	planned := plan.New(want, cluster.Snapshot{Inventory: basis.Inventory, Guests: map[int]guest.Observed{call.VMID: seen}, Objects: basis.SeenObjects})
	if len(planned.Guests) != 1 {
		return false
	}
	now := planned.Guests[0]
	return !slices.ContainsFunc(now.Conditions, func(c plan.Condition) bool { return c.Type == plan.IdentityConflict }) &&
		!slices.ContainsFunc(step.Changes, func(c guest.Change) bool {
			return slices.ContainsFunc(now.Changes, func(left guest.Change) bool { return left.Key == c.Key && left.Write != guest.WriteNone && !left.Waits })
		})
}

// refusedError is a refusal of a call that certainly wrote nothing.
type refusedError struct {
	text string
	err  error
}

func (e refusedError) Error() string { return e.text }
func (e refusedError) Unwrap() error { return e.err }

// wroteNothing returns a refusal without the doubt that something was written.
func wroteNothing(refusal error) error {
	e := refusedError{text: refusal.Error() + " (nothing was written)"}
	if errors.Is(refusal, cluster.ErrInvalid) {
		e.err = cluster.ErrInvalid
	}
	return e
}
