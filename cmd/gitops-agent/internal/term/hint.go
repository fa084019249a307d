package term

import "errors"

// hintedError is an error with a remedy.
type hintedError struct {
	err  error
	hint string
}

func (e *hintedError) Error() string { return e.err.Error() }

func (e *hintedError) Unwrap() error { return e.err }

// WithHint adds a hint to an error: a command or a setting that solves the problem. A nil error stays nil.
func WithHint(err error, hint string) error {
	if err == nil {
		return nil
	}
	return &hintedError{err, hint}
}

// Hint returns the outermost hint that WithHint added to an error, and whether there is one.
func Hint(err error) (string, bool) {
	var hinted *hintedError
	if errors.As(err, &hinted) {
		return hinted.hint, true
	}
	return "", false
}
