package observe

import (
	"bytes"
	"fmt"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// vmlistWatch decides which guests the sweep skips: those whose entry in the vmlist file has not changed since before their last reading.
// It stops using the file as soon as an observation contradicts it. It belongs to the observer.
type vmlistWatch struct {
	file          vmlistFile
	list          vmlist
	readAt        time.Time
	trouble       string         // why the file is not used; "" if it is used
	before        map[int]listed // the entry that the file had before the guest's last full reading
	contradicting map[int]listed // entries that contradicted the inventory; the zero entry is a missing one
	missed        map[int]listed // entries that stayed the same although a reading found another digest
	stale         *staleVMList   // the text that was found outdated; nil if none was
}

// staleVMList is a text that was found outdated. The file is used again when the text changes.
type staleVMList struct {
	text []byte
	why  string
}

func newVMListWatch(path string) *vmlistWatch {
	return &vmlistWatch{
		file: vmlistFile{path: path}, before: make(map[int]listed), contradicting: make(map[int]listed), missed: make(map[int]listed),
	}
}

// look reads the file. It must run before the guests are read, so that a change during the readings is found by the next look.
func (w *vmlistWatch) look(now time.Time) {
	list, err := w.file.read()
	if err != nil {
		w.distrust(err.Error())
		return
	}
	previous := w.list
	w.list, w.readAt, w.trouble = list, now, ""
	for vmid, entry := range w.missed {
		if list.guests[vmid] == entry {
			w.outdated(fmt.Sprintf("the list does not show that guest %d changed", vmid))
		}
	}
	clear(w.missed)
	switch {
	case w.stale != nil && bytes.Equal(w.stale.text, w.file.text):
		w.distrust(w.stale.why)
	case list.restartedSince(previous):
		w.distrust("the versions start again from a lower number, as after a restart of pmxcfs")
		w.stale = nil
	default:
		w.stale = nil
	}
}

// distrust makes the sweep include every guest until it has been read again.
func (w *vmlistWatch) distrust(why string) {
	w.trouble = why
	clear(w.before)
	clear(w.contradicting)
}

// outdated distrusts the file until its text changes.
func (w *vmlistWatch) outdated(why string) {
	w.stale = &staleVMList{text: w.file.text, why: why}
	w.distrust(why)
}

// compare compares the list with an inventory that was taken after it. A guest may have moved in between. If the same entry contradicts the
// inventory twice, the file is no longer updated.
func (w *vmlistWatch) compare(inventory cluster.Inventory) {
	if w.trouble != "" {
		return
	}
	contradicting := make(map[int]listed)
	for _, row := range inventory.Rows {
		if w.list.agreesWith(row) {
			continue
		}
		entry := w.list.guests[row.VMID]
		contradicting[row.VMID] = entry
		if last, again := w.contradicting[row.VMID]; again && last == entry {
			w.outdated(fmt.Sprintf("the list does not have guest %d on %s, where it is", row.VMID, row.Node))
		}
	}
	w.contradicting = contradicting
}

// changed reports whether the entry of a guest changed since before its last reading.
func (w *vmlistWatch) changed(vmid int) bool {
	before, known := w.before[vmid]
	return known && before != w.list.guests[vmid]
}

// skipSweep reports whether the sweep may skip a guest.
func (w *vmlistWatch) skipSweep(vmid int) bool {
	if w == nil || w.trouble != "" {
		return false
	}
	_, known := w.before[vmid]
	return known
}

// noteRead compares a full reading that began at a time with the reading before it. If the digest changed and the entry did not, the
// next look decides: the guest may have changed after the last look. The last look may contain a change that a reading from before it lacks.
func (w *vmlistWatch) noteRead(last, seen guest.Observed, began time.Time) {
	if w == nil || w.trouble != "" {
		return
	}
	if began.Before(w.readAt) {
		w.forget(seen.VMID)
		return
	}
	entry, there := w.list.guests[seen.VMID]
	if !there {
		return
	}
	if before, known := w.before[seen.VMID]; known && before == entry && last.Digest != seen.Digest {
		w.missed[seen.VMID] = entry
	}
	w.before[seen.VMID] = entry
}

// forget drops the entries of a guest.
func (w *vmlistWatch) forget(vmid int) {
	if w != nil {
		delete(w.before, vmid)
		delete(w.missed, vmid)
	}
}

// changedSinceLastRead reports whether the file shows a change of one of these guests since the last look. It costs one reading of the file.
func (w *vmlistWatch) changedSinceLastRead(vmids []int) bool {
	if w == nil || w.trouble != "" {
		return false
	}
	list, err := w.file.read()
	if err != nil {
		return false // the next look reports the error
	}
	for _, vmid := range vmids {
		if list.guests[vmid] != w.list.guests[vmid] {
			return true
		}
	}
	return false
}

// status returns the state of the file, nil without one.
func (w *vmlistWatch) status() *VMListStatus {
	if w == nil || w.readAt.IsZero() && w.trouble == "" {
		return nil
	}
	s := &VMListStatus{Path: w.file.path, Error: w.trouble, ReadAt: w.readAt}
	if w.trouble == "" {
		s.Skipped = len(w.before)
	}
	return s
}
