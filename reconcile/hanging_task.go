package reconcile

import (
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/lane"
)

// noteHangingTask logs and journals once that a task of a guest hangs, and once that it has ended.
func (e *Engine) noteHangingTask(vmid int, before, now *lane.HangingTaskError) {
	switch {
	case now != nil && (before == nil || before.UPID != now.UPID):
		e.log.Warn("task hangs", event.Key, event.TaskHangs, "vmid", vmid, "guest", e.labelOf(vmid), "upid", now.UPID, "error", now.Error())
		e.event(journal.Event{Name: "task-hangs", VMID: vmid, Message: now.Error()})
	case now == nil && before != nil:
		e.log.Info("hanging task has ended", event.Key, event.TaskEnded, "vmid", vmid, "guest", e.labelOf(vmid), "upid", before.UPID)
		e.event(journal.Event{Name: "task-ended", VMID: vmid, Message: before.UPID})
	}
}
