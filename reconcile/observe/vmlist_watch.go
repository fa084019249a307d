package observe

import (
	"bytes"
	"fmt"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// vmlistWatch says which guests need no reading, because the list of guests shows them as it did before they were last read. It is
// believed as long as nothing speaks against it; what it cannot vouch for is left to the sweep. It belongs to the observer.
type vmlistWatch struct {
	file    vmlistFile
	list    vmlist
	readAt  time.Time
	trouble string         // why the newest look does not count; "" is that it does
	before  map[int]listed // the entry of the look that came before the guest's last full reading
	strange map[int]listed // entries that did not fit the inventory; the zero entry is none
	missed  map[int]listed // entries that stayed the same while a reading found another digest
	stale   *staleVMList   // nil while nothing was found wrong with the text as it is
}

// staleVMList is a text that was found out of date. It is not believed before it changes.
type staleVMList struct {
	text []byte
	why  string
}

func newVMListWatch(path string) *vmlistWatch {
	return &vmlistWatch{
		file: vmlistFile{path: path}, before: make(map[int]listed), strange: make(map[int]listed), missed: make(map[int]listed),
	}
}

// look reads the list, before anything is read that it is to vouch for.
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
		w.distrust("the versions are counted anew, as after a restart of Proxmox's cluster file system")
		w.stale = nil
	default:
		w.stale = nil
	}
}

// distrust leaves every guest to the sweep until it was read again.
func (w *vmlistWatch) distrust(why string) {
	w.trouble = why
	clear(w.before)
	clear(w.strange)
}

// outdated distrusts the list until it changes.
func (w *vmlistWatch) outdated(why string) {
	w.stale = &staleVMList{text: w.file.text, why: why}
	w.distrust(why)
}

// compare holds the list against an inventory that was taken after it. A guest may have moved in between; one that does not fit
// twice, by the same entry, says that the list is not kept any more.
func (w *vmlistWatch) compare(inventory cluster.Inventory) {
	if w.trouble != "" {
		return
	}
	strange := make(map[int]listed)
	for _, row := range inventory.Rows {
		if w.list.shows(row) {
			continue
		}
		entry := w.list.guests[row.VMID]
		strange[row.VMID] = entry
		if last, again := w.strange[row.VMID]; again && last == entry {
			w.outdated(fmt.Sprintf("the list does not have guest %d on %s, where it is", row.VMID, row.Node))
		}
	}
	w.strange = strange
}

// changed reports whether the list shows a change of a guest that it vouched for.
func (w *vmlistWatch) changed(vmid int) bool {
	before, known := w.before[vmid]
	return known && before != w.list.guests[vmid]
}

// skipSweep reports whether the list vouches for what is known of a guest.
func (w *vmlistWatch) skipSweep(vmid int) bool {
	if w == nil || w.trouble != "" {
		return false
	}
	_, known := w.before[vmid]
	return known
}

// noteRead takes a full reading that began after the look. A change that the list ought to have shown and did not is held against
// it at the next look, since the guest may have changed after this one.
func (w *vmlistWatch) noteRead(known, seen guest.Observed) {
	if w == nil || w.trouble != "" {
		return
	}
	entry, there := w.list.guests[seen.VMID]
	if !there {
		return
	}
	if before, vouched := w.before[seen.VMID]; vouched && before == entry && known.Digest != seen.Digest {
		w.missed[seen.VMID] = entry
	}
	w.before[seen.VMID] = entry
}

// forget drops what is known of a guest that is gone.
func (w *vmlistWatch) forget(vmid int) {
	if w != nil {
		delete(w.before, vmid)
		delete(w.missed, vmid)
	}
}

// ChangedSinceLastRead reports whether the file shows a change of one of these guests since the last look. It costs one reading of the file.
func (w *vmlistWatch) ChangedSinceLastRead(vmids []int) bool {
	if w == nil || w.trouble != "" {
		return false
	}
	list, err := w.file.read()
	if err != nil {
		return false // the next look tells
	}
	for _, vmid := range vmids {
		if list.guests[vmid] != w.list.guests[vmid] {
			return true
		}
	}
	return false
}

// Report returns how the list does, nil where there is none.
func (w *vmlistWatch) Report() *VMListStatus {
	if w == nil || w.readAt.IsZero() && w.trouble == "" {
		return nil
	}
	r := &VMListStatus{Path: w.file.path, Error: w.trouble, ReadAt: w.readAt}
	if w.trouble == "" {
		r.Spared = len(w.before)
	}
	return r
}
