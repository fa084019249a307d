// Package fulldisk makes disks full or read-only, for tests: the disk under a journal that this process has open, or a small file system. It needs Linux; a Disk also
// needs root.
package fulldisk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Fill replaces the open segments of journals below dir, in this process, by a file that accepts no data.
func Fill(dir string) error {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("fill the disk: %w", err)
	}
	defer func() { _ = full.Close() }()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("fill the disk: %w", err)
	}
	replaced := 0
	for _, entry := range open {
		target, err := os.Readlink("/proc/self/fd/" + entry.Name())
		if err != nil || !strings.HasPrefix(target, dir+"/") || !strings.HasSuffix(target, ".journal") {
			continue // also the directory that was read, which is closed now
		}
		var fd int
		if _, err := fmt.Sscan(entry.Name(), &fd); err != nil {
			return fmt.Errorf("fill the disk: %w", err)
		}
		if err := syscall.Dup3(int(full.Fd()), fd, syscall.O_CLOEXEC); err != nil {
			return fmt.Errorf("fill the disk: %w", err)
		}
		replaced++
	}
	if replaced == 0 {
		return errors.New("fill the disk: no journal is open in " + dir)
	}
	return nil
}

// FillFileSystem writes a file "ballast" into dir until its file system has no space left.
func FillFileSystem(dir string) error {
	f, err := os.Create(filepath.Join(dir, "ballast")) //nolint:gosec // a folder of a test
	if err != nil {
		return fmt.Errorf("fill the disk: %w", err)
	}
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if closing := f.Close(); !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("fill the disk: %w", errors.Join(err, closing))
	}
	return nil
}
