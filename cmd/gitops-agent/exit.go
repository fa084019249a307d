package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// The exit statuses of every command.
const (
	exitDone    = 0
	exitError   = 1
	exitUsage   = 2 // the command line is wrong
	exitChanges = 3 // changes, held steps or restarts are pending
	exitRefused = 4 // a revision, or what would be one, is refused
	exitTimeout = 5
)

// statusError is an end with an exit status of its own. Err is nil where the result on stdout says it all.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.err.Error()
}

func (e *statusError) Unwrap() error { return e.err }

// usageError says that the command line is wrong, as its parser could not know.
func usageError(format string, args ...any) error {
	return &statusError{status: exitUsage, err: fmt.Errorf(format, args...)}
}

// exitStatus returns the status that an error stands for.
func exitStatus(err error) int {
	var s *statusError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &s):
		return s.status
	default:
		return exitError
	}
}

// explain tells a person of an error and, if something is known to help, of that.
func explain(w io.Writer, err error) {
	var s *statusError
	if err == nil || errors.As(err, &s) && s.err == nil {
		return
	}
	for i, line := range strings.Split(err.Error(), "\n") {
		if i == 0 {
			line = "gitops-agent: error: " + printable(line)
		} else {
			line = "  " + printable(line)
		}
		_, _ = fmt.Fprintln(w, line)
	}
	if hint := hintFor(err); hint != "" {
		_, _ = fmt.Fprintln(w, "gitops-agent: hint: "+printable(hint))
	}
}
