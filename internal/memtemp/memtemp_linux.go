package memtemp

import (
	"os"
	"syscall"
)

const (
	memory  = "/dev/shm"
	noExec  = 0x8     // ST_NOEXEC of statfs(2)
	minimum = 2 << 30 // bytes that must be free: all tests that run at the same time need a tenth of it
)

func init() { //nolint:gochecknoinits // an import has this effect, without a line in each test
	if os.Getenv("TMPDIR") == "" && usable() {
		_ = os.Setenv("TMPDIR", memory)
	}
}

func usable() bool {
	var fs syscall.Statfs_t
	return syscall.Statfs(memory, &fs) == nil && fs.Flags&noExec == 0 && fs.Bavail*uint64(fs.Bsize) >= minimum //nolint:gosec // a block has a positive size
}
