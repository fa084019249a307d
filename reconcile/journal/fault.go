package journal

import (
	"errors"
	"syscall"
)

// Fault states whether a journal takes records, and if not, why. It is a label of metrics.
type Fault string

// The faults. FaultNone means that the journal takes records.
const (
	FaultNone     Fault = "healthy"
	FaultDiskFull Fault = "disk-full" // no space, or the quota of the user is used up
	FaultReadOnly Fault = "read-only" // the file system
	FaultDenied   Fault = "denied"    // the directory belongs to another user
	FaultGone     Fault = "gone"      // the state directory was removed or replaced
	FaultDamaged  Fault = "damaged"
	FaultFailed   Fault = "failed" // another error of the disk
)

// Faults lists every fault, for metrics that start at zero.
func Faults() []Fault {
	return []Fault{FaultNone, FaultDiskFull, FaultReadOnly, FaultDenied, FaultGone, FaultDamaged, FaultFailed}
}

// FaultOf returns the fault that an error of Healthy stands for, FaultNone for nil.
func FaultOf(err error) Fault {
	var damage *DamageError
	switch {
	case err == nil:
		return FaultNone
	case errors.Is(err, ErrGone):
		return FaultGone
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return FaultDiskFull
	case errors.Is(err, syscall.EROFS):
		return FaultReadOnly
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return FaultDenied
	case errors.As(err, &damage):
		return FaultDamaged
	}
	return FaultFailed
}
