package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
)

func TestFaultOf(t *testing.T) {
	t.Parallel()
	of := func(err error) error { return fmt.Errorf("write: %w", &fs.PathError{Op: "write", Path: "x", Err: err}) }
	for want, errs := range map[Fault][]error{
		FaultNone: {nil}, FaultDiskFull: {of(syscall.ENOSPC), of(syscall.EDQUOT)}, FaultReadOnly: {of(syscall.EROFS)},
		FaultDenied: {of(syscall.EACCES), of(syscall.EPERM)}, FaultGone: {fmt.Errorf("%w: no file", ErrGone)},
		FaultDamaged: {fmt.Errorf("open: %w", &DamageError{})}, FaultFailed: {of(syscall.EIO), errors.New("another")},
	} {
		for _, err := range errs {
			if got := FaultOf(err); got != want {
				t.Errorf("%v: got %q, want %q", err, got, want)
			}
		}
	}
}
