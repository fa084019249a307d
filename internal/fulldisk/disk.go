package fulldisk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Disk is a small disk in a file, with a file system that an error makes read-only. It needs root, and the programs of Debian's e2fsprogs and mount.
type Disk struct{ file, dir string }

// NewDisk makes a disk of some bytes in a file, and mounts it in a folder.
func NewDisk(file, dir string, size int64) (*Disk, error) {
	d := &Disk{file, dir}
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, size)); err != nil {
		return nil, fmt.Errorf("make a disk: %w", err)
	}
	if _, err := host("mkfs.ext4", "-q", "-F", "-m", "0", file); err != nil {
		return nil, err
	}
	return d, d.mount()
}

func (d *Disk) mount() error {
	_, err := host("mount", "-o", "loop,errors=remount-ro", d.file, d.dir)
	return err
}

// Break lets the kernel find an error, after which the file system takes no writes, also not to files that are open.
func (d *Disk) Break() error {
	device, err := host("findmnt", "-n", "-o", "SOURCE", d.dir)
	if err == nil {
		err = os.WriteFile(filepath.Join("/sys/fs/ext4", filepath.Base(device), "trigger_fs_error"), []byte("a test"), 0o200)
	}
	return err
}

// Mend checks the disk and mounts it again, as a person does. No process may use it.
func (d *Disk) Mend() error {
	if _, err := host("umount", d.dir); err != nil {
		return err
	}
	var status *exec.ExitError
	if _, err := host("e2fsck", "-f", "-y", d.file); err != nil && (!errors.As(err, &status) || status.ExitCode() != 1) { // 1: it was mended
		return err
	}
	return d.mount()
}

// Close unmounts the disk, also if a process uses it.
func (d *Disk) Close() error { return syscall.Unmount(d.dir, syscall.MNT_DETACH) }

func host(name string, args ...string) (out string, err error) {
	text, err := exec.CommandContext(context.Background(), name, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %v: %w: %s", name, args, err, text)
	}
	return strings.TrimSpace(string(text)), nil
}
