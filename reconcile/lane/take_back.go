package lane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/epoch"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/lastseen"
	"gitops-agent/reconcile/plan"
)

// Proxmox works off the keys of a request one by one. If it refuses one, the changes of the keys before stay behind as pending ones, and the next request or the
// next start brings them into effect. For a step that the gate would hold without its approval, window or guard that must not happen by itself.

// detailWrites is the key of journal.Begun.Detail with the keys that a step may leave pending if Proxmox refuses it, and that had no pending change before, each with
// the fingerprint of its value: "net0=jX3kQ1zb". A key that Proxmox may change with them has a tilde before it.
const detailWrites = "writes"

// detailWrote is the key of journal.Begun.Detail with the values that a step writes of these keys, each as guest.WrittenPrint: "net0=jX3kQ1zb". A deletion is empty. Another
// pending value is of a person, and stays. An intent of an older release has none.
const detailWrote = "wrote"

// errLeftBehind reports that a refused call left changes behind that could not be taken back.
var errLeftBehind = errors.New("it left changes behind that the next change or start brings into effect")

// noteWrites adds to the intent of a step what has to be taken back if Proxmox refuses it, also after a restart of the agent. A change without interruption is left
// as it is: the manifest wants it, and the report shows it as pending. So is a new volume, which a retry would allocate once more.
func noteWrites(begun journal.Begun, step plan.Step, seen guest.Observed) {
	if step.Op != cluster.OpConfig || step.Order != nil || step.Class == guest.Live && !step.Protected && len(step.Loses) == 0 {
		return
	}
	var entries, wrote []string
	add := func(mark, key, value string) {
		if v := seen.Keys[key]; !waits(v) {
			entries = append(entries, mark+key+"="+lastseen.OfValue(v))
			wrote = append(wrote, key+"="+value)
		}
	}
	for _, call := range step.Calls {
		if call.Op != cluster.OpConfig || plan.IsProtect(call) {
			continue
		}
		for _, key := range call.Delete {
			add("", key, "")
		}
		if _, set := call.Params["boot"]; len(call.Delete) > 0 && !set {
			for i := range call.Delete { // Proxmox takes one device after the other out of the boot order
				boot := guest.WithoutBootDevices(seen.Keys["boot"].Text, call.Delete[:i+1])
				add(implied, "boot", guest.WrittenPrint(call.Kind, "boot", boot))
			}
		}
		allocated := guest.AllocatedSlots(call.Kind, call.Params)
		for key, text := range call.Params {
			if !slices.Contains(allocated, key) {
				add("", key, guest.WrittenPrint(call.Kind, key, text))
			}
		}
	}
	for name, list := range map[string][]string{detailWrites: entries, detailWrote: wrote} {
		slices.Sort(list)
		begun.Detail[name] = strings.Join(slices.Compact(list), " ")
	}
}

const implied = "~" // before a key that no call of the step names

// takeBack reads the guest of a step that Proxmox refused, with its pending changes, and drops those that the step left behind. While the guest cannot be read, or
// nothing may be written, the step stays open. What cannot be taken back is part of the error of the step.
func (w *Worker) takeBack(ctx context.Context, step journal.OpenStep, c conclusion) conclusion {
	entries := strings.Fields(step.Detail[detailWrites])
	if len(entries) == 0 || c.result != journal.NotRun && c.result != journal.Failed && c.result != journal.Unknown {
		return c
	}
	if c.refused && !step.Refused {
		if err := w.append(ctx, journal.Dispatched{Step: step.Step, Refused: true}); err != nil {
			return conclusion{err: errors.Join(c.err, err), dispatched: c.dispatched, lifted: c.lifted}
		}
	}
	seen, present, err := w.readLifted(ctx, step)
	if err != nil {
		return conclusion{err: errors.Join(c.err, err), dispatched: c.dispatched, lifted: c.lifted}
	}
	left, whole := leftBehind(entries, strings.Fields(step.Detail[detailWrote]), seen)
	if !present || len(left) == 0 || whole && !c.refused {
		return c
	}
	switch err := w.putRight(ctx, seen, plan.RevertCall(seen, left)); {
	case errors.Is(err, cluster.ErrWritesStopped), errors.Is(err, epoch.ErrSuperseded), errors.Is(err, cluster.ErrLocked), errors.Is(err, cluster.ErrOutcomeUnknown), errors.Is(err, cluster.ErrConflict):
		return conclusion{err: errors.Join(c.err, fmt.Errorf("take back what %s of %s %d left behind: %w", step.Op, step.Kind, step.VMID, err)), dispatched: c.dispatched, lifted: c.lifted}
	case err != nil:
		c.result, c.err = journal.Failed, errors.Join(c.err, fmt.Errorf("%w: %s; taking them back failed: %w", errLeftBehind, strings.Join(left, ", "), err))
	}
	return c
}

// leftBehind returns which of the keys have a pending change that the step wrote, and whether the whole step may have acted: every key that it names has another value than before.
func leftBehind(entries, wrote []string, seen guest.Observed) (left []string, whole bool) {
	whole = true
	isOther := func(key string, v guest.Value) bool {
		value := ""
		if v.Pending != nil {
			value = guest.WrittenPrint(seen.Kind, key, *v.Pending)
		}
		return len(wrote) > 0 && !slices.Contains(wrote, key+"="+value)
	}
	for _, entry := range entries {
		key, before, _ := strings.Cut(entry, "=")
		named := !strings.HasPrefix(key, implied)
		key = strings.TrimPrefix(key, implied)
		value := seen.Keys[key]
		if waits(value) && !isOther(key, value) {
			left = append(left, key)
		}
		whole = whole && (!named || lastseen.OfValue(value) != before)
	}
	return left, whole
}

// waits reports whether a key has a pending change.
func waits(v guest.Value) bool { return v.Pending != nil || v.Delete }
