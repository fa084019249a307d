package journal

import "fmt"

// DamageError is a place where the journal contradicts its own checksums. The records before that place are valid; the records after it
// cannot be distinguished from a forgery. The remedy is Repair.
type DamageError struct {
	File   string
	Offset int64 // of the first byte that cannot be trusted
	Err    error
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s: byte %d: journal is damaged: %v (gitops-agent journal repair)", e.File, e.Offset, e.Err)
}

func (e *DamageError) Unwrap() error { return e.Err }
