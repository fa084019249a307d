package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ErrLocked means that another process uses the state directory. The error that wraps it contains the process id.
var ErrLocked = errors.New("state directory is in use by another gitops-agent")

const lockName = "lock"

// lock locks the directory for this process. The kernel releases the lock when the file is closed, however the process ends. The file
// itself stays, because removing it would let two processes lock two files with the same name.
func (d osDisk) lock() (io.Closer, error) {
	f, err := d.root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock state directory: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("%w%s", ErrLocked, holder(f))
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock state directory %s: %w", d.root.Name(), err)
	}
	// The pid is only information for the process that is refused. On a full disk it may be missing; the lock still holds.
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f, nil
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
