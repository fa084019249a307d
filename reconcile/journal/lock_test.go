package journal

import (
	"errors"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestOpenAfterCloseWhileProcessesStart checks that a closed journal can be opened again at once while the program starts other processes. A new
// process shares every lock of its parent between fork and exec.
func TestOpenAfterCloseWhileProcessesStart(t *testing.T) {
	dir := t.TempDir()
	done := make(chan struct{})
	var starters sync.WaitGroup
	for range 4 {
		starters.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := exec.Command("true").Run(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 60 {
		mustClose(t, openJournal(t, Options{Dir: dir}))
	}
	close(done)
	starters.Wait()
}

// lockedDir returns a directory that is locked as another process locks it, and a function that releases the lock as the kernel does when
// that process has ended: it closes the file.
func lockedDir(t *testing.T) (dir string, release func()) {
	t.Helper()
	dir = t.TempDir()
	d, err := openDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := d.lock()
	if err != nil {
		t.Fatal(err)
	}
	release = sync.OnceFunc(func() { _ = lock.(dirLock).File.Close(); _ = d.root.Close() })
	t.Cleanup(release)
	return dir, release
}

func TestOpenRefusesAHeldLockAfterOneSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, _ := lockedDir(t)
		start := time.Now()
		if _, err := Open(Options{Dir: dir}); !errors.Is(err, ErrLocked) {
			t.Errorf("got %v, want ErrLocked", err)
		}
		if got := time.Since(start); got != lockWait {
			t.Errorf("got ErrLocked after %v, want %v", got, lockWait)
		}
	})
}

func TestOpenWaitsForALockThatIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, release := lockedDir(t)
		const held = lockWait - lockRetry/2
		time.AfterFunc(held, release)
		start := time.Now()
		mustClose(t, openJournal(t, Options{Dir: dir}))
		if got := time.Since(start); got < held || got > lockWait {
			t.Errorf("got the lock after %v, want it between %v and %v", got, held, lockWait)
		}
	})
}

// TestCloseUnlocksEveryCopy checks that Close releases the directory although a child has a copy of the locked file.
func TestCloseUnlocksEveryCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		j := openJournal(t, Options{Dir: dir})
		lock := j.store.(*files).lock.(closers)[0].(dirLock)
		held, err := syscall.Dup(int(lock.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		defer syscall.Close(held)
		mustClose(t, j)
		start := time.Now()
		mustClose(t, openJournal(t, Options{Dir: dir}))
		if got := time.Since(start); got != 0 {
			t.Errorf("got the lock after %v, want it at once", got)
		}
	})
}
