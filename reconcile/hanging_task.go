package reconcile

import (
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/object"
)

// noteHangingTask logs and journals once that a task of an object hangs, and once that it has ended.
func (e *Engine) noteHangingTask(key object.Key, before, now *lane.HangingTaskError) {
	switch {
	case now != nil && (before == nil || before.UPID != now.UPID):
		e.log.Warn("task hangs", event.Key, event.TaskHangs, "vmid", key.VMID, "guest", e.labelOf(key), "upid", now.UPID, "error", now.Error())
		e.event(journal.Event{Name: "task-hangs", VMID: key.VMID, Message: now.Error()})
	case now == nil && before != nil:
		e.log.Info("hanging task has ended", event.Key, event.TaskEnded, "vmid", key.VMID, "guest", e.labelOf(key), "upid", before.UPID)
		e.event(journal.Event{Name: "task-ended", VMID: key.VMID, Message: before.UPID})
	}
}
