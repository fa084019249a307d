package gitsource

import "syscall"

// freeSpace returns the bytes of the disk with the directory dir that this user may write, and its size.
func freeSpace(dir string) (free, size int64, err error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return 0, 0, err
	}
	return int64(fs.Bavail) * fs.Bsize, int64(fs.Blocks) * fs.Bsize, nil //nolint:gosec,unconvert // the types differ between architectures
}
