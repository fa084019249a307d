package term

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// The exit statuses that the commands share.
const (
	ExitDone    = 0
	ExitError   = 1
	ExitUsage   = 2 // the command line is wrong
	ExitChanges = 3 // guests are out of sync, or steps are held
	ExitRefused = 4 // a revision, or what would be one, is refused
	ExitTimeout = 5
)

// statusError is an error with an exit status of its own.
type statusError struct {
	status int
	err    error // nil if the result on stdout already explains the status
}

func (e *statusError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.err.Error()
}

func (e *statusError) Unwrap() error { return e.err }

// WithStatus returns an error that ends the program with an exit status. A nil err prints nothing: the result on stdout explains the status.
func WithStatus(status int, err error) error { return &statusError{status, err} }

// UsageErrorf returns an error for a wrong command line that cobra cannot detect, with the status ExitUsage.
func UsageErrorf(format string, args ...any) error {
	return WithStatus(ExitUsage, fmt.Errorf(format, args...))
}

// ExitStatus returns the exit status for an error: ExitDone for nil, ExitError if WithStatus set none.
func ExitStatus(err error) int {
	var s *statusError
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &s):
		return s.status
	default:
		return ExitError
	}
}

// PrintError prints an error and, if hint is not empty, the hint. It prints nothing if err is nil or WithStatus(status, nil).
func PrintError(w io.Writer, err error, hint string) {
	var s *statusError
	if err == nil || errors.As(err, &s) && s.err == nil {
		return
	}
	for i, line := range strings.Split(err.Error(), "\n") {
		if i == 0 {
			line = "gitops-agent: error: " + Printable(line)
		} else {
			line = "  " + Printable(line)
		}
		_, _ = fmt.Fprintln(w, line)
	}
	if hint != "" {
		_, _ = fmt.Fprintln(w, "gitops-agent: hint: "+Printable(hint))
	}
}
