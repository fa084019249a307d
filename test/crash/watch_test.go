//go:build integration

package crash

import (
	"errors"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// journalWatch counts the writes to the files of a journal.
type journalWatch struct {
	events *os.File
}

// watchJournal begins to count.
func (w *world) watchJournal(a *agent) journalWatch {
	w.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	w.ok(err)
	_, err = syscall.InotifyAddWatch(fd, a.journal(), syscall.IN_MODIFY)
	w.ok(err)
	return journalWatch{os.NewFile(uintptr(fd), "inotify")}
}

func (j journalWatch) close() { _ = j.events.Close() }

// awaitWrites waits until the journal was written n times, or the agent has converged. It returns the number of writes that it saw.
func (w *world) awaitWrites(a *agent, watch journalWatch, n int) int {
	w.Helper()
	buffer := make([]byte, syscall.SizeofInotifyEvent+syscall.NAME_MAX+1) // of one event or a few
	seen := 0
	for deadline := time.Now().Add(2 * claimTime); seen < n && time.Now().Before(deadline); {
		w.ok(watch.events.SetReadDeadline(time.Now().Add(200 * time.Millisecond)))
		size, err := watch.events.Read(buffer)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			w.alive(a)
			w.approve(a)
			if w.converged(a) {
				return seen
			}
			w.waitFor(a)
			continue
		}
		w.ok(err)
		for at := 0; at+syscall.SizeofInotifyEvent <= size; seen++ {
			event := (*syscall.InotifyEvent)(unsafe.Pointer(&buffer[at]))
			at += syscall.SizeofInotifyEvent + int(event.Len)
		}
	}
	return seen
}
