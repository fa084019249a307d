package reconcile

import (
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/object"
)

// noteHangingTask states whether a task of an object hangs.
func (e *Engine) noteHangingTask(key object.Key, t *track) {
	now, id := t.hangingTask(), event.ID{}
	if now != nil {
		id[0] = now.UPID
	}
	t.said.Is(event.TaskHangs, now != nil, id, func() event.Details {
		return event.Details{
			Fields: []any{"vmid", key.VMID, "guest", e.labelOf(key), "upid", now.UPID, "error", now.Error()},
			Note:   event.Note{VMID: key.VMID, Message: now.Error()},
		}
	}, func(was event.ID) event.Details {
		return event.Details{Note: event.Note{VMID: key.VMID, Message: was[0]}}
	})
}
