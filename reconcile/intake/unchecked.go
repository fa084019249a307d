package intake

import (
	"errors"
	"fmt"
)

// FloorError means that the floor of accepted revisions could not be read from the cluster. It says nothing about a revision.
type FloorError struct{ Err error }

func (e *FloorError) Error() string {
	return fmt.Sprintf("read the floor of accepted revisions from the cluster: %v", e.Err)
}

func (e *FloorError) Unwrap() error { return e.Err }

// PolicyError means that the policy could not be read, for example because its trusted root is missing. It says nothing about a revision.
type PolicyError struct{ Err error }

func (e *PolicyError) Error() string { return fmt.Sprintf("read the policy: %v", e.Err) }
func (e *PolicyError) Unwrap() error { return e.Err }

// JournalError means that the journal was not read in full, or takes no records, so that no revision can be accepted. It says nothing about a revision.
type JournalError struct{ Err error }

func (e *JournalError) Error() string {
	return fmt.Sprintf("accept a revision in the journal: %v", e.Err)
}
func (e *JournalError) Unwrap() error { return e.Err }

// IsUnchecked reports whether an error says why a revision could not be checked, and nothing about the revision.
func IsUnchecked(err error) bool {
	var floor *FloorError
	var policy *PolicyError
	var journal *JournalError
	return errors.As(err, &floor) || errors.As(err, &policy) || errors.As(err, &journal)
}
