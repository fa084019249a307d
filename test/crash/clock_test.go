//go:build integration

package crash

import (
	"encoding/binary"
	"os"
	"time"
)

// clock is the clock of one process: how far it is ahead of the real one.
type clock struct {
	file string
	wall time.Duration // whole seconds
	mono time.Duration
}

// set writes the clock file. The two numbers are written at once, and a process that reads between them sees a jump in two parts.
func (c *clock) set() error {
	content := binary.NativeEndian.AppendUint64(nil, uint64(c.wall/time.Second))
	content = binary.NativeEndian.AppendUint64(content, uint64(c.mono))
	f, err := os.OpenFile(c.file, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	_, err = f.WriteAt(content, 0)
	return err
}

// pass lets time pass for the process.
func (c *clock) pass(d time.Duration) error {
	c.wall += d
	c.mono += d
	return c.set()
}
