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
	FaultDiskFull Fault = "disk-full" // no space, or the quota of the user or of the service is used up
	FaultReadOnly Fault = "read-only" // the file system
	FaultDenied   Fault = "denied"    // the directory belongs to another user, or the service refuses the user
	FaultGone     Fault = "gone"      // the state directory was removed or replaced
	FaultDamaged  Fault = "damaged"
	FaultFailed   Fault = "failed" // another error of the disk

	// Of a journal in a service.
	FaultRolledBack  Fault = "store-rolled-back" // the service shows less than this host has seen acknowledged
	FaultNotLeader   Fault = "not-leader"        // another agent leads, or may lead
	FaultUnreachable Fault = "store-unreachable" // the service does not answer
)

// Faults lists every fault, for metrics that start at zero.
func Faults() []Fault {
	return []Fault{FaultNone, FaultDiskFull, FaultReadOnly, FaultDenied, FaultGone, FaultDamaged, FaultFailed, FaultRolledBack, FaultNotLeader, FaultUnreachable}
}

// FaultOf returns the fault that an error of Healthy stands for, FaultNone for nil.
func FaultOf(err error) Fault {
	var damage *DamageError
	switch {
	case err == nil:
		return FaultNone
	case errors.Is(err, ErrGone):
		return FaultGone
	case errors.Is(err, ErrRolledBack):
		return FaultRolledBack
	case errors.Is(err, ErrNotLeader):
		return FaultNotLeader
	case errors.Is(err, ErrStoreFull):
		return FaultDiskFull
	case errors.Is(err, ErrStoreDenied):
		return FaultDenied
	case errors.Is(err, ErrUnreachable):
		return FaultUnreachable
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
