package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrLocked means that another process uses the state directory. The error that wraps it contains the process id.
var ErrLocked = errors.New("state directory is in use by another gitops-agent")

const (
	lockName = "lock"
	// lockWait is how long lock waits for a directory that is in use. A process that has just ended can still hold the lock for some
	// milliseconds: a child that it was starting has a copy of every open file until the child executes its program.
	lockWait  = time.Second
	lockRetry = 20 * time.Millisecond
)

// dirLock is the locked file of a directory.
type dirLock struct{ *os.File }

// Close releases the lock and closes the file. Closing alone would leave the directory locked as long as a child that this process is
// starting has a copy of the file; unlocking one copy unlocks all.
func (l dirLock) Close() error {
	return errors.Join(syscall.Flock(int(l.Fd()), syscall.LOCK_UN), l.File.Close())
}

// noLock stands for the lock of a directory in which no process can make one, because its file system is read-only.
type noLock struct{}

func (noLock) Close() error { return nil }

// lock locks the directory for this process. It waits up to lockWait for another process to release the directory. The kernel releases
// the lock when the process ends in any way. The file itself stays, because removing it would let two processes lock two files with the
// same name.
func (d osDisk) lock() (io.Closer, error) {
	f, err := d.root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, syscall.EROFS) { // then the journal takes no records, and the agent only observes
		f, err = d.root.OpenFile(lockName, os.O_RDONLY, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return noLock{}, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("lock state directory: %w", err)
	}
	if err := flock(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock state directory %s: %w", d.root.Name(), err)
	}
	// The pid is only information for the process that is refused. On a full disk it may be missing; the lock still holds.
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return dirLock{f}, nil
}

// flock locks f. It retries for lockWait, then it returns ErrLocked with the process that holds the lock.
func flock(f *os.File) error {
	for start := time.Now(); ; time.Sleep(lockRetry) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		if time.Since(start) >= lockWait {
			return fmt.Errorf("%w%s", ErrLocked, holder(f))
		}
	}
}

func holder(f io.ReaderAt) string {
	b := make([]byte, 32)
	n, _ := f.ReadAt(b, 0) // io.EOF is normal here
	pid, err := strconv.Atoi(strings.TrimSpace(string(b[:n])))
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (process %d)", pid)
}

// InUse reports whether a process uses the journal in a directory. It changes nothing.
func InUse(dir string) bool {
	f, err := os.Open(filepath.Join(dir, lockName)) //nolint:gosec // the path is the operator's own
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
		return errors.Is(err, syscall.EWOULDBLOCK)
	}
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	return false
}
