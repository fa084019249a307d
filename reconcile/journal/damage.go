package journal

import "fmt"

// DamageError says where the journal contradicts its own checksums. What was recorded before that place still counts; what
// follows cannot be told from a forgery. The remedy is Repair.
type DamageError struct {
	File   string
	Offset int64 // of the first byte that cannot be trusted
	Err    error
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s: byte %d: journal is damaged: %v (gitops-agent journal repair)", e.File, e.Offset, e.Err)
}

func (e *DamageError) Unwrap() error { return e.Err }
